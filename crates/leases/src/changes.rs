//! The changes of the held shards, for consumers that follow them.

use crate::driver::Snapshot;
use crate::term::{Shard, TermState};
use std::collections::{BTreeMap, VecDeque};
use tokio::sync::watch;

/// A change of the held shards.
#[derive(Debug)]
#[non_exhaustive]
pub enum ShardChange {
    /// The shard was acquired. Keep the handle, and a clone of it for each piece of work.
    Gained(Shard),
    /// The shard is to be released: start no work, and drop the handles when the work in progress has ended.
    Draining {
        /// The index of the shard.
        shard: u32,
    },
    /// The shard was released or lost. Work on it was cancelled.
    Lost {
        /// The index of the shard.
        shard: u32,
    },
}

/// The changes of the held shards since the subscription, starting with those that are held.
///
/// Changes are computed when they are read, so that a slow consumer retains nothing. A shard that was gained and lost in between is not
/// reported. A shard that was lost and gained again is reported as both, in this order.
#[derive(Debug)]
pub struct Changes {
    snapshots: watch::Receiver<Snapshot>,
    known: BTreeMap<u32, Known>,
    pending: VecDeque<ShardChange>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    term: u64,
    is_draining: bool,
}

impl Changes {
    pub(crate) fn new(mut snapshots: watch::Receiver<Snapshot>) -> Self {
        snapshots.mark_changed();
        Self { snapshots, known: BTreeMap::new(), pending: VecDeque::new() }
    }

    /// Waits for the next change; `None` after the leases were stopped.
    ///
    /// It is cancel safe.
    pub async fn next(&mut self) -> Option<ShardChange> {
        loop {
            if let Some(change) = self.pending.pop_front() {
                return Some(change);
            }
            if self.snapshots.has_changed().is_err() || self.snapshots.borrow().is_stopped {
                self.compare();
                return self.pending.pop_front();
            }
            self.snapshots.changed().await.ok();
            self.compare();
        }
    }

    fn compare(&mut self) {
        let terms = self.snapshots.borrow_and_update().terms.clone();
        self.known.retain(|shard, known| {
            let is_held = terms.get(shard).is_some_and(|term| term.id == known.term);
            if !is_held {
                self.pending.push_back(ShardChange::Lost { shard: *shard });
            }
            is_held
        });
        for (shard, term) in terms {
            match self.known.get_mut(&shard) {
                None => {
                    if let Some(handle) = Shard::new(&term).filter(Shard::is_held) {
                        self.known.insert(shard, Known { term: term.id, is_draining: false });
                        self.pending.push_back(ShardChange::Gained(handle));
                    }
                }
                Some(known) if !known.is_draining && term.state() != TermState::Active => {
                    known.is_draining = true;
                    self.pending.push_back(ShardChange::Draining { shard });
                }
                Some(_) => {}
            }
        }
    }
}
