//! Decides what a reflector does next.

use super::{
    backoff::Waits,
    config::{Config, Strategy},
    dice::Dice,
    failure::Failure,
    open::Open,
    patience::Patience,
    step::{Page, Reading, Seen, Step, Then},
};
use crate::source::{Next, PAGE_SIZE, Paging};
use kube_informer_wire::{ListOptions, ResourceVersion, WatchOptions};
use std::{num::NonZeroU64, time::Duration};
use tokio::time::Instant;

/// Where a reflector stands. It is told what happened, and says what to do.
///
/// ```text
///           +--------------------------------------------------------------+
///           v                                                              |
/// Round -> Streaming -> Replacing -> Watching -> .. -> Watching -> Waiting -+
///   ^          |            ^          ^ | closed, throttled   ^
///   |          v            |          | +---------------------+
///   +-----> Listing --------+          |
///   |                                  |
///   +- Probing ------------------------+
/// ```
///
/// Where a state was restored, it begins by asking for the server's version. A server that is behind the restored version is not
/// the one that it came from, or not any more: a watch from there would say nothing for a long time, and miss what happens.
///
/// A round begins with the initial state, as a stream or as a list, and ends when the watch cannot go on from where it
/// stands. Every failure on the way leads to a wait, a retry, or the end of the round.
#[derive(Debug)]
pub(crate) struct Cursor {
    pub(super) config: Config,
    waits: Waits,
    patience: Patience,
    dice: Dice,
    pub(super) phase: Phase,
    /// All up to this version has reached the sink.
    pub(super) last: Option<ResourceVersion>,
    /// Whether the server no longer, or not yet, knows that version.
    pub(super) is_last_unavailable: bool,
    /// Whether a list at any version came in pages, so that the server has no cache to read it from.
    is_list_paged: bool,
    /// How many streams of this round ended before they were complete.
    pub(super) broken_streams: u32,
    /// How many times in a row nobody answered who was to open a watch.
    unanswered: u32,
    /// Set while it is not certain that what was restored has been caught up with.
    pub(super) resuming: Option<Resuming>,
}

/// How far a watch from a restored version has come.
#[derive(Debug, Default)]
pub(super) struct Resuming {
    /// The server's version when it was asked.
    pub(super) target: Option<ResourceVersion>,
    /// Whether the watch has nothing more to tell for now.
    pub(super) is_settled: bool,
}

#[derive(Debug)]
pub(super) enum Phase {
    Probing,
    Round,
    Listing { paging: Paging, page: Page, version: Option<ResourceVersion>, is_any: bool },
    Streaming,
    Collecting(Open),
    Replacing { version: Option<ResourceVersion>, open: Option<Open> },
    Watching,
    Delivering(Open),
    Waiting { delay: Duration, then: Then },
}

/// How long after its end a watch that says nothing is given up for dead.
const GRACE: Duration = Duration::from_secs(30);

/// How long a server may take to open a watch, and how long a stream may be silent before its initial state is complete.
const SILENCE: Duration = Duration::from_secs(60);

/// A watch that is closed sooner than this without an event failed.
const VERY_SHORT: Duration = Duration::from_secs(1);

/// So many times in a row a watch that nobody opens is asked for again, before the whole state is: lists may be answered where watches
/// are not, and then are all there is.
const WATCH_TRIES: u32 = 3;

/// A server sends what it has at once: a resumed watch that is silent for so long has told all there was.
const SETTLED: Duration = Duration::from_secs(1);

const MIN_WATCH_TIMEOUT: Duration = Duration::from_secs(300);

impl Cursor {
    pub(crate) fn new(config: Config, dice: Dice) -> Self {
        Self {
            waits: Waits::new(config.backoff),
            patience: Patience::new(config.internal_error_patience),
            dice,
            phase: Phase::Round,
            last: None,
            is_last_unavailable: false,
            is_list_paged: false,
            broken_streams: 0,
            unanswered: 0,
            resuming: None,
            config,
        }
    }

    /// The version up to which everything has reached the sink.
    pub(crate) fn version(&self) -> Option<&ResourceVersion> {
        self.last.as_ref()
    }

    /// What the cursor waits for, if it waits: for how long, and what for.
    pub(crate) fn waiting(&self) -> Option<(Duration, Then)> {
        match self.phase {
            Phase::Waiting { delay, then } => Some((delay, then)),
            _ => None,
        }
    }

    /// What to do now.
    pub(crate) fn next(&mut self, now: Instant) -> Step {
        if matches!(self.phase, Phase::Round) {
            (self.broken_streams, self.resuming) = (0, None);
            match self.config.strategy {
                Strategy::Stream | Strategy::StreamOnly => self.phase = Phase::Streaming,
                Strategy::List => self.begin_list(),
            }
        }
        match &self.phase {
            Phase::Round => unreachable!("a round has just begun"),
            Phase::Probing => {
                Step::Probe(ListOptions { limit: NonZeroU64::new(1), ..ListOptions::default() })
            }
            Phase::Listing { paging, page, .. } => Step::List(paging.request(), *page),
            Phase::Streaming => {
                let from = self.last.clone().filter(|_| !self.is_last_unavailable);
                let mut options = WatchOptions::streaming_list(from);
                let timeout = self.watch_timeout();
                options.timeout = Some(timeout);
                self.phase = Phase::Collecting(Open::new(now, timeout));
                Step::Stream(options, now + SILENCE)
            }
            Phase::Watching => {
                let timeout = self.watch_timeout();
                let options = WatchOptions {
                    resource_version: self.last.clone(),
                    allow_watch_bookmarks: true,
                    timeout: Some(timeout),
                    ..WatchOptions::default()
                };
                let is_synthetic = self.last.as_ref().is_none_or(ResourceVersion::is_any);
                self.phase = Phase::Delivering(Open { is_synthetic, ..Open::new(now, timeout) });
                Step::Watch(options, now + SILENCE)
            }
            Phase::Collecting(open) => Step::Read(Reading::Collect, open.alive + SILENCE),
            Phase::Delivering(_) if self.has_resumed() => Step::Resumed,
            Phase::Delivering(open) => {
                let until = if self.resuming.is_some() { open.alive + SETTLED } else { open.ends + GRACE };
                Step::Read(Reading::Deliver, until)
            }
            Phase::Replacing { version, .. } => Step::Replace(version.clone()),
            Phase::Waiting { delay, .. } => Step::Wait(*delay),
        }
    }

    /// The server has opened the watch.
    pub(crate) fn watch_opened(&mut self, now: Instant) {
        if let Phase::Collecting(open) | Phase::Delivering(open) = &mut self.phase {
            (open.is_accepted, open.alive) = (true, now);
            self.unanswered = 0;
        }
    }

    /// A page came, of a list at this version, with this token for the next.
    pub(crate) fn page_received(&mut self, list_version: Option<ResourceVersion>, token: Option<String>) {
        let Phase::Listing { paging, page, version, is_any } = &mut self.phase else { return };
        *version = version.take().or(list_version);
        match paging.page_received(token) {
            Next::Page => *page = Page::Further,
            Next::Done => {
                self.is_list_paged |= *is_any && paging.is_paged();
                self.phase = Phase::Replacing { version: version.take(), open: None };
            }
        }
    }

    /// A page could not be listed.
    pub(crate) fn list_failed(&mut self, failure: Failure, now: Instant) {
        let Phase::Listing { paging, page, version, .. } = &mut self.phase else { return };
        let is_expired = failure == Failure::Expired;
        if is_expired && paging.page_expired() {
            (*page, *version) = (Page::First, None);
        } else if (is_expired || failure == Failure::TooLarge) && !self.is_last_unavailable {
            self.is_last_unavailable = true;
            self.begin_list();
        } else {
            self.wait(failure, Then::Round, now);
        }
    }

    /// A watch could not be opened.
    pub(crate) fn open_failed(&mut self, failure: Failure, now: Instant) {
        match (&self.phase, failure) {
            (Phase::Collecting(_), _) => self.stream_failed(failure, now),
            (_, Failure::Expired | Failure::TooLarge) if self.resuming.is_some() => self.not_resumed(failure),
            (_, Failure::Throttled(_) | Failure::Refused) => {
                self.unanswered = 0;
                self.wait(failure, Then::Watch, now);
            }
            (_, Failure::Away(_)) if self.unanswered < WATCH_TRIES => {
                self.unanswered += 1;
                self.wait(failure, Then::Watch, now);
            }
            (
                _,
                Failure::Expired
                | Failure::TooLarge
                | Failure::Away(_)
                | Failure::Internal
                | Failure::Other(_),
            ) => {
                self.unanswered = 0;
                self.wait(failure, Then::Round, now);
            }
        }
    }

    /// The open watch said that it failed.
    pub(crate) fn watch_failed(&mut self, failure: Failure, now: Instant) {
        match (&self.phase, failure) {
            (Phase::Collecting(_), _) => self.stream_failed(failure, now),
            (_, Failure::Expired | Failure::TooLarge) if self.resuming.is_some() => self.not_resumed(failure),
            (_, Failure::Throttled(_)) => self.wait(failure, Then::Watch, now),
            (_, Failure::Internal) if self.patience.bears(now) => self.phase = Phase::Watching,
            // The version is not marked unavailable: a list that asks for it or newer may well be answered.
            (
                _,
                Failure::Expired
                | Failure::TooLarge
                | Failure::Refused
                | Failure::Away(_)
                | Failure::Internal
                | Failure::Other(_),
            ) => {
                self.wait(failure, Then::Round, now);
            }
        }
    }

    /// The open watch has ended, or its connection has.
    pub(crate) fn watch_closed(&mut self, now: Instant) {
        match &self.phase {
            Phase::Collecting(_) => self.stream_broken(now),
            Phase::Delivering(open) if open.events == 0 && now - open.asked < VERY_SHORT => {
                self.wait(Failure::Other(None), Then::Round, now);
            }
            _ => self.phase = Phase::Watching,
        }
    }

    /// Nothing came for as long as was to be waited.
    pub(crate) fn watch_silent(&mut self, now: Instant) {
        match &self.phase {
            Phase::Collecting(_) => self.stream_broken(now),
            _ => self.phase = Phase::Watching,
        }
    }

    /// An event was seen, and handed on or collected.
    pub(crate) fn event_seen(&mut self, seen: Seen, version: Option<ResourceVersion>, now: Instant) {
        match &mut self.phase {
            Phase::Collecting(open) => open.event_came(now),
            Phase::Delivering(open) => {
                open.event_came(now);
                open.is_synthetic &= seen == Seen::Added;
                if !open.is_synthetic {
                    self.last = version.or(self.last.take());
                }
            }
            _ => {}
        }
    }

    /// An event was seen and left out, because it is not of the kind expected. The version stays.
    pub(crate) fn event_skipped(&mut self, now: Instant) {
        if let Phase::Collecting(open) | Phase::Delivering(open) = &mut self.phase {
            open.alive = now;
        }
    }

    /// A bookmark was seen that says that the initial state is complete.
    pub(crate) fn initial_state_complete(&mut self, version: ResourceVersion, now: Instant) {
        match &mut self.phase {
            Phase::Collecting(open) => {
                open.event_came(now);
                open.is_synthetic = false;
                self.phase = Phase::Replacing { version: Some(version), open: Some(open.clone()) };
            }
            _ => self.event_seen(Seen::Happened, Some(version), now),
        }
    }

    /// What was collected has been handed on.
    pub(crate) fn replaced(&mut self) {
        let Phase::Replacing { version, open } = &mut self.phase else { return };
        self.last = version.take();
        self.is_last_unavailable = false;
        self.phase = open.take().map_or(Phase::Watching, Phase::Delivering);
    }

    /// The sink did not take something, so that the cache is behind: the initial state again.
    pub(crate) fn sink_failed(&mut self, now: Instant) {
        self.wait(Failure::Other(None), Then::Round, now);
    }

    /// Whatever was under way has been dropped.
    pub(crate) fn interrupted(&mut self) {
        self.phase = match std::mem::replace(&mut self.phase, Phase::Round) {
            Phase::Delivering(_) => Phase::Watching,
            phase @ (Phase::Probing | Phase::Watching | Phase::Waiting { .. }) => phase,
            Phase::Round
            | Phase::Listing { .. }
            | Phase::Streaming
            | Phase::Collecting(_)
            | Phase::Replacing { .. } => Phase::Round,
        };
    }

    /// The wait is over.
    pub(crate) fn waited(&mut self) {
        if let Phase::Waiting { then, .. } = self.phase {
            self.phase = match then {
                Then::Round => Phase::Round,
                Then::Stream => Phase::Streaming,
                Then::Watch => Phase::Watching,
                Then::Probe => Phase::Probing,
            };
        }
    }

    pub(super) fn begin_list(&mut self) {
        let version = match &self.last {
            _ if self.is_last_unavailable => None,
            None => Some(ResourceVersion::ANY),
            Some(last) => Some(last.clone()),
        };
        let is_any = version.as_ref().is_some_and(ResourceVersion::is_any);
        let limit = self.page_size(version.as_ref());
        let options = ListOptions { resource_version: version, ..ListOptions::default() };
        let paging = Paging::new(options, limit);
        self.phase = Phase::Listing { paging, page: Page::First, version: None, is_any };
    }

    /// A list at a given version is asked for in one answer, which the server can read from its cache; unless it turned
    /// out that it has none.
    fn page_size(&self, version: Option<&ResourceVersion>) -> Option<NonZeroU64> {
        match (self.config.page_size, version) {
            (Some(size), _) => Some(size),
            (None, Some(version)) if !version.is_any() && !self.is_list_paged => None,
            (None, _) => Some(PAGE_SIZE),
        }
    }

    pub(super) fn wait(&mut self, failure: Failure, then: Then, now: Instant) {
        let delay = self.waits.next(now, &mut self.dice).max(failure.least_wait());
        self.phase = Phase::Waiting { delay, then };
    }

    fn watch_timeout(&mut self) -> Duration {
        let least = self.config.min_watch_timeout.max(MIN_WATCH_TIMEOUT);
        Duration::from_secs((least + least.mul_f64(self.dice.roll())).as_secs())
    }
}
