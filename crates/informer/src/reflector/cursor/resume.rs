//! Resuming from a restored version.

use super::{AfterWait, Cursor, Phase, Step, failure::Failure};
use kube_informer_wire::{ListOptions, ResourceVersion};
use std::{cmp::Ordering, num::NonZeroU64};
use tokio::time::Instant;

/// The progress of a watch from a restored version.
#[derive(Debug, Default)]
pub(super) struct ResumeState {
    /// The server's version when it was probed.
    target: Option<ResourceVersion>,
    /// The watches that ended before they reached the target.
    incomplete_watches: u32,
}

/// Watches that end before they reach the target, before the cursor relists.
const MAX_INCOMPLETE_WATCHES: u32 = 3;

impl Cursor {
    /// Starts with a watch from this version, which is the version of the sink.
    pub(in super::super) fn resume_from(&mut self, version: ResourceVersion) {
        self.phase = Phase::Probing;
        self.version = Some(version);
        self.resume = Some(ResumeState::default());
    }

    /// Starts with a full list at any version instead.
    pub(in super::super) fn start_over(&mut self) {
        self.phase = Phase::Relist;
        self.version = None;
        self.resume = None;
    }

    pub(super) fn probe() -> Step {
        Step::Probe(ListOptions { limit: NonZeroU64::new(1), ..ListOptions::default() })
    }

    /// Records the server's version.
    pub(in super::super) fn probed(&mut self, server: Option<ResourceVersion>) {
        let Phase::Probing = self.phase else { return };
        let is_resume = self.resume.is_some();
        let order = match (&server, &self.version) {
            (Some(server), Some(restored)) => server.partial_cmp(restored),
            _ => None,
        };
        self.is_version_unavailable = order == Some(Ordering::Less);
        self.phase = match order {
            Some(Ordering::Equal | Ordering::Greater) => Phase::Watching,
            Some(Ordering::Less) | None => Phase::Relist,
        };
        self.resume = is_resume.then_some(ResumeState { target: server, incomplete_watches: 0 });
    }

    /// Records that the probe failed.
    pub(in super::super) fn probe_failed(&mut self, failure: Failure, now: Instant) {
        if failure.is_version_unavailable() {
            self.phase = Phase::Relist;
        } else {
            let then = if self.resume.is_some() { AfterWait::Probe } else { AfterWait::Watch };
            self.wait(failure, then, now);
        }
    }

    /// Returns whether a resumed watch has sent everything that changed since the restored version.
    pub(super) fn has_caught_up(&self) -> bool {
        let Phase::Delivering(watch) = &self.phase else { return false };
        self.resume.is_some() && watch.is_accepted && !self.is_catching_up()
    }

    /// Returns whether a watch from the restored version has not reached the version of the server yet.
    pub(super) fn is_catching_up(&self) -> bool {
        let Some(ResumeState { target: Some(target), .. }) = &self.resume else { return false };
        self.version.as_ref() < Some(target)
    }

    /// Records that the sink was notified that the watch has caught up.
    pub(in super::super) fn resumed(&mut self, now: Instant) {
        self.resume = None;
        self.data_received(now);
    }

    /// Continues after a watch has ended.
    ///
    /// Relists if several watches have not reached the version of the server after a restore, since the source may send no
    /// bookmarks. Compares the version with the server's if a source that sends bookmarks has sent nothing in a whole watch: it
    /// sends nothing to a watch from a version that it does not have yet.
    pub(super) fn reopen(&mut self, now: Instant) {
        let was_silent = matches!(&self.phase, Phase::Delivering(watch) if watch.was_silent(now));
        self.phase = Phase::Watching;
        if self.is_catching_up() {
            if let Some(resume) = &mut self.resume {
                resume.incomplete_watches += 1;
                if resume.incomplete_watches >= MAX_INCOMPLETE_WATCHES {
                    self.phase = Phase::Relist;
                }
            }
        } else if was_silent && std::mem::take(&mut self.is_silence_suspicious) {
            self.phase = Phase::Probing;
        }
    }

    /// Relists without a wait, because the server does not have the restored version. That is expected after a while.
    pub(super) fn resume_failed(&mut self, failure: Failure) {
        self.is_version_unavailable = failure == Failure::VersionTooLarge;
        self.phase = Phase::Relist;
    }
}
