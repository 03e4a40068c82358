//! What becomes of the events of a watch.

use super::{
    arrival::{Arrived, checked},
    cursor::{VersionPreview, WatchMode},
    driver::Reflector,
    intake::Taken,
    sink::{LeftOut, Presence, Sink},
    telemetry::Activity,
};
use crate::source::{BoxError, Error, Item, ItemError, ListerWatcher};
use kube_core::Resource;
use kube_informer_wire::{DecodeError, EventType, Key, WatchEvent};
use tokio::{task::coop, time::Instant};

impl<K, L, S> Reflector<K, L, S>
where
    K: Resource + Send + Sync + 'static,
    L: ListerWatcher<K>,
    S: Sink<K>,
{
    /// Takes what arrived together, up to where something fails.
    pub(super) async fn events(&mut self, mode: WatchMode, arrived: Vec<Arrived<K>>) {
        let arrived = if arrived.len() > 1 { checked(arrived, self.sink.wants()).await } else { arrived };
        for event in arrived {
            if self.is_open() && self.cursor.waiting().is_none() {
                coop::consume_budget().await;
                self.event(mode, event).await;
            }
        }
    }

    /// Takes an event, or what came in its place.
    async fn event(&mut self, mode: WatchMode, event: Result<WatchEvent<Item<K>>, Error>) {
        let activity = Activity::of(mode);
        if let Ok(event) = &event {
            self.telemetry.event_received(event);
        }
        match event {
            Ok(WatchEvent::Error(status)) => self.watch_failed(activity, &Error::status(*status)),
            Ok(WatchEvent::Bookmark { version, initial_events_end: true }) => {
                self.complete(mode).await;
                if self.is_open() {
                    self.cursor.initial_list_complete(version, Instant::now());
                }
            }
            Ok(event) => match mode {
                WatchMode::InitialList => self.collect(event),
                WatchMode::Changes => self.deliver(event).await,
            },
            Err(Error::Item(error)) => self.undecodable(activity, error),
            Err(Error::Event(DecodeError::Object { event: EventType::Deleted, cause })) => match mode {
                WatchMode::InitialList => self.not_collected(Presence::Gone, cause.into()),
                WatchMode::Changes => self.left_out(Presence::Gone, cause.into()).await,
            },
            Err(Error::Event(DecodeError::Object { cause, .. })) => self.skip(activity, &cause.into()),
            Err(Error::Kind(error)) => self.skip(activity, &error.into()),
            // A connection that breaks is a watch that ends; what was on its way comes again.
            Err(Error::Transport(_)) => self.closed(mode),
            Err(error) => self.watch_failed(activity, &error),
        }
    }

    /// Leaves out an object that is not what it should be.
    fn skip(&mut self, activity: Activity, error: &ItemError) {
        self.leave_out(activity, error);
        self.cursor.event_skipped(Instant::now());
    }

    /// Leaves out an object that cannot be decoded, or gives up a watch that sends what is not even well-formed.
    fn undecodable(&mut self, activity: Activity, error: ItemError) {
        if error.is_malformed() {
            self.watch_failed(activity, &Error::Item(error));
        } else {
            self.skip(activity, &error);
        }
    }

    /// Adds an event to the initial state.
    fn collect(&mut self, event: WatchEvent<Item<K>>) {
        let now = Instant::now();
        self.list_stats.event_received(now);
        match event {
            WatchEvent::Added(item) | WatchEvent::Modified(item) => {
                self.list_stats.item_received();
                self.intake.push(Presence::Here, item, &self.collector);
            }
            WatchEvent::Deleted(item) => self.intake.push(Presence::Gone, item, &self.collector),
            _ => {}
        }
        self.cursor.event_collected(now);
        while let Some(done) = self.intake.next_done() {
            self.take_in(done);
        }
    }

    /// All of the initial state has come, and is taken in.
    async fn complete(&mut self, mode: WatchMode) {
        if mode == WatchMode::InitialList {
            self.intake.complete(&self.collector);
            while let Some(done) = self.intake.next().await {
                self.take_in(done);
            }
        }
    }

    /// Takes in what has been decoded of the initial state; what is left over once the watch has failed is nothing any more.
    fn take_in(&mut self, done: Vec<Taken<K>>) {
        for Taken { presence, collected } in done {
            match (presence, collected) {
                _ if !self.is_open() => return,
                (Presence::Here, Ok((key, object))) => self.collection.put(key, object),
                (Presence::Here, Err(LeftOut::Rejected(key))) => {
                    key.into_iter().for_each(|key| self.collection.unreadable(key));
                }
                (Presence::Gone, Ok((key, _)) | Err(LeftOut::Rejected(Some(key)))) => {
                    self.collection.remove(&key);
                }
                (Presence::Gone, Err(LeftOut::Rejected(None))) => {}
                (presence, Err(LeftOut::Undecodable(error))) => self.not_collected(presence, error),
            }
        }
    }

    /// Hands an event on.
    async fn deliver(&mut self, event: WatchEvent<Item<K>>) {
        let mut preview = self.cursor.preview();
        let (change, item) = match event {
            WatchEvent::Added(item) => (Change::Added, item),
            WatchEvent::Modified(item) => (Change::Modified, item),
            WatchEvent::Deleted(item) => (Change::Deleted, item),
            WatchEvent::Bookmark { version, .. } => {
                let handed = self.sink.bookmark(version.clone()).await;
                preview.other(Some(version));
                return self.handed(handed, preview);
            }
            WatchEvent::Unknown { kind, version } => {
                let kind: String = kind.chars().take(LONG_KIND).collect();
                tracing::warn!(reflector = self.telemetry.name, kind, "unknown watch event type");
                preview.other(version);
                return self.handed(Ok(()), preview);
            }
            _ => {
                preview.other(None);
                return self.handed(Ok(()), preview);
            }
        };
        let item = match item.checked(self.sink.wants()) {
            Ok(item) => item,
            Err(error) => return self.left_out(change.presence(), error).await,
        };
        let version = item.identity().and_then(|identity| identity.version());
        let handed = match change {
            Change::Added => {
                preview.added(version);
                self.sink.add(item).await
            }
            Change::Modified => {
                preview.other(version);
                self.sink.update(item).await
            }
            Change::Deleted => {
                preview.other(version);
                self.sink.delete(item).await
            }
        };
        self.handed(handed, preview);
    }

    /// Leaves out an object of the initial state.
    fn not_collected(&mut self, presence: Presence, error: ItemError) {
        let gone = ours(&error).filter(|_| presence == Presence::Gone).cloned();
        self.undecodable(Activity::Stream, error);
        gone.into_iter().for_each(|key| self.collection.remove(&key));
    }

    /// Leaves out an object that a watch speaks of. What goes away does so however little can be read of it.
    async fn left_out(&mut self, presence: Presence, error: ItemError) {
        let (key, version) = (ours(&error).cloned(), error.version().cloned());
        match key {
            Some(key) if !error.is_malformed() => {
                self.leave_out(Activity::Watch, &error);
                match (self.sink.left_out(key, presence, version.clone()).await, presence) {
                    (Ok(()), Presence::Here) => self.cursor.event_skipped(Instant::now()),
                    (handed, _) => {
                        let mut preview = self.cursor.preview();
                        preview.other(version);
                        self.handed(handed, preview);
                    }
                }
            }
            _ => self.undecodable(Activity::Watch, error),
        }
    }

    /// Notes what the sink made of an event.
    fn handed(&mut self, handed: Result<(), BoxError>, preview: VersionPreview) {
        match handed {
            Ok(()) => {
                self.events += 1;
                self.cursor.events_applied(preview, Instant::now());
            }
            Err(error) => self.sink_failed(&error),
        }
    }
}

/// So much of what a server calls an event is logged.
const LONG_KIND: usize = 64;

/// What an event says of its object.
#[derive(Clone, Copy)]
enum Change {
    Added,
    Modified,
    Deleted,
}

impl Change {
    fn presence(self) -> Presence {
        match self {
            Self::Added | Self::Modified => Presence::Here,
            Self::Deleted => Presence::Gone,
        }
    }
}

/// Which object it is that cannot be decoded. One of another kind is none of ours, whatever its name.
fn ours(error: &ItemError) -> Option<&Key> {
    match error {
        ItemError::Object(error) => error.key(),
        ItemError::Kind(_) => None,
    }
}
