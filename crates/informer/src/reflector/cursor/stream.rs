//! Streaming lists: opening them, and the reaction to an incomplete one.

use super::{AfterWait, Cursor, Phase, Step, failure::Failure, watch::OpenWatch, watch::RESPONSE_TIMEOUT};
use crate::reflector::config::Strategy;
use kube_informer_wire::{ResourceVersion, WatchOptions};
use tokio::time::Instant;

/// Interrupted streams before the cursor falls back to a list.
const MAX_INTERRUPTED_STREAMS: u32 = 3;

impl Cursor {
    pub(super) fn open_stream(&mut self, now: Instant) -> Step {
        let from = self.version.clone().filter(|_| !self.is_version_unavailable);
        let timeout = self.long_watch_timeout();
        let options = WatchOptions { timeout: Some(timeout), ..WatchOptions::streaming_list(from) };
        self.phase = Phase::Collecting(OpenWatch::new(now, timeout));
        Step::Stream { options, deadline: now + RESPONSE_TIMEOUT }
    }

    /// Records that an object of the initial list was collected.
    pub(in super::super) fn item_collected(&mut self, now: Instant) {
        if let Phase::Collecting(watch) = &mut self.phase {
            watch.events_received(1, now);
        }
    }

    /// Records that a change was collected before the end of the initial list, which should then be near.
    pub(in super::super) fn change_collected(&mut self, now: Instant) {
        if let Phase::Collecting(watch) = &mut self.phase {
            watch.events_received(1, now);
            watch.change_collected(now);
        }
    }

    /// Records that the bookmark that ends the initial list was received.
    pub(in super::super) fn initial_list_complete(&mut self, version: ResourceVersion, now: Instant) {
        if let Phase::Collecting(watch) = &mut self.phase {
            watch.initial_list_complete(now);
            self.phase = Phase::Replacing { version: Some(version), watch: Some(watch.clone()) };
            self.bookmark_received();
        } else {
            let mut preview = self.preview();
            preview.other(Some(version));
            self.events_applied(preview, now);
        }
    }

    /// Records that a stream failed before it was complete.
    pub(super) fn stream_failed(&mut self, failure: Failure, now: Instant) {
        match failure {
            Failure::Throttled(_) | Failure::Refused => self.wait(failure, AfterWait::Stream, now),
            Failure::Expired | Failure::VersionTooLarge if !self.is_version_unavailable => {
                self.is_version_unavailable = true;
                self.phase = Phase::Streaming;
            }
            Failure::Expired
            | Failure::VersionTooLarge
            | Failure::Unavailable(_)
            | Failure::Internal(_)
            | Failure::Invalid
            | Failure::Other(_) => self.fall_back_to_list(failure, now),
        }
    }

    /// Records that a stream was not completed in time. The source does not support them, so that no other is tried.
    pub(super) fn stream_timed_out(&mut self, now: Instant) {
        self.is_streaming_abandoned = true;
        self.fall_back_to_list(Failure::Other(None), now);
    }

    /// Records that a stream ended before it was complete.
    pub(super) fn stream_interrupted(&mut self, now: Instant) {
        self.interrupted_streams += 1;
        if self.interrupted_streams < MAX_INTERRUPTED_STREAMS {
            self.wait(Failure::Other(None), AfterWait::Stream, now);
        } else {
            self.fall_back_to_list(Failure::Other(None), now);
        }
    }

    fn fall_back_to_list(&mut self, failure: Failure, now: Instant) {
        match self.config.strategy {
            Strategy::Stream | Strategy::List => self.start_list(),
            Strategy::StreamOnly => self.wait(failure, AfterWait::Relist, now),
        }
    }
}
