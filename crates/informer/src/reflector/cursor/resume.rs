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
    /// True if the watch has sent no events for a while.
    is_settled: bool,
}

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
        let order = match (&server, &self.version) {
            (Some(server), Some(restored)) => server.partial_cmp(restored),
            _ => None,
        };
        self.is_version_unavailable = order == Some(Ordering::Less);
        self.phase = match order {
            Some(Ordering::Equal | Ordering::Greater) => Phase::Watching,
            Some(Ordering::Less) | None => Phase::Relist,
        };
        self.resume = Some(ResumeState { target: server, is_settled: false });
    }

    /// Records that the probe failed.
    pub(in super::super) fn probe_failed(&mut self, failure: Failure, now: Instant) {
        if failure.is_version_unavailable() {
            self.phase = Phase::Relist;
        } else {
            self.wait(failure, AfterWait::Probe, now);
        }
    }

    /// Returns whether a resumed watch has sent everything that changed since the restored version.
    pub(super) fn has_caught_up(&self) -> bool {
        let Some(ResumeState { target, is_settled }) = &self.resume else { return false };
        let Phase::Delivering(watch) = &self.phase else { return false };
        let has_reached_target = target.as_ref().is_some_and(|target| self.version.as_ref() >= Some(target));
        watch.is_accepted && (*is_settled || has_reached_target)
    }

    /// Records that the sink was notified that the watch has caught up.
    pub(in super::super) fn resumed(&mut self) {
        self.resume = None;
    }

    /// Marks a resumed watch as caught up because nothing was received until the deadline. Returns `false` if no resume is
    /// in progress, in which case the watch has [timed out](Self::watch_timed_out).
    pub(in super::super) fn settle_resume(&mut self) -> bool {
        if let Some(resume) = &mut self.resume {
            resume.is_settled = true;
        }
        self.resume.is_some()
    }

    /// Relists without a wait, because the server does not have the restored version. That is expected after a while.
    pub(super) fn resume_failed(&mut self, failure: Failure) {
        self.is_version_unavailable = failure == Failure::VersionTooLarge;
        self.phase = Phase::Relist;
    }
}
