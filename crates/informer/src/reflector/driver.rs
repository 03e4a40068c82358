//! The loop that does what the cursor says.

use super::{
    arrival::gather,
    backoff::Jitter,
    collection::Collection,
    config::{Config, Consistency, Strategy},
    consistency::{self, Fingerprint},
    cursor::{AfterWait, Cursor, Failure, ListMethod, Step, Wait, WatchMode},
    intake::{Intake, Taken},
    live::Live,
    resync::Resync,
    sink::{Collector, LeftOut, Presence, Sink},
    telemetry::{Activity, Cause, ListStats, ReflectorStatus, Report, Retry, Snapshot, Telemetry},
};
use crate::source::{BoxError, Error, Item, ItemError, ListerWatcher};
use kube_core::Resource;
use kube_informer_wire::{ListOptions, ResourceVersion, WatchOptions};
use std::{fmt, panic::Location, sync::Arc};
use tokio::{
    sync::watch,
    time::{Instant, sleep, sleep_until, timeout_at},
};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span};

/// Keeps a sink up to date with a source: lists what there is, watches what happens, and comes back from every failure.
///
/// It never misses a change without beginning again with the whole state, and never goes back in time.
pub struct Reflector<K, L, S> {
    pub(super) telemetry: Telemetry,
    pub(super) source: L,
    pub(super) sink: S,
    pub(super) cursor: Cursor,
    watch: Option<Live<K>>,
    pub(super) collector: Collector<K>,
    pub(super) intake: Intake<K>,
    pub(super) collection: Collection<K>,
    pub(super) list_stats: ListStats,
    pub(super) resync: Resync,
    consistency: Consistency,
    /// How many changes were handed on.
    pub(super) events: u64,
}

/// Why [`Reflector::list_and_watch`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListAndWatchEnd {
    /// It was canceled.
    Cancelled,
    /// An error was reported; the next call starts with a full list.
    Failed,
}

impl<K, L, S> Reflector<K, L, S>
where
    K: Resource + Send + Sync + 'static,
    L: ListerWatcher<K>,
    S: Sink<K>,
{
    /// Reflects `source` into `sink`, in the usual way.
    #[track_caller]
    pub fn new(source: L, sink: S) -> Self {
        Self::with_config(source, sink, Config::default())
    }

    /// Reflects `source` into `sink`. Its name is where this was called.
    #[track_caller]
    pub fn with_config(source: L, sink: S, mut config: Config) -> Self {
        if !source.can_stream_lists() {
            config.strategy = Strategy::List;
        }
        let caller = Location::caller();
        Self {
            telemetry: Telemetry::new(format!("{}:{}", caller.file(), caller.line()), source.describe()),
            source,
            collector: sink.collector(),
            intake: Intake::new(),
            sink,
            consistency: config.consistency,
            resync: Resync::every(config.resync),
            cursor: Cursor::new(config, Jitter::from_entropy()),
            watch: None,
            collection: Collection::default(),
            list_stats: ListStats::new(ListMethod::List, Instant::now()),
            events: 0,
        }
    }

    /// Names the reflector, for logs and reports.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.telemetry.name = name.into();
        self
    }

    /// Hears of every failure that costs a wait or an object. The default is to log it. A watch that merely breaks is opened again
    /// without a word.
    #[must_use]
    pub fn on_error(mut self, report: impl Fn(&Report<'_>) + Send + Sync + 'static) -> Self {
        self.telemetry.handler = Arc::new(report);
        self
    }

    /// Asks before each resync whether it is wanted.
    #[must_use]
    pub fn should_resync(mut self, is_wanted: impl Fn() -> bool + Send + 'static) -> Self {
        self.resync.set_predicate(is_wanted);
        self
    }

    /// Where the reflector stands, now and as it changes.
    #[must_use]
    pub fn status(&self) -> watch::Receiver<ReflectorStatus> {
        self.telemetry.status.subscribe()
    }

    /// Reflects until cancelled. Nothing is asked of the source if that is so from the start.
    pub async fn run(mut self, cancel: CancellationToken) {
        while cancel.run_until_cancelled(self.step()).await.is_some() {}
        self.telemetry.stopped();
    }

    /// Reflects for one round: asks for the whole state, and watches for as long as that can go on.
    ///
    /// For those who wait between rounds in their own way; [`run`](Self::run) is for everyone else. What ended the round has
    /// been reported.
    pub async fn list_and_watch(&mut self, cancel: &CancellationToken) -> ListAndWatchEnd {
        self.cursor.waited();
        loop {
            if cancel.run_until_cancelled(self.step()).await.is_none() {
                // What was taken and not handed on comes again.
                self.watch = None;
                self.cursor.interrupted();
                return ListAndWatchEnd::Cancelled;
            }
            if matches!(self.cursor.waiting(), Some(Wait { then: AfterWait::Relist | AfterWait::Probe, .. }))
            {
                self.watch = None;
                return ListAndWatchEnd::Failed;
            }
        }
    }

    /// Up to which version everything has reached the sink; nothing before the first state.
    #[must_use]
    pub fn last_sync_version(&self) -> Option<&ResourceVersion> {
        self.cursor.version()
    }

    /// Does what the cursor says.
    async fn step(&mut self) {
        // A source that always has something must not keep the task from whoever else is in it.
        tokio::task::coop::consume_budget().await;
        let step = self.cursor.next(Instant::now());
        let snapshot = Snapshot {
            version: self.cursor.version(),
            events: self.events,
            list: &self.list_stats,
            encoded: self.source.encoded(),
        };
        self.telemetry.step_started(&step, &snapshot);
        match step {
            Step::Probe(options) => self.probe(&options).await,
            Step::Resumed => self.resumed().await,
            Step::List(options) => self.list(&options).await,
            Step::Stream { options, deadline } => {
                self.begin(ListMethod::Stream);
                self.open(WatchMode::InitialList, &options, deadline).await;
            }
            Step::Watch { options, deadline } => self.open(WatchMode::Changes, &options, deadline).await,
            Step::Read { mode, deadline } => {
                let span = self.watch.as_ref().map_or_else(Span::none, |live| live.span.clone());
                self.read(mode, deadline).instrument(span).await;
            }
            Step::Replace(version) => self.replace(version).await,
            Step::Wait(delay) => {
                self.watch = None;
                sleep(delay).await;
                self.cursor.waited();
            }
        }
    }

    async fn list(&mut self, options: &ListOptions) {
        if options.continue_token.is_none() {
            self.begin(ListMethod::List);
        }
        self.watch = None;
        self.list_stats.page_requested();
        let mut left_out = Vec::new();
        let (collection, intake, list_stats) = (&mut self.collection, &mut self.intake, &mut self.list_stats);
        let (collector, telemetry) = (&self.collector, &self.telemetry);
        let mut take = |taken: Vec<Taken<K>>| {
            for taken in taken {
                match taken.collected {
                    Ok((key, object)) => collection.push(key, object),
                    Err(LeftOut::Rejected(key)) => key.into_iter().for_each(|key| collection.unreadable(key)),
                    Err(LeftOut::Undecodable(error)) => left_out.push(error),
                }
            }
        };
        let mut each = |item: Result<Item<K>, ItemError>| {
            list_stats.item_received();
            if list_stats.items.is_multiple_of(64) {
                telemetry.list_progressed(list_stats);
            }
            match item {
                Ok(item) => intake.push(Presence::Here, item, collector),
                Err(error) => take(vec![Taken {
                    presence: Presence::Here,
                    collected: Err(LeftOut::Undecodable(error)),
                }]),
            }
            while let Some(done) = intake.next_done() {
                take(done);
            }
        };
        let span = self.telemetry.list_span(options);
        let listed = self.source.list(options, &mut each).instrument(span).await;
        if matches!(&listed, Ok(meta) if meta.continue_token.is_none()) {
            intake.complete(collector);
            while let Some(done) = intake.next().await {
                take(done);
            }
        }
        self.count_bytes();
        for error in left_out {
            self.leave_out(Activity::List, &error);
        }
        match listed {
            Ok(meta) => {
                self.list_stats.page_received(meta.remaining);
                self.cursor.page_received(meta.version, meta.continue_token);
            }
            Err(error) => {
                self.cursor.list_failed(Failure::of(&error), Instant::now());
                self.fail(Activity::List, Cause::Source(&error));
            }
        }
    }

    /// Begins to collect the whole state.
    fn begin(&mut self, method: ListMethod) {
        self.intake.clear();
        self.collection.clear();
        self.list_stats = ListStats::new(method, Instant::now());
    }

    async fn open(&mut self, mode: WatchMode, options: &WatchOptions, until: Instant) {
        // The old watch is closed before the new one is asked for.
        self.watch = None;
        let span = self.telemetry.watch_span(options);
        let error = match timeout_at(until, self.source.watch(options).instrument(span.clone())).await {
            Ok(Ok(watch)) => {
                self.cursor.watch_opened(Instant::now());
                self.watch = Some(Live::new(watch, span, self.telemetry.watch_duration()));
                return;
            }
            Ok(Err(error)) => error,
            Err(_) if mode == WatchMode::InitialList => return self.silent(mode),
            Err(_) => Error::Transport("nobody answered".into()),
        };
        self.cursor.open_failed(Failure::of(&error), Instant::now());
        self.fail(Activity::of(mode), Cause::Source(&error));
    }

    async fn read(&mut self, mode: WatchMode, until: Instant) {
        let Some(live) = &mut self.watch else { return self.cursor.watch_closed(Instant::now()) };
        let notice = (mode == WatchMode::InitialList).then(|| self.list_stats.stall_due());
        let wake = [notice, self.resync.due()].into_iter().flatten().fold(until, Instant::min);
        tokio::select! {
            biased;
            event = live.watch.next() => {
                // What comes behind the end of the initial state is news, and not to be taken together with it.
                let arrived = event.map(|event| match mode {
                    WatchMode::InitialList => vec![event],
                    WatchMode::Changes => gather(event, &mut live.watch),
                });
                self.count_bytes();
                match arrived {
                    Some(arrived) => self.events(mode, arrived).await,
                    None => self.closed(mode),
                }
            }
            () = sleep_until(wake) => {
                if wake == until {
                    if !self.cursor.settle_resume() { self.silent(mode) }
                } else if Some(wake) == notice {
                    self.telemetry.stream_stalled(&mut self.list_stats);
                } else {
                    self.resync().await;
                }
            }
        }
    }

    /// Whether there is a watch, and it has not failed.
    pub(super) fn is_open(&self) -> bool {
        self.watch.is_some()
    }

    fn count_bytes(&mut self) {
        if let Some(bytes) = self.source.bytes_read() {
            self.telemetry.bytes_read(bytes);
        }
    }

    async fn replace(&mut self, version: Option<ResourceVersion>) {
        let listing = self.collection.take(version);
        let is_checked =
            self.consistency == Consistency::Checked && self.list_stats.method == ListMethod::Stream;
        let fingerprint = is_checked.then(|| Fingerprint::of(&listing)).flatten();
        let (objects, begins) = (listing.objects.len(), Instant::now());
        match self.sink.replace(listing).await {
            Ok(()) => {
                self.cursor.replaced();
                self.resync.arm();
                self.telemetry.list_delivered(&self.list_stats, objects, begins.elapsed());
            }
            Err(error) => return self.sink_failed(&error),
        }
        if let Some(fingerprint) = fingerprint {
            consistency::check(&self.source, &self.telemetry, fingerprint).await;
        }
    }

    async fn resync(&mut self) {
        if self.resync.should_resync()
            && let Err(error) = self.sink.resync().await
        {
            return self.sink_failed(&error);
        }
        self.resync.arm();
    }

    pub(super) fn closed(&mut self, mode: WatchMode) {
        self.watch = None;
        self.cursor.watch_closed(Instant::now());
        match (mode, self.cursor.waiting()) {
            (WatchMode::InitialList, _) => self.fail(Activity::Stream, Cause::BrokenStream),
            (WatchMode::Changes, Some(_)) => self.fail(Activity::Watch, Cause::VeryShortWatch),
            (WatchMode::Changes, None) => {}
        }
    }

    fn silent(&mut self, mode: WatchMode) {
        self.watch = None;
        self.cursor.watch_timed_out(Instant::now());
        if mode == WatchMode::InitialList {
            self.fail(Activity::Stream, Cause::BrokenStream);
        }
    }

    pub(super) fn watch_failed(&mut self, activity: Activity, error: &Error) {
        self.watch = None;
        self.cursor.watch_failed(Failure::of(error), Instant::now());
        self.fail(activity, Cause::Source(error));
    }

    pub(super) fn sink_failed(&mut self, error: &BoxError) {
        self.cursor.sink_failed(Instant::now());
        self.fail(Activity::Deliver, Cause::Sink(error));
    }

    /// Reports an object that is left out. It exists, so it is not to be taken for gone.
    pub(super) fn leave_out(&mut self, activity: Activity, error: &ItemError) {
        if activity != Activity::Watch
            && let Some(key) = error.key()
        {
            self.collection.unreadable(key.clone());
        }
        let cause = match error {
            ItemError::Object(error) => Cause::Object(error),
            ItemError::Kind(error) => Cause::Kind(error),
        };
        self.telemetry.failed(activity, cause, Retry::Continue);
    }

    pub(super) fn fail(&mut self, activity: Activity, cause: Cause<'_>) {
        if matches!(self.cursor.waiting(), Some(Wait { then: AfterWait::Relist | AfterWait::Stream, .. })) {
            self.resync.disarm();
        }
        self.telemetry.failed(activity, cause, Retry::after(self.cursor.waiting()));
    }
}

impl<K, L, S> fmt::Debug for Reflector<K, L, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reflector")
            .field("name", &self.telemetry.name)
            .field("resource", &self.telemetry.resource)
            .field("cursor", &self.cursor)
            .finish_non_exhaustive()
    }
}
