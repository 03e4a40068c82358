//! How much memory the objects of a kind take, where that can be told.

use crate::args::Stored;
use crate::follow::Followed;
use futures_util::FutureExt;
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

/// Weighs what is kept compact. What is kept whole is spread over the heap, and is only part of what the process uses.
#[derive(Debug)]
pub(super) struct Scales {
    storage: Stored,
    /// The last weight of each kind.
    known: Vec<Option<u64>>,
    /// The kind that is being weighed.
    weighing: Option<(usize, JoinHandle<u64>)>,
    begun: Option<Instant>,
}

/// How often something is weighed: every object is looked at for it.
const EVERY: Duration = Duration::from_secs(1);

impl Scales {
    pub(super) fn new(storage: Stored, kinds: usize) -> Self {
        Self { storage, known: vec![None; kinds], weighing: None, begun: None }
    }

    /// What a kind weighed last. It is weighed anew by another thread, so that drawing never waits for it.
    pub(super) fn weigh(&mut self, at: usize, followed: &Followed) -> Option<u64> {
        if let Some((weighed, task)) = &mut self.weighing
            && let Some(weight) = task.now_or_never()
        {
            self.known[*weighed] = weight.ok();
            self.weighing = None;
        }
        let is_due = self.begun.is_none_or(|begun| begun.elapsed() >= EVERY);
        if self.storage == Stored::Compressed && self.weighing.is_none() && is_due {
            let snapshot = followed.informer.snapshot();
            let task = tokio::task::spawn_blocking(move || snapshot.compact_bytes() as u64);
            (self.weighing, self.begun) = (Some((at, task)), Some(Instant::now()));
        }
        self.known[at]
    }
}
