//! Adds and removes the shards of an informer as this process gains and loses them.

use super::{
    inner::{HeldShard, Inner},
    leased_shards::LeasedShards,
};
use futures_util::FutureExt;
use kube_core::Resource;
use kube_informer_wire::ShardRange;
use kube_leases::{Shard, ShardChange};
use std::{sync::Arc, time::Duration};
use tokio::time::timeout;

/// The time in which shards that are gained one after the other become one source, because each source has a watch of its own.
const GAIN_DELAY: Duration = Duration::from_millis(10);

/// Adds and removes shards until the leases or the informer are stopped.
///
/// It keeps no handle of a shard: the cache of a shard stays until the shard is released, and does not delay its release.
pub(super) async fn update_shards<K: Resource + Send + Sync + 'static>(
    inner: Arc<Inner<K>>,
    leased: LeasedShards,
) {
    let mut changes = leased.leases.changes();
    let cancel = inner.cancel.clone();
    while let Some(Some(first)) = cancel.run_until_cancelled(changes.next()).await {
        let mut gained: Vec<HeldShard> = Vec::new();
        let mut next = Some(first);
        // Shards that are gained together are listed together.
        while let Some(change) = next {
            match change {
                ShardChange::Gained(shard) => gained.push(held_shard(&shard)),
                ShardChange::Lost { shard } => {
                    gained.retain(|held| held.index != shard);
                    inner.release_shards(|held| held.index == shard);
                }
                // The cache is needed until the work in progress has ended.
                _ => {}
            }
            next = match gained.is_empty() {
                true => changes.next().now_or_never().flatten(),
                false => timeout(GAIN_DELAY, changes.next()).await.ok().flatten(),
            };
        }
        inner.add_shards(&gained);
    }
    if !cancel.is_cancelled() {
        inner.release_shards(|_| true);
    }
}

fn held_shard(shard: &Shard) -> HeldShard {
    let range = shard.range();
    HeldShard {
        index: shard.index(),
        term: shard.term(),
        range: ShardRange { start: range.start, end: range.end },
    }
}
