//! One part of a resource that several replicas share.

use super::{
    content_type::Encoded,
    error::Error,
    lister_watcher::{Each, ListerWatcher, Watch},
};
use crate::boxed::BoxFuture;
use crate::object::{Decoder, Item, ItemError};
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

/// Lets an item pass if it is meant.
fn meant<K: Resource>(shard: &ShardSelector, item: Item<K>) -> Result<Option<Item<K>>, ItemError> {
    // One that does not tell which it is has to be decoded for it.
    let item = if item.identity().is_some() { item } else { item.decoded()? };
    let identity = item.identity().unwrap_or_default();
    Ok(shard.matches(&identity.uid, &identity.namespace).then_some(item))
}

impl<K, L> ListerWatcher<K> for Sharded<L>
where
    K: Resource + Send + Sync + 'static,
    L: ListerWatcher<K>,
{
    fn list<'a>(
        &'a self,
        options: &'a ListOptions,
        each: Each<'a, K>,
    ) -> BoxFuture<'a, Result<ListMeta, Error>> {
        Box::pin(async move {
            let options = ListOptions { shard_selector: Some(self.shard.clone()), ..options.clone() };
            let mut take = |item: Result<_, _>| match item.and_then(|item| meant(&self.shard, item)) {
                Ok(None) => {}
                Ok(Some(item)) => each(Ok(item)),
                Err(error) => each(Err(error)),
            };
            self.source.list(&options, &mut take).await
        })
    }

    fn watch<'a>(&'a self, options: &'a WatchOptions) -> BoxFuture<'a, Result<Watch<K>, Error>> {
        Box::pin(async move {
            let options = WatchOptions { shard_selector: Some(self.shard.clone()), ..options.clone() };
            let (events, shard) = (self.source.watch(&options).await?, self.shard.clone());
            // A uid never changes, so nothing moves from one part to another.
            let pass = move |event: WatchEvent<Item<K>>| -> Result<Option<WatchEvent<Item<K>>>, Error> {
                let (made, item): (fn(_) -> _, _) = match event {
                    WatchEvent::Added(item) => (WatchEvent::Added, item),
                    WatchEvent::Modified(item) => (WatchEvent::Modified, item),
                    WatchEvent::Deleted(item) => (WatchEvent::Deleted, item),
                    other => return Ok(Some(other)),
                };
                Ok(meant(&shard, item).map_err(Error::Item)?.map(made))
            };
            let meant = events.filter_map(move |event| std::future::ready(event.and_then(&pass).transpose()));
            Ok(Watch::of_items(meant))
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

    fn encoded(&self) -> Option<Encoded> {
        self.source.encoded()
    }

    fn decoder(&self) -> Option<Decoder<K>> {
        self.source.decoder()
    }
}
