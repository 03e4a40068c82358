//! One shard of a resource.

use super::{
    content_type::ContentType,
    error::Error,
    lister_watcher::{ListerWatcher, OnItem, Watch},
};
use crate::boxed::BoxFuture;
use crate::object::{Decoder, ItemError, RawObject};
use futures_util::StreamExt;
use kube_core::Resource;
use kube_informer_wire::{Identity, ListMeta, ListOptions, ShardSelector, WatchEvent, WatchOptions};
use tokio::time::Instant;

/// The objects of a source that match a shard selector.
///
/// A server without the feature `ShardedListAndWatch` ignores the `shardSelector` of a request. Each object is therefore also
/// checked here, which costs a hash. An object that cannot be decoded is reported by every shard, since its shard is unknown.
#[derive(Debug)]
pub struct Sharded<L> {
    source: L,
    shard: ShardSelector,
}

impl<L> Sharded<L> {
    /// Creates a source of the objects of `source` in `shard`.
    pub fn new(source: L, shard: ShardSelector) -> Self {
        Self { source, shard }
    }
}

/// Returns whether an object belongs to a shard. Decodes it if the uid cannot be read from its bytes.
fn matches<K: Resource>(shard: &ShardSelector, object: &RawObject<K>) -> Result<bool, ItemError> {
    if let Some(identity) = object.identity() {
        return Ok(shard.matches(&identity.uid, &identity.namespace));
    }
    let Some((raw, decoder)) = object.as_encoded() else { return Ok(false) };
    let decoded = decoder.decode(raw)?;
    let identity = Identity::of(&decoded);
    Ok(shard.matches(&identity.uid, &identity.namespace))
}

impl<K, L> ListerWatcher<K> for Sharded<L>
where
    K: Resource + Send + Sync + 'static,
    L: ListerWatcher<K>,
{
    fn list<'a>(
        &'a self,
        options: &'a ListOptions,
        on_item: OnItem<'a, K>,
    ) -> BoxFuture<'a, Result<ListMeta, Error>> {
        Box::pin(async move {
            let options = ListOptions { shard_selector: Some(self.shard.clone()), ..options.clone() };
            let mut filtered = |item: Result<RawObject<K>, ItemError>| match item
                .and_then(|object| Ok((matches(&self.shard, &object)?, object)))
            {
                Ok((true, object)) => on_item(Ok(object)),
                Ok((false, _)) => {}
                Err(error) => on_item(Err(error)),
            };
            self.source.list(&options, &mut filtered).await
        })
    }

    fn watch<'a>(&'a self, options: &'a WatchOptions) -> BoxFuture<'a, Result<Watch<K>, Error>> {
        Box::pin(async move {
            let options = WatchOptions { shard_selector: Some(self.shard.clone()), ..options.clone() };
            let events = self.source.watch(&options).await?;
            let shard = self.shard.clone();
            // A uid never changes, so that objects do not move between shards.
            let filter = move |event: WatchEvent<RawObject<K>>| {
                let is_match = match &event {
                    WatchEvent::Added(object)
                    | WatchEvent::Modified(object)
                    | WatchEvent::Deleted(object) => matches(&shard, object).map_err(Error::Item)?,
                    _ => true,
                };
                Ok(is_match.then_some(event))
            };
            let matching =
                events.filter_map(move |event| std::future::ready(event.and_then(&filter).transpose()));
            Ok(Watch::from_raw(matching))
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

    fn last_read_at(&self) -> Option<Instant> {
        self.source.last_read_at()
    }

    fn content_type(&self) -> Option<ContentType> {
        self.source.content_type()
    }

    fn decoder(&self) -> Option<Decoder<K>> {
        self.source.decoder()
    }
}
