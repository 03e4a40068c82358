//! Records what reflectors receive into a history, and replays a history into an informer.
//!
//! A [`Recording`] writes the lists and watches of any number of kinds to a folder.
//!
//! A [`Replay`] of `kube_history` is a [`ListerWatcher`]: its list has the objects at the start of the range, its watch the events after
//! it with their original spacing, at another speed, or without waiting. An [`Informer`](crate::Informer) or a `Controller` runs on it
//! unchanged.
//!
//! After the last event the watch sends a bookmark with the version of the end of the range, and stays open. Wait for that version with
//! [`Store::wait_for`](crate::Store::wait_for). Under paused time (`start_paused`), the original spacing takes no time.
//!
//! Selectors are not supported; use [`Replay::namespace`]. Files are read by the task of the informer.

use crate::{
    boxed::BoxFuture,
    object::{Decoder, RawObject},
    source::{Error, ListerWatcher, OnItem, Watch},
};
use futures_util::stream;
use kube_core::Resource;
use kube_history::{KindId, ReadError, ReplayEvent, ReplayEvents, Version};
use kube_informer_wire::{
    EventType, ListMeta, ListOptions, ManagedFields, ResourceVersion, WatchEvent, WatchOptions,
};
use serde::de::DeserializeOwned;
use std::time::Duration;

mod recording;

pub use kube_history::{History, Replay};
pub use recording::{LastError, Recording, RecordingSink, RecordingStatus};

/// A watch in progress.
struct Replaying<K> {
    /// The objects that exist at the start, if the watch starts with them.
    initial: std::vec::IntoIter<Version>,
    events: ReplayEvents,
    /// The next event, if it is not due yet, and the time to wait for it.
    waiting: Option<(ReplayEvent, Duration)>,
    /// The version up to which all events were sent.
    version: ResourceVersion,
    end: Option<ResourceVersion>,
    decoder: Decoder<K>,
}

/// The interval of bookmarks while no event is due. Without them the watch would count as dead.
const BOOKMARK_INTERVAL: Duration = Duration::from_secs(30);

/// The version of a kind that was never listed.
const UNLISTED: ResourceVersion = ResourceVersion::number(1);

fn failed(error: ReadError) -> Error {
    Error::Transport(Box::new(error))
}

fn kind_of<K: Resource<DynamicType: Default>>(replay: &Replay) -> Result<KindId, Error> {
    let kind = K::DynamicType::default();
    replay.kind(&K::group(&kind), &K::version(&kind), &K::plural(&kind)).map_err(failed)
}

fn decoder_of<K: DeserializeOwned>() -> Decoder<K> {
    Decoder::new(|raw| Ok(raw.decode(ManagedFields::Drop)?)).managed_fields(ManagedFields::Drop)
}

fn raw_object<K>(version: &Version, decoder: &Decoder<K>) -> Result<RawObject<K>, Error> {
    Ok(RawObject::encoded(version.object().map_err(failed)?, decoder.clone()))
}

fn check_selectors(is_everything: bool) -> Result<(), Error> {
    let reason = "a replay does not support selectors: use `Replay::namespace`";
    if is_everything { Ok(()) } else { Err(Error::Transport(reason.into())) }
}

impl<K> Replaying<K> {
    /// Waits for the next event. After the last one, it returns a bookmark and then waits forever.
    async fn next(&mut self) -> Result<WatchEvent<RawObject<K>>, Error> {
        if let Some(object) = self.initial.next() {
            return Ok(WatchEvent::Added(raw_object(&object, &self.decoder)?));
        }
        if self.waiting.is_none() {
            let next = self.events.next().transpose().map_err(failed)?;
            self.waiting = next.map(|event| {
                let delay = event.delay;
                (event, delay)
            });
        }
        let Some((event, delay)) = self.waiting.take() else { return self.end().await };
        if delay > BOOKMARK_INTERVAL {
            self.waiting = Some((event, delay - BOOKMARK_INTERVAL));
            tokio::time::sleep(BOOKMARK_INTERVAL).await;
            return Ok(WatchEvent::Bookmark { version: self.version.clone(), initial_events_end: false });
        }
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        if let Some(version) = event.object.version() {
            self.version = version.clone();
        }
        let object = raw_object(&event.object, &self.decoder)?;
        Ok(match event.event {
            EventType::Deleted => WatchEvent::Deleted(object),
            EventType::Modified => WatchEvent::Modified(object),
            EventType::Added | EventType::Bookmark | EventType::Error => WatchEvent::Added(object),
        })
    }

    /// Returns the bookmark of the end once, and then waits forever.
    async fn end(&mut self) -> Result<WatchEvent<RawObject<K>>, Error> {
        match self.end.take() {
            Some(version) => Ok(WatchEvent::Bookmark { version, initial_events_end: false }),
            None => std::future::pending().await,
        }
    }
}

impl<K> ListerWatcher<K> for Replay
where
    K: Resource<DynamicType: Default> + DeserializeOwned + Send + 'static,
{
    fn list<'a>(
        &'a self,
        options: &'a ListOptions,
        on_item: OnItem<'a, K>,
    ) -> BoxFuture<'a, Result<ListMeta, Error>> {
        Box::pin(async move {
            check_selectors(
                options.label_selector.is_everything() && options.field_selector.is_everything(),
            )?;
            let initial = self.initial(kind_of::<K>(self)?).map_err(failed)?;
            let decoder = decoder_of();
            for object in &initial.objects {
                on_item(Ok(raw_object(object, &decoder)?));
            }
            let mut meta = ListMeta::default();
            meta.version = Some(initial.version.unwrap_or(UNLISTED));
            Ok(meta)
        })
    }

    fn watch<'a>(&'a self, options: &'a WatchOptions) -> BoxFuture<'a, Result<Watch<K>, Error>> {
        Box::pin(async move {
            check_selectors(
                options.label_selector.is_everything() && options.field_selector.is_everything(),
            )?;
            let kind = kind_of::<K>(self)?;
            let after = options.resource_version.as_ref().filter(|version| !version.is_any());
            let (version, initial) = match after {
                Some(version) => (Some(version.clone()), Vec::new()),
                None => {
                    let list = self.initial(kind).map_err(failed)?;
                    (list.version, list.objects)
                }
            };
            let replaying = Replaying {
                version: version.unwrap_or(UNLISTED),
                initial: initial.into_iter(),
                waiting: None,
                events: self.events(kind, after).map_err(failed)?,
                end: self.last_version(kind).map_err(failed)?,
                decoder: decoder_of(),
            };
            Ok(Watch::from_raw(stream::unfold(replaying, |mut replaying| async move {
                let event = replaying.next().await;
                Some((event, replaying))
            })))
        })
    }

    fn can_stream_lists(&self) -> bool {
        false
    }

    fn describe(&self) -> String {
        let kind = K::DynamicType::default();
        format!("replay of {} {}", K::api_version(&kind), K::kind(&kind))
    }

    fn decoder(&self) -> Option<Decoder<K>> {
        Some(decoder_of())
    }
}
