//! Errors, status, metrics, logs and spans of a reflector.

use super::{
    cursor::{AfterWait, ListMethod, Step, Wait, WatchMode},
    metrics::Metrics,
};
use crate::{
    boxed::error_chain,
    source::{BoxError, ContentType, Error, KindError},
};
use kube_informer_wire::{Key, ListOptions, ObjectError, ResourceVersion, WatchEvent, WatchOptions};
use metrics::Histogram;
use std::{fmt, sync::Arc, time::Duration};
use tokio::{sync::watch, time::Instant};
use tracing::Span;

/// An error of a reflector, with its activity and the next step.
#[derive(Debug)]
#[non_exhaustive]
pub struct Report<'r> {
    /// The name of the reflector.
    pub name: &'r str,
    /// The kind of the objects, such as `apps/v1 Deployment`.
    pub resource: &'r str,
    /// The activity that failed.
    pub activity: Activity,
    /// The error.
    pub cause: Cause<'r>,
    /// The next step.
    pub retry: Retry,
}

impl Report<'_> {
    /// Logs the error, as a warning unless it is an expired version. This is the default error handler.
    pub fn log(&self) {
        let Self { name, resource, activity, cause, retry } = self;
        match cause {
            Cause::Source(error) if error.is_expired() => {
                tracing::debug!(reflector = name, resource, ?activity, %cause, ?retry, "version expired");
            }
            _ => tracing::warn!(reflector = name, resource, ?activity, %cause, ?retry, "reflector failed"),
        }
    }
}

/// The activity of a reflector when an error occurred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Activity {
    /// Listing.
    List,
    /// Reading a streaming list.
    Stream,
    /// Watching.
    Watch,
    /// Delivering to the sink.
    Deliver,
    /// Comparing a streaming list with a LIST.
    Check,
}

impl Activity {
    pub(super) fn of(mode: WatchMode) -> Self {
        match mode {
            WatchMode::InitialList => Self::Stream,
            WatchMode::Changes => Self::Watch,
        }
    }
}

/// An error that a reflector reports.
#[derive(Debug)]
#[non_exhaustive]
pub enum Cause<'r> {
    /// The request or the connection failed.
    Source(&'r Error),
    /// An object cannot be decoded, and is skipped.
    Object(&'r ObjectError),
    /// An object has an unexpected kind, and is skipped.
    Kind(&'r KindError),
    /// An object has no key, is in another namespace, or its transform or decoder failed, and is skipped.
    Rejected(&'r (dyn std::error::Error + 'static)),
    /// The sink returned an error.
    Sink(&'r BoxError),
    /// A watch ended within a second without an event.
    VeryShortWatch,
    /// A watch received no data for the [idle timeout](super::Config::idle_timeout).
    DeadWatch,
    /// A streaming list ended or timed out before it was complete.
    BrokenStream,
    /// A streaming list differs from a LIST at its version.
    Inconsistent(&'r Differences),
}

impl Cause<'_> {
    /// Returns the `kind` label of the [metrics](super::metrics): [`Error::label`], or `object`, `kind`, `rejected`, `sink`,
    /// `very_short_watch`, `dead_watch`, `broken_stream`, `inconsistent`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Source(error) => error.label(),
            Self::Object(_) => "object",
            Self::Kind(_) => "kind",
            Self::Rejected(_) => "rejected",
            Self::Sink(_) => "sink",
            Self::VeryShortWatch => "very_short_watch",
            Self::DeadWatch => "dead_watch",
            Self::BrokenStream => "broken_stream",
            Self::Inconsistent(_) => "inconsistent",
        }
    }
}

/// The maximum length of an error text, in characters: servers can send messages of any length, and this is logged.
const MAX_CAUSE_LENGTH: usize = 4096;

/// Writes the error and its sources, truncated to 4096 characters.
impl fmt::Display for Cause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error: &dyn std::error::Error = match self {
            Self::Source(error) => error,
            Self::Object(error) => error,
            Self::Kind(error) => error,
            Self::Rejected(error) => *error,
            Self::Sink(error) => &***error,
            Self::VeryShortWatch => {
                return f.write_str("watch lasted less than a second and no events were received");
            }
            Self::DeadWatch => return f.write_str("watch received no data for the idle timeout"),
            Self::BrokenStream => return f.write_str("streaming list ended before it was complete"),
            Self::Inconsistent(differences) => return differences.fmt(f),
        };
        let text = error_chain(error);
        match text.char_indices().nth(MAX_CAUSE_LENGTH) {
            None => f.write_str(&text),
            Some((end, _)) => write!(f, "{}…", &text[..end]),
        }
    }
}

/// The differences between a streaming list and a LIST at the same version.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Differences {
    /// The version of both.
    pub version: ResourceVersion,
    /// Objects that were listed and not streamed.
    pub missing: Vec<Key>,
    /// Objects that were streamed and not listed.
    pub extra: Vec<Key>,
    /// Objects with another version, or another UID.
    pub changed: Vec<Key>,
}

impl fmt::Display for Differences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { version, missing, extra, changed } = self;
        write!(f, "streaming list differs from a list at version {version}")?;
        for (what, keys) in [("missing", missing), ("extra", extra), ("changed", changed)] {
            if let Some(first) = keys.first() {
                write!(f, ", {what} {} such as {first}", keys.len())?;
            }
        }
        Ok(())
    }
}

/// The next step of a reflector after an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Retry {
    /// It continues with the next event or item.
    Continue,
    /// It retries immediately, such as with a LIST instead of a streaming list, or without a version.
    Immediate,
    /// It waits, then requests the refused page of the list again.
    Page(Duration),
    /// It waits, then opens the watch again from the last version.
    Rewatch(Duration),
    /// It waits, then relists, or probes again whether a watch can continue from the restored version.
    Relist(Duration),
}

impl Retry {
    pub(super) fn after(wait: Option<Wait>) -> Self {
        match wait {
            None => Self::Immediate,
            Some(Wait { delay, then: AfterWait::Page }) => Self::Page(delay),
            Some(Wait { delay, then: AfterWait::Watch }) => Self::Rewatch(delay),
            Some(Wait { delay, then: AfterWait::Relist | AfterWait::Stream | AfterWait::Probe }) => {
                Self::Relist(delay)
            }
        }
    }
}

/// The status of a reflector.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReflectorStatus {
    /// The phase of the reflector.
    pub phase: ReflectorPhase,
    /// The version of the sink.
    pub version: Option<ResourceVersion>,
    /// The last error; `None` once a watch is open again.
    pub last_error: Option<String>,
    /// The number of lists, watches, events and errors so far.
    pub counts: Counts,
    /// The progress of the last full list. Receivers of the status are not notified of progress.
    pub progress: Progress,
    /// The encoding of the last response, if the source reports it.
    pub content_type: Option<ContentType>,
    /// The time of the last data that was read: the last byte if the source reports it, or else the last response or event.
    pub last_data_at: Option<Instant>,
}

impl ReflectorStatus {
    /// Returns the time since the last data; `None` before the first. While a watch is open it stays below
    /// [`Config::idle_timeout`](super::Config::idle_timeout).
    #[must_use]
    pub fn since_last_data(&self) -> Option<Duration> {
        self.last_data_at.map(|at| at.elapsed())
    }
}

/// The phase of a reflector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReflectorPhase {
    /// It has not been started.
    #[default]
    Idle,
    /// It is requesting a full list.
    Listing,
    /// It is watching.
    Watching,
    /// It is waiting after a failure.
    Waiting,
    /// It was stopped.
    Stopped,
}

/// The progress of a full list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The number of objects received. A streaming list may have sent some of them twice, or deleted them since.
    pub received: u64,
    /// The approximate number of objects in total. Servers report it (`remainingItemCount`) for lists in pages without a
    /// selector.
    pub expected: Option<u64>,
}

/// The counters of a reflector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Lists started, each with any number of pages.
    pub lists: u64,
    /// Streaming lists started.
    pub streams: u64,
    /// Watches started, without streaming lists.
    pub watches: u64,
    /// Full lists delivered to the sink.
    pub replaces: u64,
    /// Full lists delivered to the sink that were streaming lists.
    pub streamed: u64,
    /// Changes delivered to the sink.
    pub events: u64,
    /// Errors reported.
    pub errors: u64,
}

/// A handler of errors.
pub(super) type ErrorHandler = Arc<dyn Fn(&Report<'_>) + Send + Sync>;

/// Updates status and metrics, reports errors, and logs slow lists.
pub(super) struct Telemetry {
    pub(super) name: String,
    /// The name in metrics, if it is another one.
    pub(super) metrics_name: Option<String>,
    pub(super) resource: String,
    metrics: Metrics,
    pub(super) handler: ErrorHandler,
    pub(super) status: watch::Sender<ReflectorStatus>,
}

/// The state of a reflector before a step.
pub(super) struct Snapshot<'r> {
    /// The version of the sink.
    pub(super) version: Option<&'r ResourceVersion>,
    /// The number of changes delivered.
    pub(super) events: u64,
    pub(super) list: &'r ListStats,
    pub(super) content_type: Option<ContentType>,
    /// The time of the last data.
    pub(super) last_data_at: Option<Instant>,
}

impl Telemetry {
    pub(super) fn new(name: String, resource: String) -> Self {
        Self {
            name,
            metrics_name: None,
            resource,
            metrics: Metrics::noop(),
            handler: Arc::new(|report: &Report<'_>| report.log()),
            status: watch::Sender::default(),
        }
    }

    /// Reports an error.
    pub(super) fn failed(&self, activity: Activity, cause: Cause<'_>, retry: Retry) {
        self.status.send_modify(|status| {
            status.counts.errors += 1;
            status.last_error = Some(cause.to_string());
        });
        self.metrics.failed(cause.kind());
        if let Retry::Relist(_) = retry {
            self.metrics.relisting(cause.kind());
        }
        let Self { name, resource, .. } = self;
        (self.handler)(&Report { name, resource, activity, cause, retry });
    }

    /// Updates the status and metrics before a step.
    pub(super) fn step_started(&mut self, step: &Step, snapshot: &Snapshot<'_>) {
        let Snapshot { version, events, list, content_type, last_data_at } = *snapshot;
        self.resolve_metrics();
        self.status.send_if_modified(|status| {
            let phase = status.phase;
            let counts = status.counts;
            status.counts.events = events;
            status.content_type = content_type;
            if status.last_data_at < last_data_at {
                status.last_data_at = last_data_at;
                self.metrics.set_last_data();
            }
            match step {
                Step::List(options) => {
                    status.phase = ReflectorPhase::Listing;
                    status.progress = list.progress();
                    if options.continue_token.is_none() {
                        status.progress = Progress::default();
                        status.counts.lists += 1;
                        self.metrics.list_started(ListMethod::List);
                    }
                }
                Step::Stream { .. } => {
                    status.phase = ReflectorPhase::Listing;
                    status.progress = Progress::default();
                    status.counts.streams += 1;
                    self.metrics.list_started(ListMethod::Stream);
                }
                Step::Watch { .. } => {
                    status.phase = ReflectorPhase::Watching;
                    status.counts.watches += 1;
                    self.metrics.watch_started();
                }
                Step::Replace(_) => {
                    status.progress = list.progress();
                    status.counts.replaces += 1;
                    status.counts.streamed += u64::from(list.method == ListMethod::Stream);
                }
                Step::Wait(_) => status.phase = ReflectorPhase::Waiting,
                Step::Probe(_) | Step::Resumed => {}
                Step::Read { mode: WatchMode::Changes, .. } => {
                    status.phase = ReflectorPhase::Watching;
                    status.last_error = None;
                }
                Step::Read { mode: WatchMode::InitialList, .. } => status.progress = list.progress(),
            }
            let is_version_new = status.version.as_ref() != version;
            if is_version_new {
                self.metrics.set_version(version);
                status.version = version.cloned();
            }
            is_version_new || phase != status.phase || counts != status.counts
        });
    }

    /// Resolves the metric handles if a recorder was installed since, which then gets the current version.
    fn resolve_metrics(&mut self) {
        if self.metrics.resolve(self.metrics_name.as_ref().unwrap_or(&self.name)) {
            self.metrics.set_version(self.status.borrow().version.as_ref());
        }
    }

    /// Counts an event of a watch.
    pub(super) fn event_received<K>(&mut self, event: &WatchEvent<K>) {
        self.resolve_metrics();
        self.metrics.event_received(event);
    }

    /// Counts the bytes that the source has read since the last call, from its `total`.
    pub(super) fn bytes_read(&mut self, total: u64) {
        self.resolve_metrics();
        self.metrics.bytes_read(total);
    }

    /// Returns the histogram of how long watches were open.
    pub(super) fn watch_duration(&self) -> Histogram {
        self.metrics.watch_duration()
    }

    /// Updates the progress in the status without notifying its receivers.
    pub(super) fn list_progressed(&self, list: &ListStats) {
        self.status.send_if_modified(|status| {
            status.progress = list.progress();
            false
        });
    }

    /// Records a full list of `objects` objects that was delivered to the sink, and logs it if it was slow. `replace` is the
    /// duration in the sink.
    pub(super) fn list_delivered(&self, list: &ListStats, objects: usize, replace: Duration) {
        let total = list.started_at.elapsed();
        self.metrics.list_delivered(total, objects);
        if total >= SLOW_LIST {
            tracing::warn!(
                reflector = self.name,
                resource = self.resource,
                via = ?list.method,
                pages = list.pages,
                items = list.items,
                first_item = ?list.time_to_first_item(),
                ?replace,
                ?total,
                "slow list"
            );
        }
    }

    /// Logs that an incomplete streaming list sends no events.
    pub(super) fn stream_stalled(&self, list: &mut ListStats) {
        let idle = list.stall_logged(Instant::now());
        tracing::warn!(
            reflector = self.name,
            resource = self.resource,
            items = list.items,
            ?idle,
            "streaming list is stalled"
        );
    }

    /// Returns the span of a list request.
    pub(super) fn list_span(&self, options: &ListOptions) -> Span {
        tracing::info_span!(
            "list",
            reflector = self.name,
            resource = self.resource,
            version = options.resource_version.as_ref().map(tracing::field::display),
            limit = options.limit,
            is_continued = options.continue_token.is_some(),
        )
    }

    /// Returns the span of a watch or a streaming list.
    pub(super) fn watch_span(&self, options: &WatchOptions) -> Span {
        tracing::info_span!(
            "watch",
            reflector = self.name,
            resource = self.resource,
            version = options.resource_version.as_ref().map(tracing::field::display),
            timeout = ?options.timeout,
            is_stream = options.send_initial_events.is_some(),
        )
    }

    pub(super) fn stopped(&self) {
        self.status.send_modify(|status| status.phase = ReflectorPhase::Stopped);
    }
}

/// A full list that takes longer than this is logged, as is a streaming list that sends no events for this time.
const SLOW_LIST: Duration = Duration::from_secs(10);

/// Statistics of a full list.
#[derive(Debug)]
pub(super) struct ListStats {
    pub(super) method: ListMethod,
    started_at: Instant,
    pages: u32,
    pub(super) items: u64,
    first_item_at: Option<Instant>,
    expected: Option<u64>,
    last_event_at: Instant,
    stall_logged_at: Option<Instant>,
}

impl ListStats {
    pub(super) fn new(method: ListMethod, now: Instant) -> Self {
        Self {
            method,
            started_at: now,
            pages: 0,
            items: 0,
            first_item_at: None,
            expected: None,
            last_event_at: now,
            stall_logged_at: None,
        }
    }

    pub(super) fn page_requested(&mut self) {
        self.pages += 1;
    }

    /// Records a page, with the number of remaining items if the server reports it.
    pub(super) fn page_received(&mut self, remaining: Option<u64>) {
        self.expected = remaining.map(|remaining| self.items + remaining);
    }

    pub(super) fn item_received(&mut self) {
        self.items += 1;
        self.first_item_at.get_or_insert_with(Instant::now);
    }

    pub(super) fn event_received(&mut self, now: Instant) {
        self.last_event_at = now;
    }

    fn progress(&self) -> Progress {
        Progress { received: self.items, expected: self.expected.filter(|expected| *expected > self.items) }
    }

    fn time_to_first_item(&self) -> Option<Duration> {
        self.first_item_at.map(|first| first - self.started_at)
    }

    /// Returns when to log that the stream is stalled, if no event is received before.
    pub(super) fn stall_due(&self) -> Instant {
        self.stall_logged_at.map_or(self.last_event_at, |logged| logged.max(self.last_event_at)) + SLOW_LIST
    }

    /// Records that a stall was logged, and returns how long no event was received.
    fn stall_logged(&mut self, now: Instant) -> Duration {
        self.stall_logged_at = Some(now);
        now - self.last_event_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn remaining_items_are_expected_until_they_are_received() {
        let mut list = ListStats::new(ListMethod::List, Instant::now());
        let progress = |list: &ListStats| (list.progress().received, list.progress().expected);
        list.item_received();
        assert_eq!(progress(&list), (1, None));
        list.page_received(Some(2));
        assert_eq!(progress(&list), (1, Some(3)));
        list.item_received();
        assert_eq!(progress(&list), (2, Some(3)));
        list.page_received(None);
        assert_eq!(progress(&list), (2, None));
    }

    // R53
    #[tokio::test(start_paused = true)]
    async fn a_stall_is_due_ten_seconds_after_the_last_event_or_log() {
        let started_at = Instant::now();
        let at = |seconds| started_at + Duration::from_secs(seconds);
        let mut list = ListStats::new(ListMethod::Stream, started_at);
        assert_eq!(list.stall_due(), at(10));
        assert_eq!(list.stall_logged(at(10)), Duration::from_secs(10));
        assert_eq!(list.stall_due(), at(20));
        assert_eq!(list.stall_logged(at(20)), Duration::from_secs(20));
        list.event_received(at(25));
        assert_eq!(list.stall_due(), at(35));
        assert_eq!(list.stall_logged(at(35)), Duration::from_secs(10));
    }
}
