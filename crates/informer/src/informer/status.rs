//! Where an informer stands.

use crate::reflector;
use futures_util::{FutureExt, future::select_all};
use kube_informer_wire::ResourceVersion;
use std::{fmt, sync::Arc, time::Duration};
use tokio::{sync::watch, time::Instant};

/// Where an informer stands.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Status {
    /// What it is about to achieve, or has.
    pub phase: Phase,
    /// How many objects the cache holds.
    pub objects: usize,
    /// Up to which version the cache has everything.
    pub version: Option<ResourceVersion>,
    /// The last failure of any of its reflectors, in words; nothing once all go on.
    pub last_error: Option<String>,
    /// What was done so far, over all its reflectors.
    pub counts: reflector::Counts,
    /// When what happened.
    pub times: Times,
    /// Its reflectors: one for each namespace that was asked for, or one for all.
    pub sources: Vec<Source>,
    /// Who follows it.
    pub followers: Vec<FollowerStatus>,
    /// What an earlier process had saved, if something was restored.
    pub restored: Option<Restored>,
    /// How saving goes, if the cache is saved.
    pub saving: Option<Saving>,
}

/// What an earlier process had saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Restored {
    /// How many objects were restored.
    pub objects: usize,
    /// How old that state was when it was restored: how long ago it was last saved. Of several namespaces, that of the oldest.
    pub age: Duration,
    /// Whether the server has been caught up with since. Until then, the cache is a state that the server once had.
    pub is_confirmed: bool,
}

/// How saving goes, over all sources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Saving {
    /// Why the last attempt failed, in words, if it did. What was saved before stays.
    pub failing: Option<String>,
    /// How many attempts failed.
    pub failures: u64,
    /// How many changes were saved.
    pub changes: u64,
    /// How many bytes the files have.
    pub file_bytes: u64,
}

/// What an informer has achieved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// It has not been started.
    #[default]
    Idle,
    /// It asks for the first whole state.
    Syncing,
    /// The cache is complete, and follows.
    Synced,
    /// It was stopped.
    Stopped,
}

/// When what happened to an informer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Times {
    /// When it was started.
    pub started: Option<Instant>,
    /// When the cache was complete for the first time.
    pub synced: Option<Instant>,
    /// When something last came from the server: a state, a change, a bookmark.
    pub heard: Option<Instant>,
}

/// One reflector of an informer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Source {
    /// The namespace that it reflects; nothing where it is all of them.
    pub namespace: Option<String>,
    /// Where it stands.
    pub status: reflector::ReflectorStatus,
    /// Whether it goes on from what an earlier process had saved of it; of several namespaces, one may and another not.
    pub is_restored: bool,
}

/// One follower of an informer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FollowerStatus {
    /// Its name.
    pub name: String,
    /// How many events it has not been told.
    pub depth: u64,
    /// Whether it has handled all that was there when the informer had synced.
    pub has_synced: bool,
    /// How often its handler panicked.
    pub panics: u64,
}

/// Follows the [`Status`] of an informer as it changes.
pub struct StatusWatch {
    pub(super) read: Arc<dyn Fn() -> Status + Send + Sync>,
    pub(super) milestones: watch::Receiver<Times>,
    pub(super) sources: Vec<watch::Receiver<reflector::ReflectorStatus>>,
}

impl StatusWatch {
    /// Where the informer stands.
    #[must_use]
    pub fn now(&self) -> Status {
        (self.read)()
    }

    /// Waits for a change since this was last called or made. That a follower has come further is none.
    ///
    /// # Cancel safety
    /// Dropped while it waits, it has missed nothing.
    pub async fn changed(&mut self) {
        loop {
            let sources = self.sources.iter_mut().map(|source| source.changed().boxed());
            let all = sources.chain([self.milestones.changed().boxed()]);
            let (changed, index, _) = select_all(all).await;
            match changed {
                Ok(()) => return,
                // A reflector that is gone says nothing more.
                Err(_) if index < self.sources.len() => drop(self.sources.swap_remove(index)),
                Err(_) => std::future::pending().await,
            }
        }
    }

    /// Waits until the status is as asked; nothing if the informer is stopped before that.
    pub async fn wait_for(&mut self, is_so: impl Fn(&Status) -> bool) -> Option<Status> {
        loop {
            let status = self.now();
            if is_so(&status) {
                return Some(status);
            }
            if status.phase == Phase::Stopped {
                return None;
            }
            self.changed().await;
        }
    }
}

/// The counts of all together.
pub(super) fn sum(sources: &[Source]) -> reflector::Counts {
    sources.iter().fold(reflector::Counts::default(), |mut sum, source| {
        let counts = source.status.counts;
        sum.lists += counts.lists;
        sum.streams += counts.streams;
        sum.watches += counts.watches;
        sum.replaces += counts.replaces;
        sum.streamed += counts.streamed;
        sum.events += counts.events;
        sum.errors += counts.errors;
        sum
    })
}

impl fmt::Debug for StatusWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StatusWatch").field("now", &self.now()).finish_non_exhaustive()
    }
}
