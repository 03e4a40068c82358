//! One part of a resource that several replicas share.

use super::{
    error::Error,
    lister_watcher::{BoxFuture, Each, ListerWatcher, Watch},
};
use futures_util::StreamExt;
use kube_core::Resource;
use kube_informer_wire::{ListMeta, ListOptions, ShardSelector, WatchEvent, WatchOptions};

/// Those objects of a source that a shard selector means.
///
/// The server is asked for them alone (`shardSelector`), which one that does not know the parameter ignores; so each object
/// is held against the selector here too, which costs a hash. What comes out is the same either way; only an object that cannot
/// be read is then reported by every part, as nobody knows whose it is.
#[derive(Debug)]
pub struct Sharded<L> {
    source: L,
    shard: ShardSelector,
}

impl<L> Sharded<L> {
    /// The part `shard` of `source`.
    pub fn new(source: L, shard: ShardSelector) -> Self {
        Self { source, shard }
    }
}

fn is_meant<K: Resource>(shard: &ShardSelector, object: &K) -> bool {
    let meta = object.meta();
    shard.matches(meta.uid.as_deref().unwrap_or_default(), meta.namespace.as_deref().unwrap_or_default())
}

impl<K, L> ListerWatcher<K> for Sharded<L>
where
    K: Resource + Send + 'static,
    L: ListerWatcher<K>,
{
    fn list<'a>(
        &'a self,
        options: &'a ListOptions,
        each: Each<'a, K>,
    ) -> BoxFuture<'a, Result<ListMeta, Error>> {
        Box::pin(async move {
            let options = ListOptions { shard_selector: Some(self.shard.clone()), ..options.clone() };
            let mut meant = |item| match &item {
                Ok(object) if !is_meant(&self.shard, object) => {}
                _ => each(item),
            };
            self.source.list(&options, &mut meant).await
        })
    }

    fn watch<'a>(&'a self, options: &'a WatchOptions) -> BoxFuture<'a, Result<Watch<K>, Error>> {
        Box::pin(async move {
            let options = WatchOptions { shard_selector: Some(self.shard.clone()), ..options.clone() };
            let (events, shard) = (self.source.watch(&options).await?, self.shard.clone());
            let meant = move |event: &Result<WatchEvent<K>, Error>| match event {
                // A uid never changes, so nothing moves from one part to another.
                Ok(
                    WatchEvent::Added(object) | WatchEvent::Modified(object) | WatchEvent::Deleted(object),
                ) => is_meant(&shard, object),
                _ => true,
            };
            Ok(Watch::new(events.filter(move |event| std::future::ready(meant(event)))))
        })
    }

    fn can_stream_lists(&self) -> bool {
        self.source.can_stream_lists()
    }

    fn describe(&self) -> String {
        self.source.describe()
    }

    fn bytes_read(&self) -> Option<u64> {
        self.source.bytes_read()
    }
}
