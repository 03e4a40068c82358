//! Watches: opening them, recording versions, and the reaction to their end.

use super::{AfterWait, Cursor, Phase, Step, failure::Failure};
use kube_informer_wire::{ResourceVersion, WatchOptions};
use std::time::Duration;
use tokio::time::Instant;

/// How long after the requested timeout a watch that sends nothing is considered dead.
const END_GRACE_PERIOD: Duration = Duration::from_secs(30);

/// The timeout for opening a streaming list, for its next event, and for its end after the first change.
pub(super) const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);

/// The timeout for a streaming list.
const STREAM_TIMEOUT: Duration = Duration::from_secs(300);

/// The minimum of [`Config::idle_timeout`](crate::reflector::Config::idle_timeout).
const MIN_IDLE_TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum time between two bookmarks, which is 75 seconds for kube-apiserver, with some tolerance.
const MAX_BOOKMARK_INTERVAL: Duration = Duration::from_secs(80);

/// The timeout of watches from a restored version until they have reached the version of the server. kube-apiserver sends a
/// bookmark two seconds before a watch ends.
const RESUME_WATCH_TIMEOUT: Duration = Duration::from_secs(5);

/// The share of the idle timeout that is requested as the timeout of a watch without bookmarks.
const QUIET_WATCH_SHARE: f64 = 0.9;

/// A watch that is closed sooner than this without an event is a failure.
const MIN_WATCH_DURATION: Duration = Duration::from_secs(1);

/// Unanswered attempts to open a watch before a relist: a proxy may answer lists and not watches.
const MAX_UNANSWERED_WATCHES: u32 = 3;

const MIN_WATCH_TIMEOUT: Duration = Duration::from_secs(300);

/// The maximum of the configured timeouts. A deadline in `Duration::MAX` cannot be represented.
const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// A watch that was requested, and maybe opened.
#[derive(Clone, Debug)]
pub(super) struct OpenWatch {
    requested_at: Instant,
    /// The time at which the server ends the watch.
    ends_at: Instant,
    last_activity: Instant,
    /// The first change before the end of the initial list.
    first_change: Option<Instant>,
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
            first_change: None,
            is_accepted: false,
            events: 0,
            is_synthetic: true,
        }
    }

    pub(super) fn events_received(&mut self, count: u64, now: Instant) {
        self.events += count;
        self.data_received(now);
    }

    pub(super) fn data_received(&mut self, at: Instant) {
        self.last_activity = self.last_activity.max(at);
    }

    pub(super) fn last_data_at(&self) -> Option<Instant> {
        self.is_accepted.then_some(self.last_activity)
    }

    pub(super) fn change_collected(&mut self, now: Instant) {
        self.first_change.get_or_insert(now);
    }

    pub(super) fn initial_list_complete(&mut self, now: Instant) {
        self.events_received(1, now);
        self.is_synthetic = false;
    }

    pub(super) fn stream_deadline(&self) -> Instant {
        let silent = self.last_activity.min(self.first_change.unwrap_or(self.last_activity));
        (silent + RESPONSE_TIMEOUT).min(self.requested_at + STREAM_TIMEOUT)
    }

    pub(super) fn deadline(&self, idle_timeout: Duration) -> Instant {
        (self.last_activity + idle_timeout).min(self.ends_at + END_GRACE_PERIOD)
    }

    /// Returns whether the watch has reached the end of its timeout without an event or bookmark.
    pub(super) fn was_silent(&self, now: Instant) -> bool {
        self.events == 0 && now + MIN_WATCH_DURATION >= self.ends_at
    }

    fn is_idle(&self, idle_timeout: Duration, now: Instant) -> bool {
        now >= self.last_activity + idle_timeout
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
    has_bookmark: bool,
    implausible: Option<ResourceVersion>,
}

/// The maximum difference between the versions of two events in succession. Versions of some servers are times in nanoseconds.
const MAX_VERSION_STEP: u64 = 1_000_000_000_000_000;

impl VersionPreview {
    /// Appends an ADDED event. Its version is ignored while the watch may send synthetic events.
    pub(in super::super) fn added(&mut self, version: Option<ResourceVersion>) {
        self.events += 1;
        let Some(version) = version.filter(|_| !self.is_synthetic) else { return };
        if self.is_plausible(&version) {
            self.version = Some(version);
        } else {
            self.implausible = Some(version);
        }
    }

    /// Appends an event of an unknown type. It does not count as an event: a watch that sends nothing else has failed.
    pub(in super::super) fn unknown(&mut self, version: Option<ResourceVersion>) {
        self.other(version);
        self.events -= 1;
    }

    /// Appends a bookmark.
    pub(in super::super) fn bookmark(&mut self, version: ResourceVersion) {
        self.has_bookmark = true;
        self.other(Some(version));
    }

    /// Returns whether the server can have reached `next` after the recorded version. A watch from a version that it does not
    /// have would fail, or would miss all changes.
    fn is_plausible(&self, next: &ResourceVersion) -> bool {
        let current = self.version.as_ref().and_then(ResourceVersion::to_number);
        match (current, next.to_number()) {
            (None | Some(0), _) => true,
            (Some(current), Some(next)) => next.saturating_sub(current) <= MAX_VERSION_STEP,
            (Some(_), None) => false,
        }
    }

    /// Returns the last version that was not recorded because the server cannot have reached it.
    pub(in super::super) fn implausible(&self) -> Option<&ResourceVersion> {
        self.implausible.as_ref()
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
        // Some proxies send the headers of a response with its first event, which may be a bookmark.
        Step::Watch { options, deadline: now + self.idle_timeout() }
    }

    /// Returns the timeout to request for a watch.
    ///
    /// A server ends a watch without bookmarks before it is considered dead, so that every watch that is silent for the idle
    /// timeout is dead.
    fn watch_timeout(&mut self) -> Duration {
        if self.is_catching_up() {
            RESUME_WATCH_TIMEOUT
        } else if self.sends_bookmarks && self.idle_timeout() >= MAX_BOOKMARK_INTERVAL {
            self.long_watch_timeout()
        } else {
            Duration::from_secs(self.idle_timeout().mul_f64(QUIET_WATCH_SHARE).as_secs())
        }
    }

    pub(super) fn idle_timeout(&self) -> Duration {
        self.config.idle_timeout.clamp(MIN_IDLE_TIMEOUT, MAX_TIMEOUT)
    }

    /// Returns a random timeout between the configured minimum and twice that.
    pub(super) fn long_watch_timeout(&mut self) -> Duration {
        let min = self.config.min_watch_timeout.clamp(MIN_WATCH_TIMEOUT, MAX_TIMEOUT);
        Duration::from_secs((min + min.mul_f64(self.jitter.next())).as_secs())
    }

    /// Records that the server accepted the watch.
    pub(in super::super) fn watch_opened(&mut self, now: Instant) {
        if let Phase::Collecting(watch) | Phase::Delivering(watch) = &mut self.phase {
            watch.is_accepted = true;
            watch.data_received(now);
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
            | Failure::Internal(_)
            | Failure::Invalid
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
            Failure::Internal(_) if self.internal_errors.allows(now) => self.phase = Phase::Watching,
            // The version is not marked unavailable: a list at that version or newer may still be served.
            Failure::Expired
            | Failure::VersionTooLarge
            | Failure::Refused
            | Failure::Unavailable(_)
            | Failure::Internal(_)
            | Failure::Invalid
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
            _ => self.reopen(now),
        }
    }

    /// Records that the deadline of the open watch has passed. Returns whether the watch sent no data for the idle timeout.
    pub(in super::super) fn watch_timed_out(&mut self, now: Instant) -> bool {
        let idle_timeout = self.idle_timeout();
        match &self.phase {
            Phase::Collecting(watch) if watch.is_accepted => self.stream_timed_out(now),
            Phase::Collecting(_) => self.stream_interrupted(now),
            Phase::Delivering(watch) if watch.is_idle(idle_timeout, now) => {
                // The next watch does not depend on bookmarks: this source may send none.
                self.sends_bookmarks = false;
                self.reopen(now);
                return true;
            }
            _ => self.reopen(now),
        }
        false
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
        VersionPreview {
            version: self.version.clone(),
            is_synthetic,
            events: 0,
            has_bookmark: false,
            implausible: None,
        }
    }

    /// Records that the events of `preview` were delivered to the sink.
    pub(in super::super) fn events_applied(&mut self, preview: VersionPreview, now: Instant) {
        if let Phase::Delivering(watch) = &mut self.phase {
            watch.events_received(preview.events, now);
            watch.is_synthetic = preview.is_synthetic;
            self.version = preview.version;
            if preview.has_bookmark {
                self.bookmark_received();
            }
        }
    }

    pub(super) fn bookmark_received(&mut self) {
        self.sends_bookmarks = true;
        self.is_silence_suspicious = true;
    }

    /// Records that an event was skipped because its object cannot be decoded. The version does not change.
    pub(in super::super) fn event_skipped(&mut self, now: Instant) {
        if let Phase::Collecting(watch) | Phase::Delivering(watch) = &mut self.phase {
            watch.data_received(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        reflector::{Config, Strategy, backoff::Jitter, cursor::ReceivedPage},
        testing::rv,
    };

    /// Returns a cursor with an open watch from `version`.
    fn watching(version: u64, now: Instant) -> Cursor {
        let config = Config { strategy: Strategy::List, ..Config::default() };
        let mut cursor = Cursor::new(config, Jitter::from_entropy());
        cursor.next(now);
        cursor.page_received(ReceivedPage { version: Some(rv(version)), ..ReceivedPage::default() }, now);
        cursor.replaced(now);
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
