//! The loop that does what the cursor says.

use super::{
    collection::Collection,
    config::{Config, Strategy},
    cursor::Cursor,
    dice::Dice,
    failure::Failure,
    report::{Activity, Cause, Outlook, Report, Status},
    resync::Resync,
    sink::Sink,
    speaker::Speaker,
    step::{Page, Reading, Seen, Step, Then},
};
use crate::list_watch::{BoxError, Error, ListerWatcher, Watch};
use kube_core::Resource;
use kube_informer_wire::{ListOptions, ObjectError, ResourceVersion, WatchEvent};
use std::{fmt, panic::Location, sync::Arc};
use tokio::{
    sync::watch,
    time::{Instant, error::Elapsed, sleep, sleep_until, timeout_at},
};
use tokio_util::sync::CancellationToken;

/// Keeps a sink up to date with a source: lists what there is, watches what happens, and comes back from every failure.
///
/// It never misses a change without beginning again with the whole state, and never goes back in time.
pub struct Reflector<K, L, S> {
    speaker: Speaker,
    source: L,
    sink: S,
    cursor: Cursor,
    watch: Option<Watch<K>>,
    collection: Collection<K>,
    resync: Resync,
    /// How many changes were handed on.
    events: u64,
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
            speaker: Speaker::new(format!("{}:{}", caller.file(), caller.line())),
            source,
            sink,
            resync: Resync::every(config.resync),
            cursor: Cursor::new(config, Dice::shaken()),
            watch: None,
            collection: Collection::default(),
            events: 0,
        }
    }

    /// Names the reflector, for logs and reports.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.speaker.name = name.into();
        self
    }

    /// Hears of every failure. The default is to log it.
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
        while cancel.run_until_cancelled(self.step()).await.is_some() {}
        self.speaker.stopped();
    }

    /// Does what the cursor says.
    async fn step(&mut self) {
        let step = self.cursor.next(Instant::now());
        self.speaker.begins(&step, self.cursor.version(), self.events);
        match step {
            Step::List(options, page) => self.list(&options, page).await,
            Step::Stream(options, until) => {
                self.collection.clear();
                let opened = timeout_at(until, self.source.watch(&options)).await;
                self.open(Reading::Collect, opened);
            }
            Step::Watch(options, until) => {
                // The old watch is closed before the new one is asked for.
                self.watch = None;
                let opened = timeout_at(until, self.source.watch(&options)).await;
                self.open(Reading::Deliver, opened);
            }
            Step::Read(reading, until) => self.read(reading, until).await,
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
            self.collection.clear();
        }
        self.watch = None;
        let mut undecodable = Vec::new();
        let (collection, sink) = (&mut self.collection, &mut self.sink);
        let mut each = |item: Result<K, ObjectError>| match item.map(|object| sink.collect(object)) {
            Ok(Ok((key, object))) => collection.push(key, object),
            Ok(Err(key)) => key.into_iter().for_each(|key| collection.unreadable(key)),
            Err(error) => undecodable.push(error),
        };
        let listed = self.source.list(options, &mut each).await;
        for error in undecodable {
            self.leave_out(Activity::List, &error);
        }
        match listed {
            Ok(meta) => self.cursor.page_received(meta.version, meta.continue_token),
            Err(error) => {
                self.cursor.list_failed(Failure::of(&error), Instant::now());
                self.fail(Activity::List, Cause::Source(&error));
            }
        }
    }

    fn open(&mut self, reading: Reading, opened: Result<Result<Watch<K>, Error>, Elapsed>) {
        match opened {
            Ok(Ok(watch)) => self.watch = Some(watch),
            Ok(Err(error)) => {
                self.cursor.open_failed(Failure::of(&error), Instant::now());
                self.fail(activity(reading), Cause::Source(&error));
            }
            Err(_) => self.silent(reading),
        }
    }

    async fn read(&mut self, reading: Reading, until: Instant) {
        let Some(watch) = &mut self.watch else { return self.cursor.watch_closed(Instant::now()) };
        let wake = self.resync.due().map_or(until, |due| due.min(until));
        tokio::select! {
            biased;
            event = watch.next() => match event {
                Some(event) => self.event(reading, event).await,
                None => self.closed(reading),
            },
            () = sleep_until(wake) => {
                if wake < until {
                    self.resync().await;
                } else {
                    self.silent(reading);
                }
            }
        }
    }

    async fn event(&mut self, reading: Reading, event: Result<WatchEvent<K>, Error>) {
        let activity = activity(reading);
        match event {
            Ok(WatchEvent::Error(status)) => self.watch_failed(activity, &Error::status(*status)),
            Ok(WatchEvent::Bookmark { version, initial_events_end: true }) => {
                self.cursor.initial_state_complete(version, Instant::now());
            }
            Ok(event) => match reading {
                Reading::Collect => self.collect(event),
                Reading::Deliver => self.deliver(event).await,
            },
            Err(Error::Event(error)) if error.object().is_some() => {
                if let Some(error) = error.object() {
                    self.leave_out(activity, error);
                }
                self.cursor.event_skipped(Instant::now());
            }
            // A connection that breaks is a watch that ends; what was on its way comes again.
            Err(Error::Transport(_)) => self.closed(reading),
            Err(error) => self.watch_failed(activity, &error),
        }
    }

    /// Adds an event to the initial state.
    fn collect(&mut self, event: WatchEvent<K>) {
        match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => match self.sink.collect(object) {
                Ok((key, object)) => self.collection.put(key, object),
                Err(key) => key.into_iter().for_each(|key| self.collection.unreadable(key)),
            },
            WatchEvent::Deleted(object) => {
                if let Ok((key, _)) | Err(Some(key)) = self.sink.collect(object).map(|(key, _)| (key, ())) {
                    self.collection.remove(&key);
                }
            }
            _ => {}
        }
        self.cursor.event_seen(Seen::Happened, None, Instant::now());
    }

    /// Hands an event on.
    async fn deliver(&mut self, event: WatchEvent<K>) {
        let (seen, version, handed) = match event {
            WatchEvent::Added(object) => (Seen::Added, version_of(&object), self.sink.add(object).await),
            WatchEvent::Modified(object) => {
                (Seen::Happened, version_of(&object), self.sink.update(object).await)
            }
            WatchEvent::Deleted(object) => {
                (Seen::Happened, version_of(&object), self.sink.delete(object).await)
            }
            WatchEvent::Bookmark { version, .. } => {
                (Seen::Happened, Some(version.clone()), self.sink.bookmark(version).await)
            }
            WatchEvent::Unknown { kind, version } => {
                tracing::warn!(reflector = self.speaker.name, kind, "unknown type of event");
                (Seen::Happened, version, Ok(()))
            }
            _ => (Seen::Happened, None, Ok(())),
        };
        match handed {
            Ok(()) => {
                self.events += 1;
                self.cursor.event_seen(seen, version, Instant::now());
            }
            Err(error) => self.sink_failed(&error),
        }
    }

    async fn replace(&mut self, version: Option<ResourceVersion>) {
        let listing = self.collection.take(version);
        match self.sink.replace(listing).await {
            Ok(()) => {
                self.cursor.replaced();
                self.resync.arm();
            }
            Err(error) => self.sink_failed(&error),
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

    fn closed(&mut self, reading: Reading) {
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

    fn watch_failed(&mut self, activity: Activity, error: &Error) {
        self.watch = None;
        self.cursor.watch_failed(Failure::of(error), Instant::now());
        self.fail(activity, Cause::Source(error));
    }

    fn sink_failed(&mut self, error: &BoxError) {
        self.cursor.sink_failed(Instant::now());
        self.fail(Activity::Deliver, Cause::Sink(error));
    }

    /// Reports an object that is left out. It exists, so it is not to be taken for gone.
    fn leave_out(&mut self, activity: Activity, error: &ObjectError) {
        if activity != Activity::Watch
            && let Some(key) = error.key()
        {
            self.collection.unreadable(key.clone());
        }
        self.speaker.failed(activity, Cause::Object(error), Outlook::GoesOn);
    }

    fn fail(&mut self, activity: Activity, cause: Cause<'_>) {
        if matches!(self.cursor.waiting(), Some((_, Then::Round | Then::Stream))) {
            self.resync.disarm();
        }
        self.speaker.failed(activity, cause, Outlook::of(self.cursor.waiting()));
    }
}

fn activity(reading: Reading) -> Activity {
    match reading {
        Reading::Collect => Activity::Stream,
        Reading::Deliver => Activity::Watch,
    }
}

fn version_of<K: Resource>(object: &K) -> Option<ResourceVersion> {
    object.meta().resource_version.as_deref()?.parse().ok()
}

impl<K, L, S> fmt::Debug for Reflector<K, L, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reflector")
            .field("name", &self.speaker.name)
            .field("cursor", &self.cursor)
            .finish_non_exhaustive()
    }
}
