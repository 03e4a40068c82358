//! The loop of a reflector, which executes the steps of the cursor.

use super::{
    backoff::Jitter,
    config::{Config, Consistency, Strategy},
    consistency::{self, Fingerprint},
    cursor::{
        AfterWait, Cursor, Failure, ListMethod, MAX_PAGES_WITHOUT_PROGRESS, ReceivedPage, Step,
        VersionPreview, Wait, WatchMode,
    },
    list_session::ListSession,
    resync::Resync,
    sink::Sink,
    telemetry::{Activity, Cause, ReflectorStatus, Report, Retry, Snapshot, Telemetry},
    watch_session::{RawEvent, WatchSession},
};
use crate::{
    boxed::BoxError,
    delta::{Delta, DeltaBatch},
    ingest::{Ingest, IngestedObject, RejectedError, ingest_events},
    object::{ItemError, Object},
    source::{Error, ListerWatcher},
};
use kube_core::Resource;
use kube_informer_wire::{
    DecodeError, EventType, Key, ListOptions, ResourceVersion, WatchEvent, WatchOptions,
};
use std::{fmt, panic::Location, sync::Arc};
use tokio::{
    sync::watch,
    task::coop,
    time::{Instant, sleep, sleep_until, timeout_at},
};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span};

/// Keeps a sink up to date with a source: lists, watches, and recovers from every failure.
///
/// Every change is delivered to the sink, or is included in a full list. Versions never decrease.
pub struct Reflector<K, L, S> {
    telemetry: Telemetry,
    source: L,
    sink: S,
    cursor: Cursor,
    ingest: Ingest<K>,
    list: ListSession<K>,
    watch: Option<WatchSession<K>>,
    resync: Resync,
    consistency: Consistency,
    /// The number of changes delivered to the sink.
    events: u64,
}

/// The reason why [`Reflector::list_and_watch`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListAndWatchEnd {
    /// It was canceled.
    Canceled,
    /// An error was reported; the next call starts with a full list.
    Failed,
}

/// The reason why the rest of a batch is not processed.
enum Stop {
    Closed,
    Failed(Error),
}

impl<K, L, S> Reflector<K, L, S>
where
    K: Resource + Send + Sync + 'static,
    L: ListerWatcher<K>,
    S: Sink<K>,
{
    /// Creates a reflector with the default configuration.
    #[track_caller]
    pub fn new(source: L, sink: S) -> Self {
        Self::with_config(source, sink, Config::default())
    }

    /// Creates a reflector. The default [name](Self::named) is the location of this call.
    #[track_caller]
    pub fn with_config(source: L, sink: S, mut config: Config) -> Self {
        if !source.can_stream_lists() {
            config.strategy = Strategy::List;
        }
        let caller = Location::caller();
        let ingest = sink.ingest();
        Self {
            telemetry: Telemetry::new(format!("{}:{}", caller.file(), caller.line()), source.describe()),
            source,
            sink,
            list: ListSession::new(ListMethod::List, &ingest),
            ingest,
            consistency: config.consistency,
            resync: Resync::every(config.resync),
            cursor: Cursor::new(config, Jitter::from_entropy()),
            watch: None,
            events: 0,
        }
    }

    /// Sets the name for logs, metrics and reports.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.telemetry.name = name.into();
        self
    }

    /// Sets another name for metrics.
    #[must_use]
    pub(crate) fn metrics_name(mut self, name: String) -> Self {
        self.telemetry.metrics_name = Some(name);
        self
    }

    /// Sets the function that is called for every failure that causes a retry or skips an object. The default logs it. A
    /// watch that ends and reconnects immediately is not reported.
    #[must_use]
    pub fn on_error(mut self, report: impl Fn(&Report<'_>) + Send + Sync + 'static) -> Self {
        self.telemetry.handler = Arc::new(report);
        self
    }

    /// Sets a predicate that is checked before each resync.
    #[must_use]
    pub fn should_resync(mut self, predicate: impl Fn() -> bool + Send + 'static) -> Self {
        self.resync.set_predicate(predicate);
        self
    }

    /// Starts with a watch from this version instead of a full list, for a sink that already contains the state of this version.
    ///
    /// The reflector first requests the current version of the source with a list of one object. It falls back to a full list
    /// if that version is older, if the source no longer has the changes since, or if the versions cannot be compared.
    /// Otherwise [`Sink::resumed`] is called as soon as the watch has reached that version. Until then, watches have a timeout of
    /// five seconds: kube-apiserver sends a bookmark with its version two seconds before a watch ends. If three watches do not
    /// reach the version, the reflector falls back to a full list.
    #[must_use]
    pub fn resume_from(mut self, version: ResourceVersion) -> Self {
        self.cursor.resume_from(version);
        self
    }

    /// Starts with a full list that is not older than this version.
    #[must_use]
    pub(crate) fn list_from(mut self, version: ResourceVersion) -> Self {
        self.cursor.list_from(version);
        self
    }

    /// Starts with a full list of any version, in spite of [`resume_from`](Self::resume_from).
    #[must_use]
    pub(crate) fn start_over(mut self) -> Self {
        self.cursor.start_over();
        self
    }

    /// Returns a receiver of the current status.
    #[must_use]
    pub fn status(&self) -> watch::Receiver<ReflectorStatus> {
        self.telemetry.status.subscribe()
    }

    /// Returns the version of the sink; `None` before the first list.
    #[must_use]
    pub fn last_sync_version(&self) -> Option<&ResourceVersion> {
        self.cursor.version()
    }

    /// Runs until canceled. Sends no request if `cancel` is already canceled.
    pub async fn run(mut self, cancel: CancellationToken) {
        while cancel.run_until_cancelled(self.step()).await.is_some() {}
        self.telemetry.stopped();
    }

    /// Lists and watches once, until a failure makes another full list necessary.
    ///
    /// Use this instead of [`run`](Self::run) for custom delays between retries. The failure has been reported.
    pub async fn list_and_watch(&mut self, cancel: &CancellationToken) -> ListAndWatchEnd {
        self.cursor.waited();
        loop {
            if cancel.run_until_cancelled(self.step()).await.is_none() {
                // Events that were read and not applied are sent again by the next watch.
                self.watch = None;
                self.cursor.interrupted();
                return ListAndWatchEnd::Canceled;
            }
            if matches!(self.cursor.waiting(), Some(Wait { then: AfterWait::Relist | AfterWait::Probe, .. }))
            {
                self.watch = None;
                return ListAndWatchEnd::Failed;
            }
        }
    }

    /// Executes one step.
    async fn step(&mut self) {
        // A source that is always ready must not starve other futures of the task.
        coop::consume_budget().await;
        let step = self.cursor.next(Instant::now());
        let snapshot = Snapshot {
            version: self.cursor.version(),
            events: self.events,
            list: &self.list.stats,
            content_type: self.source.content_type(),
            last_data_at: self.source.last_read_at().or(self.cursor.last_data_at()),
        };
        self.telemetry.step_started(&step, &snapshot);
        match step {
            Step::Probe(options) => self.probe(&options).await,
            Step::Resumed => self.resumed().await,
            Step::List(options) => self.list_page(&options).await,
            Step::Stream { options, deadline } => {
                self.list = ListSession::new(ListMethod::Stream, &self.ingest);
                self.open_watch(WatchMode::InitialList, &options, deadline).await;
            }
            Step::Watch { options, deadline } => {
                self.open_watch(WatchMode::Changes, &options, deadline).await;
            }
            Step::Read { mode, deadline } => {
                let span = self.watch.as_ref().map_or_else(Span::none, |watch| watch.span.clone());
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

    /// Requests the current version of the source.
    async fn probe(&mut self, options: &ListOptions) {
        match self.source.list(options, &mut |_| {}).await {
            Ok(meta) => {
                let server = meta.version.as_ref().map(ToString::to_string);
                self.cursor.probed(meta.version);
                let restored = self.cursor.version().map(tracing::field::display);
                if self.cursor.is_version_unavailable() {
                    let reflector = &self.telemetry.name;
                    tracing::warn!(
                        reflector,
                        restored,
                        server,
                        "server is older than the restored state; relisting"
                    );
                } else {
                    tracing::debug!(reflector = self.telemetry.name, restored, server, "resuming");
                }
            }
            Err(error) => {
                self.cursor.probe_failed(Failure::of(&error), Instant::now());
                self.fail(Activity::List, Cause::Source(&error));
            }
        }
    }

    /// Notifies the sink that the watch has caught up with the source.
    async fn resumed(&mut self) {
        match self.sink.resumed().await {
            Ok(()) => {
                self.cursor.resumed(Instant::now());
                self.resync.arm();
            }
            Err(error) => self.sink_failed(&error),
        }
    }

    async fn list_page(&mut self, options: &ListOptions) {
        if options.continue_token.is_none() {
            self.list = ListSession::new(ListMethod::List, &self.ingest);
        }
        self.watch = None;
        self.list.stats.page_requested();
        let items_before = self.list.stats.items;
        let session = &mut self.list;
        let telemetry = &self.telemetry;
        let mut on_item = |item| {
            session.item(item);
            if session.stats.items.is_multiple_of(64) {
                telemetry.list_progressed(&session.stats);
            }
        };
        let span = telemetry.list_span(options);
        let result = self.source.list(options, &mut on_item).instrument(span).await;
        if matches!(&result, Ok(meta) if meta.continue_token.is_none()) {
            self.list.complete().await;
        }
        self.count_bytes();
        for error in self.list.take_rejected() {
            self.report_rejected(Activity::List, &error);
        }
        match result {
            Ok(meta) => {
                self.list.stats.page_received(meta.remaining);
                let page = ReceivedPage {
                    version: meta.version,
                    continue_token: meta.continue_token,
                    items: self.list.stats.items - items_before,
                };
                self.cursor.page_received(page, Instant::now());
                if self.cursor.waiting().is_some() {
                    let error = Error::EndlessList { pages: MAX_PAGES_WITHOUT_PROGRESS };
                    self.fail(Activity::List, Cause::Source(&error));
                }
            }
            Err(error) => {
                self.cursor.list_failed(Failure::of(&error), Instant::now());
                self.fail(Activity::List, Cause::Source(&error));
            }
        }
    }

    async fn open_watch(&mut self, mode: WatchMode, options: &WatchOptions, deadline: Instant) {
        // The old watch is closed before the new one is requested.
        self.watch = None;
        let span = self.telemetry.watch_span(options);
        let error = match timeout_at(deadline, self.source.watch(options).instrument(span.clone())).await {
            Ok(Ok(watch)) => {
                self.cursor.watch_opened(Instant::now());
                self.watch = Some(WatchSession::new(watch, span, self.telemetry.watch_duration()));
                return;
            }
            Ok(Err(error)) => error,
            Err(_) if mode == WatchMode::InitialList => return self.timed_out(mode),
            Err(_) => Error::Transport("the server did not respond".into()),
        };
        self.cursor.open_failed(Failure::of(&error), Instant::now());
        self.fail(Activity::of(mode), Cause::Source(&error));
    }

    async fn read(&mut self, mode: WatchMode, deadline: Instant) {
        let Some(watch) = &mut self.watch else { return self.cursor.watch_closed(Instant::now()) };
        // A source that is always ready must not delay the resync.
        if self.resync.due().is_some_and(|due| due <= Instant::now()) {
            return self.resync().await;
        }
        let stall = (mode == WatchMode::InitialList).then(|| self.list.stats.stall_due());
        let wake = [stall, self.resync.due()].into_iter().flatten().fold(deadline, Instant::min);
        tokio::select! {
            biased;
            event = watch.next() => match event {
                None => {
                    self.count_bytes();
                    self.closed(mode);
                }
                Some(event) if mode == WatchMode::InitialList => {
                    self.count_bytes();
                    self.collect(event).await;
                }
                Some(event) => {
                    let events = watch.drain_ready(event);
                    self.count_bytes();
                    self.deliver(events).await;
                }
            },
            () = sleep_until(wake) => {
                if wake == deadline {
                    self.deadline_reached(mode);
                } else if Some(wake) == stall {
                    self.telemetry.stream_stalled(&mut self.list.stats);
                } else {
                    self.resync().await;
                }
            }
        }
    }

    /// Adds an event of a streamed list.
    async fn collect(&mut self, event: RawEvent<K>) {
        if let Ok(event) = &event {
            self.telemetry.event_received(event);
        }
        match event {
            Ok(WatchEvent::Error(status)) => {
                self.watch_failed(WatchMode::InitialList, &Error::status(*status));
            }
            Ok(WatchEvent::Bookmark { version, initial_events_end: true }) => {
                self.list.complete().await;
                self.report_streamed();
                if self.watch.is_some() {
                    self.cursor.initial_list_complete(version, Instant::now());
                }
            }
            Ok(event) => {
                let now = Instant::now();
                match &event {
                    WatchEvent::Added(_) => self.cursor.item_collected(now),
                    _ => self.cursor.change_collected(now),
                }
                self.list.event(event, now);
                self.report_streamed();
            }
            Err(Error::Event(DecodeError::Object { event: EventType::Deleted, cause })) => {
                if let Some(key) = cause.key() {
                    // The objects before it may not be ingested yet.
                    self.list.complete().await;
                    self.list.remove(key);
                }
                self.skip_streamed(&RejectedError::Undecodable { cause: cause.into() });
            }
            Err(error) => match undecodable(error) {
                Ok(cause) => {
                    if let Some(key) = cause.key() {
                        self.list.complete().await;
                        self.list.skip(key.clone());
                    }
                    self.skip_streamed(&RejectedError::Undecodable { cause });
                }
                Err(Error::Transport(_)) => self.closed(WatchMode::InitialList),
                Err(error) => self.watch_failed(WatchMode::InitialList, &error),
            },
        }
    }

    /// Reports the objects of a streamed list that were skipped. Malformed bytes end the watch.
    fn report_streamed(&mut self) {
        for error in self.list.take_rejected() {
            if self.watch.is_none() {
                return;
            }
            match error {
                RejectedError::Undecodable { cause } if cause.is_malformed() => {
                    self.watch_failed(WatchMode::InitialList, &Error::Item(cause));
                }
                error => self.skip_streamed(&error),
            }
        }
    }

    fn skip_streamed(&mut self, error: &RejectedError) {
        self.report_rejected(Activity::Stream, error);
        self.cursor.event_skipped(Instant::now());
    }

    /// Delivers events that arrived together: ingests them, and applies them to the sink in one batch.
    async fn deliver(&mut self, events: Vec<RawEvent<K>>) {
        let mut batch = DeltaBatch::new(Instant::now());
        let mut preview = self.cursor.preview();
        let events = ingest_events(&self.ingest, events).await;
        let mut stop = None;
        for event in events {
            coop::consume_budget().await;
            if let Ok(event) = &event {
                self.telemetry.event_received(event);
            }
            if let Err(reason) = self.add_event(event, &mut batch.deltas, &mut preview) {
                stop = Some(reason);
                break;
            }
        }
        if let Some(version) = preview.implausible() {
            let version = tracing::field::display(version);
            tracing::warn!(
                reflector = self.telemetry.name,
                version,
                "ignored an implausible resource version"
            );
        }
        batch.version = preview.version().cloned();
        let is_change = !batch.deltas.is_empty() || preview.version() != self.cursor.version();
        let applied = if is_change { self.sink.apply(batch).await } else { Ok(()) };
        match applied {
            Ok(()) => {
                self.events += preview.events();
                self.cursor.events_applied(preview, Instant::now());
            }
            Err(error) => return self.sink_failed(&error),
        }
        match stop {
            None => {}
            // Events in transit when the connection closed are sent again by the next watch.
            Some(Stop::Closed) => self.closed(WatchMode::Changes),
            Some(Stop::Failed(error)) => self.watch_failed(WatchMode::Changes, &error),
        }
    }

    /// Adds the change of a watch event to a batch.
    fn add_event(
        &mut self,
        event: Result<WatchEvent<IngestedObject<K>>, Error>,
        deltas: &mut Vec<Delta<K>>,
        preview: &mut VersionPreview,
    ) -> Result<(), Stop> {
        match event {
            Ok(WatchEvent::Added(IngestedObject { version, result })) => {
                if self.add_change(result, deltas, Delta::Added, Delta::Skipped)? {
                    preview.added(version);
                }
            }
            Ok(WatchEvent::Modified(IngestedObject { version, result })) => {
                if self.add_change(result, deltas, Delta::Updated, Delta::Skipped)? {
                    preview.other(version);
                }
            }
            Ok(WatchEvent::Deleted(IngestedObject { version, result })) => {
                if self.add_deletion(result, deltas)? {
                    preview.other(version);
                }
            }
            Ok(WatchEvent::Bookmark { version, .. }) => preview.bookmark(version),
            Ok(WatchEvent::Error(status)) => return Err(Stop::Failed(Error::status(*status))),
            Ok(WatchEvent::Unknown { kind, version }) => {
                let kind: String = kind.chars().take(MAX_LOGGED_TYPE).collect();
                tracing::warn!(reflector = self.telemetry.name, kind, "unknown watch event type");
                preview.unknown(version);
            }
            Ok(_) => preview.unknown(None),
            Err(Error::Event(DecodeError::Object { event: EventType::Deleted, cause })) => {
                let version = cause.version().cloned();
                let error = RejectedError::Undecodable { cause: cause.into() };
                if self.add_deletion(Err(error), deltas)? {
                    preview.other(version);
                }
            }
            Err(error) => match undecodable(error) {
                Ok(cause) => {
                    self.report_rejected(Activity::Watch, &RejectedError::Undecodable { cause });
                    self.cursor.event_skipped(Instant::now());
                }
                Err(Error::Transport(_)) => return Err(Stop::Closed),
                Err(error) => return Err(Stop::Failed(error)),
            },
        }
        Ok(())
    }

    /// Adds the deletion of an object, without its final state if that is rejected. Returns whether the version of the event is
    /// recorded.
    fn add_deletion(
        &mut self,
        result: Result<(Key, Object<K>), RejectedError>,
        deltas: &mut Vec<Delta<K>>,
    ) -> Result<bool, Stop> {
        let deleted = |key, object| Delta::Deleted(key, Some(object));
        self.add_change(result, deltas, deleted, |key| Delta::Deleted(key, None))
    }

    /// Adds a change, or `rejected` if the object was rejected. Returns whether the version of the event is recorded.
    fn add_change(
        &mut self,
        result: Result<(Key, Object<K>), RejectedError>,
        deltas: &mut Vec<Delta<K>>,
        accepted: fn(Key, Object<K>) -> Delta<K>,
        rejected: fn(Key) -> Delta<K>,
    ) -> Result<bool, Stop> {
        let error = match result {
            Ok((key, object)) => {
                deltas.push(accepted(key, object));
                return Ok(true);
            }
            Err(RejectedError::Undecodable { cause }) if cause.is_malformed() => {
                return Err(Stop::Failed(Error::Item(cause)));
            }
            Err(error) => error,
        };
        self.report_rejected(Activity::Watch, &error);
        let delta = error.key().cloned().map(rejected);
        let is_recorded = match error {
            RejectedError::Undecodable { .. } => matches!(delta, Some(Delta::Deleted(..))),
            RejectedError::Transform { .. } | RejectedError::NoKey { .. } => true,
        };
        if !is_recorded {
            self.cursor.event_skipped(Instant::now());
        }
        deltas.extend(delta);
        Ok(is_recorded)
    }

    async fn replace(&mut self, version: Option<ResourceVersion>) {
        let listing = self.list.take_listing(version);
        let is_checked =
            self.consistency == Consistency::Checked && self.list.stats.method == ListMethod::Stream;
        let fingerprint = is_checked.then(|| Fingerprint::of(&listing)).flatten();
        let objects = listing.objects.len();
        let started = Instant::now();
        match self.sink.replace(listing).await {
            Ok(()) => {
                self.cursor.replaced(Instant::now());
                self.resync.arm();
                self.telemetry.list_delivered(&self.list.stats, objects, started.elapsed());
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
        self.cursor.data_received(Instant::now());
    }

    fn count_bytes(&mut self) {
        if let Some(bytes) = self.source.bytes_read() {
            self.telemetry.bytes_read(bytes);
        }
    }

    fn closed(&mut self, mode: WatchMode) {
        self.watch = None;
        self.cursor.watch_closed(Instant::now());
        match (mode, self.cursor.waiting()) {
            (WatchMode::InitialList, _) => self.fail(Activity::Stream, Cause::BrokenStream),
            (WatchMode::Changes, Some(_)) => self.fail(Activity::Watch, Cause::VeryShortWatch),
            (WatchMode::Changes, None) => {}
        }
    }

    /// Closes the watch, unless a part of an event was received in the meantime.
    fn deadline_reached(&mut self, mode: WatchMode) {
        if let Some(at) = self.source.last_read_at() {
            self.cursor.data_received(at);
        }
        let now = Instant::now();
        if matches!(self.cursor.next(now), Step::Read { deadline, .. } if deadline <= now) {
            self.timed_out(mode);
        }
    }

    fn timed_out(&mut self, mode: WatchMode) {
        self.watch = None;
        let is_dead = self.cursor.watch_timed_out(Instant::now());
        match mode {
            WatchMode::InitialList => self.fail(Activity::Stream, Cause::BrokenStream),
            WatchMode::Changes if is_dead => self.fail(Activity::Watch, Cause::DeadWatch),
            WatchMode::Changes => {}
        }
    }

    fn watch_failed(&mut self, mode: WatchMode, error: &Error) {
        self.watch = None;
        self.cursor.watch_failed(Failure::of(error), Instant::now());
        self.fail(Activity::of(mode), Cause::Source(error));
    }

    fn sink_failed(&mut self, error: &BoxError) {
        self.cursor.sink_failed(Instant::now());
        self.fail(Activity::Deliver, Cause::Sink(error));
    }

    fn report_rejected(&self, activity: Activity, error: &RejectedError) {
        let (activity, cause) = match error {
            RejectedError::Undecodable { cause: ItemError::Object(error) } => {
                (activity, Cause::Object(error))
            }
            RejectedError::Undecodable { cause: ItemError::Kind(error) } => (activity, Cause::Kind(error)),
            RejectedError::Undecodable {
                cause: ItemError::Panicked { .. } | ItemError::Namespace { .. },
            } => (activity, Cause::Rejected(error)),
            RejectedError::Transform { .. } | RejectedError::NoKey { .. } => {
                (Activity::Deliver, Cause::Rejected(error))
            }
        };
        self.telemetry.failed(activity, cause, Retry::Continue);
    }

    fn fail(&mut self, activity: Activity, cause: Cause<'_>) {
        let wait = self.cursor.waiting();
        if matches!(wait, Some(Wait { then: AfterWait::Relist | AfterWait::Stream, .. })) {
            self.resync.disarm();
        }
        self.telemetry.failed(activity, cause, Retry::after(wait));
    }
}

/// The maximum number of characters of an unknown event type that is logged.
const MAX_LOGGED_TYPE: usize = 64;

/// Returns the error of an object that cannot be decoded and is skipped. Other errors end the watch.
fn undecodable(error: Error) -> Result<ItemError, Error> {
    match error {
        Error::Item(error) if !error.is_malformed() => Ok(error),
        Error::Event(DecodeError::Object { cause, .. }) => Ok(cause.into()),
        Error::Kind(error) => Ok(error.into()),
        error => Err(error),
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
