//! The state machine of a reflector, without I/O.

mod failure;
mod request_limiter;
mod list;
mod watch;
mod resume;
mod stream;

pub(super) use failure::Failure;
pub(super) use list::{MAX_PAGES_WITHOUT_PROGRESS, ReceivedPage};
pub(super) use watch::VersionPreview;

use super::{
    backoff::{BackoffState, Jitter, RetryWindow},
    config::{Config, Strategy},
};
use kube_informer_wire::{ListOptions, ResourceVersion, WatchOptions};
use list::ListState;
use request_limiter::{RequestKind, RequestLimiter};
use resume::ResumeState;
use std::time::Duration;
use tokio::time::Instant;
use watch::OpenWatch;

/// The next step of a reflector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Get the server's current version with a list of one object, and discard the object.
    Probe(ListOptions),
    /// List a page and collect its items. Without a continue token it is the first page: discard the items collected before.
    List(ListOptions),
    /// Discard the items collected before and open a streaming list.
    Stream { options: WatchOptions, deadline: Instant },
    /// Open a watch.
    Watch { options: WatchOptions, deadline: Instant },
    /// Read the next event of the open watch.
    Read { mode: WatchMode, deadline: Instant },
    /// Replace the content of the sink with the collected items, at this version.
    Replace(Option<ResourceVersion>),
    /// Notify the sink that the watch has caught up with the restored state.
    Resumed,
    /// Wait.
    Wait(Duration),
}

/// The way a full list is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListMethod {
    List,
    Stream,
}

/// The meaning of the events of an open watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WatchMode {
    /// The items of a streaming list, to be collected.
    InitialList,
    /// Changes, to be delivered.
    Changes,
}

/// A wait after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wait {
    pub(super) delay: Duration,
    pub(super) then: AfterWait,
}

/// The step after a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AfterWait {
    /// A full list.
    Relist,
    /// The page of a list that was refused.
    Page,
    /// Another streaming list.
    Stream,
    /// A watch from the last recorded version.
    Watch,
    /// Another probe for the server's version.
    Probe,
}

/// The state machine of a reflector: its transitions are methods, and [`next`](Self::next) returns the next step.
///
/// ```text
///            +----------------------------------------------------------------+
///            v                                                                |
/// Relist -> Streaming -> Replacing -> Watching -> .. -> Watching -> Waiting --+
///   ^          |            ^          ^ | closed, throttled   ^
///   |          v            |          | +---------------------+
///   +-----> Listing --------+          |
///   |                                  |
///   +- Probing ------------------------+
/// ```
///
/// A cycle starts with a full list, as a stream or in pages, and ends when the watch cannot continue from its version.
/// Every failure leads to a wait, a retry, or the end of the cycle.
///
/// After a restore it starts by probing for the server's version. A server with an older version is
/// another server, or was itself restored from a backup: a watch from the restored version would miss changes.
#[derive(Debug)]
pub(super) struct Cursor {
    config: Config,
    backoff: BackoffState,
    internal_errors: RetryWindow,
    jitter: Jitter,
    limiter: RequestLimiter,
    phase: Phase,
    /// The version of the sink.
    version: Option<ResourceVersion>,
    /// True if the server no longer has that version, or does not have it yet.
    is_version_unavailable: bool,
    /// True if a list at any version was paged, which shows that the server has no cache.
    is_list_paged: bool,
    /// True if the pages of the last list did not end.
    is_list_endless: bool,
    /// Streaming lists of this cycle that ended before they were complete.
    interrupted_streams: u32,
    /// True after a streaming list was not completed in time, which shows that the source does not support them.
    is_streaming_abandoned: bool,
    /// True while the source sends bookmarks, so that a watch without data is dead.
    sends_bookmarks: bool,
    /// True if the next watch without a bookmark is a reason to compare the version with the server's: the source has sent
    /// bookmarks, and the version was not compared since.
    is_silence_suspicious: bool,
    /// Consecutive attempts to open a watch without a response of the server.
    unanswered_watches: u32,
    /// Set until the watch has caught up with the restored state.
    resume: Option<ResumeState>,
}

#[derive(Debug)]
enum Phase {
    Probing,
    Relist,
    Listing(ListState),
    Streaming,
    Collecting(OpenWatch),
    Replacing {
        version: Option<ResourceVersion>,
        watch: Option<OpenWatch>,
    },
    Watching,
    Delivering(OpenWatch),
    /// `list` is the list that continues after the wait.
    Waiting {
        wait: Wait,
        list: Option<ListState>,
    },
}

impl Cursor {
    pub(super) fn new(config: Config, jitter: Jitter) -> Self {
        Self {
            backoff: BackoffState::new(config.backoff),
            internal_errors: RetryWindow::new(config.internal_error_retry_window),
            jitter,
            limiter: RequestLimiter::default(),
            phase: Phase::Relist,
            version: None,
            is_version_unavailable: false,
            is_list_paged: false,
            is_list_endless: false,
            interrupted_streams: 0,
            is_streaming_abandoned: false,
            sends_bookmarks: false,
            is_silence_suspicious: false,
            unanswered_watches: 0,
            resume: None,
            config,
        }
    }

    /// Returns the version of the sink.
    pub(super) fn version(&self) -> Option<&ResourceVersion> {
        self.version.as_ref()
    }

    /// Returns whether the server no longer has [`version`](Self::version), or does not have it yet.
    pub(super) fn is_version_unavailable(&self) -> bool {
        self.is_version_unavailable
    }

    /// Returns the current wait, if the cursor is waiting.
    pub(super) fn waiting(&self) -> Option<Wait> {
        match self.phase {
            Phase::Waiting { wait, .. } => Some(wait),
            _ => None,
        }
    }

    /// Returns the next step.
    pub(super) fn next(&mut self, now: Instant) -> Step {
        if matches!(self.phase, Phase::Relist) {
            self.interrupted_streams = 0;
            self.resume = None;
            match self.config.strategy {
                Strategy::Stream if self.is_streaming_abandoned => self.start_list(),
                Strategy::Stream | Strategy::StreamOnly => self.phase = Phase::Streaming,
                Strategy::List => self.start_list(),
            }
        }
        if let Some(delay) = self.limit_requests(now) {
            return Step::Wait(delay);
        }
        match &self.phase {
            Phase::Relist => unreachable!("a list or a stream was started above"),
            Phase::Probing => Self::probe(),
            Phase::Listing(list) => Step::List(list.request()),
            Phase::Streaming => self.open_stream(now),
            Phase::Watching => self.open_watch(now),
            Phase::Collecting(watch) => {
                Step::Read { mode: WatchMode::InitialList, deadline: watch.stream_deadline() }
            }
            Phase::Delivering(_) if self.has_caught_up() => Step::Resumed,
            Phase::Delivering(watch) => {
                Step::Read { mode: WatchMode::Changes, deadline: watch.deadline(self.idle_timeout()) }
            }
            Phase::Replacing { version, .. } => Step::Replace(version.clone()),
            Phase::Waiting { wait, .. } => Step::Wait(wait.delay),
        }
    }

    /// Records the next request, if the next step is one. Returns the delay instead, if there were too many like it.
    fn limit_requests(&mut self, now: Instant) -> Option<Duration> {
        let kind = match &self.phase {
            Phase::Probing => RequestKind::Probe,
            Phase::Listing(list) if list.is_limited() => list.request_kind(),
            Phase::Listing(list) => {
                self.limiter.sent(list.request_kind(), now);
                return None;
            }
            Phase::Streaming => RequestKind::Stream,
            Phase::Watching => RequestKind::Watch,
            Phase::Relist
            | Phase::Collecting(_)
            | Phase::Replacing { .. }
            | Phase::Delivering(_)
            | Phase::Waiting { .. } => return None,
        };
        self.limiter.delay(kind, now)
    }

    /// Records that the full list was delivered to the sink.
    pub(super) fn replaced(&mut self, now: Instant) {
        let Phase::Replacing { version, watch } = &mut self.phase else { return };
        self.version = version.take();
        self.is_version_unavailable = false;
        self.phase = watch.take().map_or(Phase::Watching, Phase::Delivering);
        self.data_received(now);
    }

    /// Returns when the open watch last received data.
    pub(super) fn last_data_at(&self) -> Option<Instant> {
        match &self.phase {
            Phase::Collecting(watch) | Phase::Delivering(watch) => watch.last_data_at(),
            _ => None,
        }
    }

    /// Records that data was received at `at`, or that the watch was not read until then because the sink was busy.
    pub(super) fn data_received(&mut self, at: Instant) {
        if let Phase::Collecting(watch) | Phase::Delivering(watch) = &mut self.phase {
            watch.data_received(at);
        }
    }

    /// Relists after an error of the sink, since it may have missed changes.
    pub(super) fn sink_failed(&mut self, now: Instant) {
        self.wait(Failure::Other(None), AfterWait::Relist, now);
    }

    /// Records that the current step was canceled and its watch dropped.
    pub(super) fn interrupted(&mut self) {
        self.phase = match std::mem::replace(&mut self.phase, Phase::Relist) {
            Phase::Delivering(_) => Phase::Watching,
            Phase::Waiting { wait: Wait { then: AfterWait::Page, .. }, .. } => Phase::Relist,
            phase @ (Phase::Probing | Phase::Watching | Phase::Waiting { .. }) => phase,
            Phase::Relist
            | Phase::Listing(_)
            | Phase::Streaming
            | Phase::Collecting(_)
            | Phase::Replacing { .. } => Phase::Relist,
        };
    }

    /// Ends the wait.
    pub(super) fn waited(&mut self) {
        if let Phase::Waiting { wait, list } = &mut self.phase {
            self.phase = match wait.then {
                AfterWait::Page => list.take().map_or(Phase::Relist, Phase::Listing),
                AfterWait::Relist => Phase::Relist,
                AfterWait::Stream => Phase::Streaming,
                AfterWait::Watch => Phase::Watching,
                AfterWait::Probe => Phase::Probing,
            };
        }
    }

    fn wait(&mut self, failure: Failure, then: AfterWait, now: Instant) {
        let delay = self.backoff.next(now, &mut self.jitter).max(failure.min_delay());
        self.phase = Phase::Waiting { wait: Wait { delay, then }, list: None };
    }
}
