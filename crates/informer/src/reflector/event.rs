//! What becomes of the events of a watch.

use super::{
    driver::{Reflector, activity},
    report::Activity,
    sink::Sink,
    step::{Reading, Seen},
};
use crate::list_watch::{Error, ItemError, ListerWatcher};
use kube_core::Resource;
use kube_informer_wire::{DecodeError, ResourceVersion, WatchEvent};
use tokio::time::Instant;

impl<K, L, S> Reflector<K, L, S>
where
    K: Resource + Send + Sync + 'static,
    L: ListerWatcher<K>,
    S: Sink<K>,
{
    /// Takes an event, or what came in its place.
    pub(super) async fn event(&mut self, reading: Reading, event: Result<WatchEvent<K>, Error>) {
        let activity = activity(reading);
        if let Ok(event) = &event {
            self.speaker.metrics.event(event);
        }
        match event {
            Ok(WatchEvent::Error(status)) => self.watch_failed(activity, &Error::status(*status)),
            Ok(WatchEvent::Bookmark { version, initial_events_end: true }) => {
                self.cursor.initial_state_complete(version, Instant::now());
            }
            Ok(event) => match reading {
                Reading::Collect => self.collect(event),
                Reading::Deliver => self.deliver(event).await,
            },
            Err(Error::Event(DecodeError::Object { cause, .. })) => self.skip(activity, &cause.into()),
            Err(Error::Kind(error)) => self.skip(activity, &error.into()),
            // A connection that breaks is a watch that ends; what was on its way comes again.
            Err(Error::Transport(_)) => self.closed(reading),
            Err(error) => self.watch_failed(activity, &error),
        }
    }

    /// Leaves out an object that is not what it should be.
    fn skip(&mut self, activity: Activity, error: &ItemError) {
        self.leave_out(activity, error);
        self.cursor.event_skipped(Instant::now());
    }

    /// Adds an event to the initial state.
    fn collect(&mut self, event: WatchEvent<K>) {
        let now = Instant::now();
        self.journal.event_came(now);
        match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                self.journal.item_came();
                match self.sink.collect(object) {
                    Ok((key, object)) => self.collection.put(key, object),
                    Err(key) => key.into_iter().for_each(|key| self.collection.unreadable(key)),
                }
            }
            WatchEvent::Deleted(object) => {
                if let Ok((key, _)) | Err(Some(key)) = self.sink.collect(object).map(|(key, _)| (key, ())) {
                    self.collection.remove(&key);
                }
            }
            _ => {}
        }
        self.cursor.event_seen(Seen::Happened, None, now);
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
}

fn version_of<K: Resource>(object: &K) -> Option<ResourceVersion> {
    object.meta().resource_version.as_deref()?.parse().ok()
}
