//! A part of a resource: the objects whose hash is in one of several ranges.

use super::{
    content_type::ContentType,
    error::Error,
    lister_watcher::{ListerWatcher, OnItem, Watch},
};
use crate::boxed::BoxFuture;
use crate::object::{Decoder, ItemError, RawObject};
use arc_swap::ArcSwap;
use futures_util::StreamExt;
use kube_core::Resource;
use kube_informer_wire::{
    Identity, ListMeta, ListOptions, ShardField, ShardRange, ShardSelector, WatchEvent, WatchOptions,
};
use serde::Deserialize;
use std::sync::Arc;
use tokio::time::Instant;

/// The objects of a source that match a shard selector.
///
/// A server without the feature `ShardedListAndWatch` ignores the `shardSelector` of a request. Each object is therefore also
/// checked here, which costs a hash. An object that cannot be decoded is reported by every shard, since its shard is unknown.
#[derive(Debug)]
pub struct Sharded<L> {
    source: L,
    shards: Arc<ShardSet>,
}

/// Hash ranges that can change while sources use them.
#[derive(Debug)]
pub(crate) struct ShardSet {
    field: HashedField,
    coverage: ArcSwap<Coverage>,
}

/// The field of an object that is hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HashedField {
    Uid,
    Namespace,
    /// The uid of the owner with `controller: true`. The server cannot select by it.
    OwnerUid,
}

#[derive(Debug, PartialEq, Eq)]
enum Coverage {
    Nothing,
    Everything,
    Part(ShardSelector),
}

/// The part of an owner reference that is needed here.
#[derive(Deserialize)]
struct Owner {
    uid: String,
    controller: Option<bool>,
}

/// The maximum number of ranges that are sent to the server. A longer selector could exceed the maximum length of a URL.
const MAX_SENT_RANGES: usize = 32;

impl ShardSet {
    pub(crate) fn new(field: HashedField, ranges: Vec<ShardRange>) -> Self {
        Self { field, coverage: ArcSwap::from_pointee(Coverage::new(field, ranges)) }
    }

    /// Replaces the ranges.
    #[cfg(feature = "leases")]
    pub(crate) fn set_ranges(&self, ranges: Vec<ShardRange>) {
        self.coverage.store(Arc::new(Coverage::new(self.field, ranges)));
    }

    /// Returns whether an object belongs to one of the ranges. `decode` is called if the namespace is not sufficient.
    pub(crate) fn contains<K: Resource>(
        &self,
        namespace: Option<&str>,
        decode: impl FnOnce() -> Arc<K>,
    ) -> bool {
        match (&**self.coverage.load(), self.field) {
            (Coverage::Nothing, _) => false,
            (Coverage::Everything, _) => true,
            (Coverage::Part(shard), HashedField::Namespace) => {
                shard.matches("", namespace.unwrap_or_default())
            }
            (Coverage::Part(shard), HashedField::Uid) => {
                shard.matches(decode().meta().uid.as_deref().unwrap_or_default(), "")
            }
            (Coverage::Part(shard), HashedField::OwnerUid) => {
                owner_uid(&*decode()).is_some_and(|uid| shard.matches(&uid, ""))
            }
        }
    }

    /// Returns the selector for the server; `None` if the server cannot select the objects.
    fn selector(&self) -> Option<ShardSelector> {
        match &**self.coverage.load() {
            Coverage::Part(shard)
                if self.field != HashedField::OwnerUid && shard.ranges().len() <= MAX_SENT_RANGES =>
            {
                Some(shard.clone())
            }
            Coverage::Nothing | Coverage::Everything | Coverage::Part(_) => None,
        }
    }

    /// Returns whether an object belongs to one of the ranges. Decodes it if its bytes do not show that.
    fn matches<K: Resource>(&self, object: &RawObject<K>) -> Result<bool, ItemError> {
        let coverage = self.coverage.load();
        let shard = match &**coverage {
            Coverage::Nothing => return Ok(false),
            Coverage::Everything => return Ok(true),
            Coverage::Part(shard) => shard,
        };
        let matches_owner = |uid: Option<String>| uid.is_some_and(|uid| shard.matches(&uid, ""));
        match (self.field, object.as_encoded()) {
            (HashedField::OwnerUid, Some((raw, decoder))) => match raw.read("/metadata/ownerReferences") {
                Ok(owners) => Ok(matches_owner(controller_uid(owners.unwrap_or_default()))),
                Err(_) => Ok(matches_owner(owner_uid(&decoder.decode(raw)?))),
            },
            (HashedField::OwnerUid, None) => {
                Ok(object.as_decoded().is_some_and(|object| matches_owner(owner_uid(object))))
            }
            (HashedField::Uid | HashedField::Namespace, encoded) => {
                if let Some(identity) = object.identity() {
                    return Ok(shard.matches(&identity.uid, &identity.namespace));
                }
                let Some((raw, decoder)) = encoded else { return Ok(false) };
                let decoded = decoder.decode(raw)?;
                let identity = Identity::of(&decoded);
                Ok(shard.matches(&identity.uid, &identity.namespace))
            }
        }
    }
}

impl Coverage {
    /// Merges adjacent ranges, so that selectors stay short.
    fn new(field: HashedField, mut ranges: Vec<ShardRange>) -> Self {
        ranges.sort_unstable_by_key(|range| range.start);
        let mut merged: Vec<ShardRange> = Vec::new();
        for range in ranges {
            match merged.last_mut() {
                Some(last) if u128::from(range.start) <= last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        if let [ShardRange { start: 0, end }] = *merged
            && end > u128::from(u64::MAX)
        {
            return Self::Everything;
        }
        let field = match field {
            HashedField::Uid | HashedField::OwnerUid => ShardField::Uid,
            HashedField::Namespace => ShardField::Namespace,
        };
        ShardSelector::new(field, merged).map_or(Self::Nothing, Self::Part)
    }
}

fn owner_uid<K: Resource>(object: &K) -> Option<String> {
    let mut owners = object.meta().owner_references.iter().flatten();
    owners.find(|owner| owner.controller == Some(true)).map(|owner| owner.uid.clone())
}

fn controller_uid(owners: Vec<Owner>) -> Option<String> {
    owners.into_iter().find(|owner| owner.controller == Some(true)).map(|owner| owner.uid)
}

impl<L> Sharded<L> {
    /// Creates a source of the objects of `source` in `shard`.
    pub fn new(source: L, shard: &ShardSelector) -> Self {
        let field = match shard.field() {
            ShardField::Uid => HashedField::Uid,
            ShardField::Namespace => HashedField::Namespace,
        };
        Self::following(source, Arc::new(ShardSet::new(field, shard.ranges().to_vec())))
    }

    /// Creates a source of the objects of `source` in ranges that can change.
    pub(crate) fn following(source: L, shards: Arc<ShardSet>) -> Self {
        Self { source, shards }
    }
}

/// Checks that the server applied the selector of the request, or none.
fn check_shard_info(requested: Option<&ShardSelector>, meta: &ListMeta) -> Result<(), Error> {
    let (Some(requested), Some(applied)) = (requested, &meta.shard_selector) else { return Ok(()) };
    match applied.parse::<ShardSelector>() {
        Ok(selector) if selector == *requested => Ok(()),
        Ok(_) | Err(_) => {
            Err(Error::OtherShard { requested: requested.to_string(), applied: applied.clone() })
        }
    }
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
            let options = ListOptions { shard_selector: self.shards.selector(), ..options.clone() };
            let mut filtered = |item: Result<RawObject<K>, ItemError>| match item
                .and_then(|object| Ok((self.shards.matches(&object)?, object)))
            {
                Ok((true, object)) => on_item(Ok(object)),
                Ok((false, _)) => {}
                Err(error) => on_item(Err(error)),
            };
            let meta = self.source.list(&options, &mut filtered).await?;
            check_shard_info(options.shard_selector.as_ref(), &meta)?;
            Ok(meta)
        })
    }

    fn watch<'a>(&'a self, options: &'a WatchOptions) -> BoxFuture<'a, Result<Watch<K>, Error>> {
        Box::pin(async move {
            let options = WatchOptions { shard_selector: self.shards.selector(), ..options.clone() };
            let events = self.source.watch(&options).await?;
            let shards = Arc::clone(&self.shards);
            let filter = move |event: WatchEvent<RawObject<K>>| {
                let is_match = match &event {
                    WatchEvent::Added(object)
                    | WatchEvent::Modified(object)
                    | WatchEvent::Deleted(object) => shards.matches(object).map_err(Error::Item)?,
                    _ => true,
                };
                Ok(match event {
                    event if is_match => Some(event),
                    // Uid and namespace never change, but the owner may: the object may have belonged to the ranges before.
                    WatchEvent::Modified(object) if shards.field == HashedField::OwnerUid => {
                        Some(WatchEvent::Deleted(object))
                    }
                    _ => None,
                })
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
