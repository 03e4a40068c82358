//! Watches: opening them, recording versions, and the reaction to their end.

use super::{AfterWait, Cursor, Phase, Step, failure::Failure};
use kube_informer_wire::{ResourceVersion, WatchOptions};
use std::time::Duration;
use tokio::time::Instant;

/// How long after the requested timeout a watch that sends nothing is considered dead.
const END_GRACE_PERIOD: Duration = Duration::from_secs(30);

/// The timeout for opening a watch, and for the next event of a streaming list.
pub(super) const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);

/// A watch that is closed sooner than this without an event is a failure.
const MIN_WATCH_DURATION: Duration = Duration::from_secs(1);

/// The time without events after which a resumed watch has caught up: a server sends pending events immediately.
const RESUME_SETTLE_TIME: Duration = Duration::from_secs(1);

/// Unanswered attempts to open a watch before a relist: a proxy may answer lists and not watches.
const MAX_UNANSWERED_WATCHES: u32 = 3;

const MIN_WATCH_TIMEOUT: Duration = Duration::from_secs(300);

/// A watch that was requested, and maybe opened.
#[derive(Clone, Debug)]
pub(super) struct OpenWatch {
    requested_at: Instant,
    /// The time at which the server ends the watch.
    ends_at: Instant,
    last_activity: Instant,
    pub(super) is_accepted: bool,
    events: u64,
    /// True if ADDED events may be synthetic, so that their versions are not versions of the watch.
    is_synthetic: bool,
}

impl OpenWatch {
    pub(super) fn new(now: Instant, timeout: Duration) -> Self {
        Self {
            requested_at: now,
            ends_at: now + timeout,
            last_activity: now,
            is_accepted: false,
            events: 0,
            is_synthetic: true,
        }
    }

    pub(super) fn events_received(&mut self, count: u64, now: Instant) {
        self.events += count;
        self.last_activity = now;
    }

    pub(super) fn initial_list_complete(&mut self, now: Instant) {
        self.events_received(1, now);
        self.is_synthetic = false;
    }

    pub(super) fn stream_deadline(&self) -> Instant {
        self.last_activity + RESPONSE_TIMEOUT
    }

    pub(super) fn resume_deadline(&self) -> Instant {
        self.last_activity + RESUME_SETTLE_TIME
    }

    pub(super) fn end_deadline(&self) -> Instant {
        self.ends_at + END_GRACE_PERIOD
    }

    fn is_very_short(&self, now: Instant) -> bool {
        self.events == 0 && now - self.requested_at < MIN_WATCH_DURATION
    }
}

/// What the cursor will record once a sequence of events is applied; see [`Cursor::preview`].
#[derive(Clone, Debug)]
pub(in super::super) struct VersionPreview {
    version: Option<ResourceVersion>,
    is_synthetic: bool,
    events: u64,
}

impl VersionPreview {
    /// Appends an ADDED event. Its version is ignored while the watch may send synthetic events.
    pub(in super::super) fn added(&mut self, version: Option<ResourceVersion>) {
        self.events += 1;
        if !self.is_synthetic {
            self.version = version.or(self.version.take());
        }
    }

    /// Appends an event of any other type, which is never synthetic; nor are the events after it.
    pub(in super::super) fn other(&mut self, version: Option<ResourceVersion>) {
        self.is_synthetic = false;
        self.added(version);
    }

    /// Returns the number of events.
    pub(in super::super) fn events(&self) -> u64 {
        self.events
    }

    /// Returns the version that will be recorded.
    pub(in super::super) fn version(&self) -> Option<&ResourceVersion> {
        self.version.as_ref()
    }
}

impl Cursor {
    pub(super) fn open_watch(&mut self, now: Instant) -> Step {
        let timeout = self.watch_timeout();
        let options = WatchOptions {
            resource_version: self.version.clone(),
            allow_watch_bookmarks: true,
            timeout: Some(timeout),
            ..WatchOptions::default()
        };
        let is_synthetic = self.version.as_ref().is_none_or(ResourceVersion::is_any);
        self.phase = Phase::Delivering(OpenWatch { is_synthetic, ..OpenWatch::new(now, timeout) });
        Step::Watch { options, deadline: now + RESPONSE_TIMEOUT }
    }

    /// Returns a random timeout between the configured minimum and twice that.
    pub(super) fn watch_timeout(&mut self) -> Duration {
        let min = self.config.min_watch_timeout.max(MIN_WATCH_TIMEOUT);
        Duration::from_secs((min + min.mul_f64(self.jitter.next())).as_secs())
    }

    /// Records that the server accepted the watch.
    pub(in super::super) fn watch_opened(&mut self, now: Instant) {
        if let Phase::Collecting(watch) | Phase::Delivering(watch) = &mut self.phase {
            watch.is_accepted = true;
            watch.last_activity = now;
            self.unanswered_watches = 0;
        }
    }

    /// Records that a watch or stream could not be opened.
    pub(in super::super) fn open_failed(&mut self, failure: Failure, now: Instant) {
        if let Phase::Collecting(_) = self.phase {
            return self.stream_failed(failure, now);
        }
        if self.resume.is_some() && failure.is_version_unavailable() {
            return self.resume_failed(failure);
        }
        let then = match failure {
            Failure::Throttled(_) | Failure::Refused => {
                self.unanswered_watches = 0;
                AfterWait::Watch
            }
            Failure::Unavailable(_) if self.unanswered_watches < MAX_UNANSWERED_WATCHES => {
                self.unanswered_watches += 1;
                AfterWait::Watch
            }
            Failure::Expired
            | Failure::VersionTooLarge
            | Failure::Unavailable(_)
            | Failure::Internal
            | Failure::Other(_) => {
                self.unanswered_watches = 0;
                AfterWait::Relist
            }
        };
        self.wait(failure, then, now);
    }

    /// Records that the open watch sent an error.
    pub(in super::super) fn watch_failed(&mut self, failure: Failure, now: Instant) {
        if let Phase::Collecting(_) = self.phase {
            return self.stream_failed(failure, now);
        }
        if self.resume.is_some() && failure.is_version_unavailable() {
            return self.resume_failed(failure);
        }
        match failure {
            Failure::Throttled(_) => self.wait(failure, AfterWait::Watch, now),
            Failure::Internal if self.internal_errors.allows(now) => self.phase = Phase::Watching,
            // The version is not marked unavailable: a list at that version or newer may still be served.
            Failure::Expired
            | Failure::VersionTooLarge
            | Failure::Refused
            | Failure::Unavailable(_)
            | Failure::Internal
            | Failure::Other(_) => self.wait(failure, AfterWait::Relist, now),
        }
    }

    /// Records that the open watch, or its connection, was closed.
    pub(in super::super) fn watch_closed(&mut self, now: Instant) {
        match &self.phase {
            Phase::Collecting(_) => self.stream_interrupted(now),
            Phase::Delivering(watch) if watch.is_very_short(now) => {
                self.wait(Failure::Other(None), AfterWait::Relist, now);
            }
            _ => self.phase = Phase::Watching,
        }
    }

    /// Records that no event was received until the deadline.
    pub(in super::super) fn watch_timed_out(&mut self, now: Instant) {
        match &self.phase {
            Phase::Collecting(_) => self.stream_interrupted(now),
            _ => self.phase = Phase::Watching,
        }
    }

    /// Starts a preview of the version that will be recorded once the next events are applied.
    ///
    /// The sink needs the version of a batch before the batch is applied: append the events to the preview, send the
    /// batch to the sink, then pass the preview to [`events_applied`](Self::events_applied).
    ///
    /// A watch from no version or `"0"` starts with synthetic ADDED events. Their versions are in no order and are not recorded.
    pub(in super::super) fn preview(&self) -> VersionPreview {
        let is_synthetic = match &self.phase {
            Phase::Delivering(watch) => watch.is_synthetic,
            _ => true,
        };
        VersionPreview { version: self.version.clone(), is_synthetic, events: 0 }
    }

    /// Records that the events of `preview` were delivered to the sink.
    pub(in super::super) fn events_applied(&mut self, preview: VersionPreview, now: Instant) {
        if let Phase::Delivering(watch) = &mut self.phase {
            watch.events_received(preview.events, now);
            watch.is_synthetic = preview.is_synthetic;
            self.version = preview.version;
        }
    }

    /// Records that an event was skipped because its object cannot be decoded. The version does not change.
    pub(in super::super) fn event_skipped(&mut self, now: Instant) {
        if let Phase::Collecting(watch) | Phase::Delivering(watch) = &mut self.phase {
            watch.last_activity = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        reflector::{Config, Strategy, backoff::Jitter},
        testing::rv,
    };

    /// Returns a cursor with an open watch from `version`.
    fn watching(version: u64, now: Instant) -> Cursor {
        let config = Config { strategy: Strategy::List, ..Config::default() };
        let mut cursor = Cursor::new(config, Jitter::from_entropy());
        cursor.next(now);
        cursor.page_received(Some(rv(version)), None);
        cursor.replaced();
        assert!(matches!(cursor.next(now), Step::Watch { .. }));
        cursor.watch_opened(now);
        cursor
    }

    // R28
    #[test]
    fn the_preview_of_a_batch_ignores_leading_synthetic_events() {
        let now = Instant::now();
        let mut cursor = watching(0, now);
        let mut preview = cursor.preview();
        preview.added(Some(rv(9)));
        preview.added(Some(rv(5)));
        assert_eq!(preview.version(), Some(&rv(0)));
        cursor.events_applied(preview, now);
        assert_eq!(cursor.version(), Some(&rv(0)));

        let mut preview = cursor.preview();
        preview.added(Some(rv(9)));
        preview.other(Some(rv(11)));
        preview.added(Some(rv(12)));
        preview.other(None);
        assert_eq!(preview.version(), Some(&rv(12)));
        assert_eq!(cursor.version(), Some(&rv(0)), "a preview does not change the cursor");
        cursor.events_applied(preview, now);
        assert_eq!(cursor.version(), Some(&rv(12)));

        let mut preview = cursor.preview();
        preview.added(Some(rv(13)));
        assert_eq!(preview.version(), Some(&rv(13)), "the watch sends no synthetic events anymore");
    }

    // R24
    #[test]
    fn the_preview_of_a_watch_from_a_version_includes_added_events() {
        let now = Instant::now();
        let mut cursor = watching(10, now);
        let mut preview = cursor.preview();
        preview.added(Some(rv(12)));
        assert_eq!(preview.version(), Some(&rv(12)));
        cursor.events_applied(preview, now);
        assert_eq!(cursor.version(), Some(&rv(12)));
    }
}
