//! The loop that does what the cursor says.

use super::{
    arrival::gather,
    collection::Collection,
    config::{Config, Consistency, Strategy},
    cursor::Cursor,
    dice::Dice,
    failure::Failure,
    intake::{Intake, Taken},
    inventory::Inventory,
    journal::Journal,
    live::Live,
    report::{Activity, Cause, Outlook, Report, Status},
    resync::Resync,
    sink::{Collector, LeftOut, Presence, Sink},
    speaker::{Speaker, Standing},
    step::{Page, Reading, Step, Then, Via},
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
    pub(super) speaker: Speaker,
    pub(super) source: L,
    pub(super) sink: S,
    pub(super) cursor: Cursor,
    watch: Option<Live<K>>,
    pub(super) collector: Collector<K>,
    pub(super) intake: Intake<K>,
    pub(super) collection: Collection<K>,
    pub(super) journal: Journal,
    pub(super) resync: Resync,
    consistency: Consistency,
    /// How many changes were handed on.
    pub(super) events: u64,
}

/// Why a round ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoundEnd {
    /// It was told to.
    Cancelled,
    /// Something failed; the next round begins with the whole state.
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
            speaker: Speaker::new(format!("{}:{}", caller.file(), caller.line()), source.describe()),
            source,
            collector: sink.collector(),
            intake: Intake::new(),
            sink,
            consistency: config.consistency,
            resync: Resync::every(config.resync),
            cursor: Cursor::new(config, Dice::shaken()),
            watch: None,
            collection: Collection::default(),
            journal: Journal::new(Via::List, Instant::now()),
            events: 0,
        }
    }

    /// Names the reflector, for logs and reports.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.speaker.name = name.into();
        self
    }

    /// Hears of every failure that costs a wait or an object. The default is to log it. A watch that merely breaks is opened again
    /// without a word.
    #[must_use]
    pub fn on_error(mut self, report: impl Fn(&Report<'_>) + Send + Sync + 'static) -> Self {
        self.speaker.handler = Arc::new(report);
        self
    }

    /// Asks before each resync whether it is wanted.
    #[must_use]
    pub fn should_resync(mut self, is_wanted: impl Fn() -> bool + Send + 'static) -> Self {
        self.resync.ask(is_wanted);
        self
    }

    /// Where the reflector stands, now and as it changes.
    #[must_use]
    pub fn status(&self) -> watch::Receiver<Status> {
        self.speaker.status.subscribe()
    }

    /// Reflects until cancelled. Nothing is asked of the source if that is so from the start.
    pub async fn run(mut self, cancel: CancellationToken) {
        self.speaker.started();
        while cancel.run_until_cancelled(self.step()).await.is_some() {}
        self.speaker.stopped();
    }

    /// Reflects for one round: asks for the whole state, and watches for as long as that can go on.
    ///
    /// For those who wait between rounds in their own way; [`run`](Self::run) is for everyone else. What ended the round has
    /// been reported.
    pub async fn list_and_watch(&mut self, cancel: &CancellationToken) -> RoundEnd {
        self.speaker.started();
        self.cursor.waited();
        loop {
            if cancel.run_until_cancelled(self.step()).await.is_none() {
                // What was taken and not handed on comes again.
                self.watch = None;
                self.cursor.interrupted();
                return RoundEnd::Cancelled;
            }
            if matches!(self.cursor.waiting(), Some((_, Then::Round | Then::Probe))) {
                self.watch = None;
                return RoundEnd::Failed;
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
        self.speaker.begins(&step, &self.standing());
        match step {
            Step::Probe(options) => self.probe(&options).await,
            Step::Resumed => self.resumed().await,
            Step::List(options, page) => self.list(&options, page).await,
            Step::Stream(options, until) => {
                self.begin(Via::Stream);
                self.open(Reading::Collect, &options, until).await;
            }
            Step::Watch(options, until) => self.open(Reading::Deliver, &options, until).await,
            Step::Read(reading, until) => {
                let span = self.watch.as_ref().map_or_else(Span::none, |live| live.span.clone());
                self.read(reading, until).instrument(span).await;
            }
            Step::Replace(version) => self.replace(version).await,
            Step::Wait(delay) => {
                self.watch = None;
                sleep(delay).await;
                self.cursor.waited();
            }
        }
    }

    async fn list(&mut self, options: &ListOptions, page: Page) {
        if page == Page::First {
            self.begin(Via::List);
        }
        self.watch = None;
        self.journal.page_asked();
        let mut left_out = Vec::new();
        let (collection, intake, journal) = (&mut self.collection, &mut self.intake, &mut self.journal);
        let (collector, speaker) = (&self.collector, &self.speaker);
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
            journal.item_came();
            if journal.items.is_multiple_of(64) {
                speaker.arrives(journal);
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
        let span = self.speaker.list_span(options);
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
                self.journal.page_came(meta.remaining);
                self.cursor.page_received(meta.version, meta.continue_token);
            }
            Err(error) => {
                self.cursor.list_failed(Failure::of(&error), Instant::now());
                self.fail(Activity::List, Cause::Source(&error));
            }
        }
    }

    /// Begins to collect the whole state.
    fn begin(&mut self, via: Via) {
        self.intake.clear();
        self.collection.clear();
        self.journal = Journal::new(via, Instant::now());
    }

    async fn open(&mut self, reading: Reading, options: &WatchOptions, until: Instant) {
        // The old watch is closed before the new one is asked for.
        self.watch = None;
        let span = self.speaker.watch_span(options);
        let error = match timeout_at(until, self.source.watch(options).instrument(span.clone())).await {
            Ok(Ok(watch)) => {
                self.cursor.watch_opened(Instant::now());
                self.watch = Some(Live::new(watch, span, self.speaker.metrics.watch_duration()));
                return;
            }
            Ok(Err(error)) => error,
            Err(_) if reading == Reading::Collect => return self.silent(reading),
            Err(_) => Error::Transport("nobody answered".into()),
        };
        self.cursor.open_failed(Failure::of(&error), Instant::now());
        self.fail(Activity::of(reading), Cause::Source(&error));
    }

    async fn read(&mut self, reading: Reading, until: Instant) {
        let Some(live) = &mut self.watch else { return self.cursor.watch_closed(Instant::now()) };
        let notice = (reading == Reading::Collect).then(|| self.journal.notice_due());
        let wake = [notice, self.resync.due()].into_iter().flatten().fold(until, Instant::min);
        tokio::select! {
            biased;
            event = live.watch.next() => {
                // What comes behind the end of the initial state is news, and not to be taken together with it.
                let arrived = event.map(|event| match reading {
                    Reading::Collect => vec![event],
                    Reading::Deliver => gather(event, &mut live.watch),
                });
                self.count_bytes();
                match arrived {
                    Some(arrived) => self.events(reading, arrived).await,
                    None => self.closed(reading),
                }
            }
            () = sleep_until(wake) => {
                if wake == until {
                    if !self.cursor.is_quiet() { self.silent(reading) }
                } else if Some(wake) == notice {
                    self.speaker.awaits_completion(&mut self.journal);
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

    fn standing(&self) -> Standing<'_> {
        let (version, encoded) = (self.cursor.version(), self.source.encoded());
        Standing { version, events: self.events, journal: &self.journal, encoded }
    }

    fn count_bytes(&mut self) {
        if let Some(bytes) = self.source.bytes_read() {
            self.speaker.metrics.bytes(bytes);
        }
    }

    async fn replace(&mut self, version: Option<ResourceVersion>) {
        let listing = self.collection.take(version);
        let is_checked = self.consistency == Consistency::Checked && self.journal.via == Via::Stream;
        let inventory = is_checked.then(|| Inventory::of(&listing)).flatten();
        let (objects, begins) = (listing.objects.len(), Instant::now());
        match self.sink.replace(listing).await {
            Ok(()) => {
                self.cursor.replaced();
                self.resync.arm();
                self.speaker.listed(&self.journal, objects, begins.elapsed());
            }
            Err(error) => return self.sink_failed(&error),
        }
        if let Some(inventory) = inventory {
            self.check(inventory).await;
        }
    }

    async fn resync(&mut self) {
        if self.resync.is_wanted()
            && let Err(error) = self.sink.resync().await
        {
            return self.sink_failed(&error);
        }
        self.resync.arm();
    }

    pub(super) fn closed(&mut self, reading: Reading) {
        self.watch = None;
        self.cursor.watch_closed(Instant::now());
        match (reading, self.cursor.waiting()) {
            (Reading::Collect, _) => self.fail(Activity::Stream, Cause::BrokenStream),
            (Reading::Deliver, Some(_)) => self.fail(Activity::Watch, Cause::VeryShortWatch),
            (Reading::Deliver, None) => {}
        }
    }

    fn silent(&mut self, reading: Reading) {
        self.watch = None;
        self.cursor.watch_silent(Instant::now());
        if reading == Reading::Collect {
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
        self.speaker.failed(activity, cause, Outlook::GoesOn);
    }

    pub(super) fn fail(&mut self, activity: Activity, cause: Cause<'_>) {
        if matches!(self.cursor.waiting(), Some((_, Then::Round | Then::Stream))) {
            self.resync.disarm();
        }
        self.speaker.failed(activity, cause, Outlook::of(self.cursor.waiting()));
    }
}

impl<K, L, S> fmt::Debug for Reflector<K, L, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reflector")
            .field("name", &self.speaker.name)
            .field("resource", &self.speaker.resource)
            .field("cursor", &self.cursor)
            .finish_non_exhaustive()
    }
}
