//! Decides whether a watch can go on from a version that was restored, and when it has caught up.

use super::{
    cursor::{Cursor, Phase, Resuming},
    failure::Failure,
    step::Then,
};
use kube_informer_wire::ResourceVersion;
use std::cmp::Ordering;
use tokio::time::Instant;

impl Cursor {
    /// Begins with a watch from this version, the state of which the sink has.
    pub(crate) fn resume_from(&mut self, version: ResourceVersion) {
        (self.phase, self.last) = (Phase::Probing, Some(version));
        self.resuming = Some(Resuming::default());
    }

    /// Begins with the whole state after all, whatever its version.
    #[cfg(feature = "saved")]
    pub(crate) fn start_over(&mut self) {
        (self.phase, self.last, self.resuming) = (Phase::Round, None, None);
    }

    /// The server is at this version.
    pub(crate) fn probed(&mut self, server: Option<ResourceVersion>) {
        let Phase::Probing = self.phase else { return };
        let order =
            server.as_ref().zip(self.last.as_ref()).and_then(|(server, last)| server.partial_cmp(last));
        self.is_last_unavailable = order == Some(Ordering::Less);
        self.phase = match order {
            Some(Ordering::Equal | Ordering::Greater) => Phase::Watching,
            Some(Ordering::Less) | None => Phase::Round,
        };
        self.resuming = Some(Resuming { target: server, is_settled: false });
    }

    /// The server did not say at which version it is.
    pub(crate) fn probe_failed(&mut self, failure: Failure, now: Instant) {
        match failure {
            Failure::Expired | Failure::TooLarge => self.phase = Phase::Round,
            Failure::Throttled(_)
            | Failure::Refused
            | Failure::Away(_)
            | Failure::Internal
            | Failure::Other(_) => {
                self.wait(failure, Then::Probe, now);
            }
        }
    }

    /// Whether all that a resumed watch had to tell is told.
    pub(super) fn has_resumed(&self) -> bool {
        let Some(Resuming { target, is_settled }) = &self.resuming else { return false };
        let has_reached = || target.as_ref().is_some_and(|target| self.last.as_ref() >= Some(target));
        let Phase::Delivering(open) = &self.phase else { return false };
        open.is_accepted && (*is_settled || has_reached())
    }

    /// The sink knows that the watch goes on from what was restored.
    pub(crate) fn resumed(&mut self) {
        self.resuming = None;
    }

    /// Nothing came for as long as was to be waited; says whether that is as it should be.
    pub(crate) fn is_quiet(&mut self) -> bool {
        let Some(resuming) = &mut self.resuming else { return false };
        resuming.is_settled = true;
        true
    }

    /// The server no longer, or not yet, has the restored version. That is as usual after a while: there is nothing to wait for.
    pub(super) fn not_resumed(&mut self, failure: Failure) {
        self.is_last_unavailable = failure == Failure::TooLarge;
        self.phase = Phase::Round;
    }
}
