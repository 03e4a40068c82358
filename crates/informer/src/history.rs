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
//! The first watch begins the replay, for all clones of the [`Replay`]. Each event is delivered at its time after that, also if the watch
//! is closed and opened again.
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
use tokio::time::{Instant, sleep};

mod recording;

pub use kube_history::{History, Replay};
pub use recording::{LastError, Recording, RecordingSink, RecordingStatus};

/// A watch in progress.
struct Replaying<K> {
    replay: Replay,
    /// The objects that exist at the start, if the watch starts with them.
    initial: std::vec::IntoIter<Version>,
    events: ReplayEvents,
    /// The next event, if it is not due yet.
    waiting: Option<ReplayEvent>,
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
    let reason = "label and field selectors are not supported by a replay; use `Replay::namespace`";
    if is_everything { Ok(()) } else { Err(Error::Transport(reason.into())) }
}

impl<K> Replaying<K> {
    /// Waits for the next event. After the last one, it returns a bookmark and then waits forever.
    async fn next(&mut self) -> Result<WatchEvent<RawObject<K>>, Error> {
        if let Some(object) = self.initial.next() {
            return Ok(WatchEvent::Added(raw_object(&object, &self.decoder)?));
        }
        let next = self.waiting.take().map(Ok).or_else(|| self.events.next());
        let Some(event) = next.transpose().map_err(failed)? else { return self.end().await };
        let delay = self.replay.time_until(&event, Instant::now().into_std());
        if delay > BOOKMARK_INTERVAL {
            self.waiting = Some(event);
            sleep(BOOKMARK_INTERVAL).await;
            return Ok(WatchEvent::Bookmark { version: self.version.clone(), initial_events_end: false });
        }
        if !delay.is_zero() {
            sleep(delay).await;
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
                replay: self.clone(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Informer;
    use jiff::Timestamp;
    use k8s_openapi::api::core::v1::Pod;
    use kube_history::{Kind, List, Recorder, RecorderOptions};
    use kube_informer_wire::{Format, Raw};
    use testkit::TempFolder;

    fn time(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    /// Records a list at second 0, and a version of a pod at each second.
    fn recorded(folder: &TempFolder, seconds: &[i64]) -> History {
        let mut recorder = Recorder::open(folder.path(), RecorderOptions::default(), time(0)).unwrap();
        let kind = recorder.add_kind(Kind::new("", "v1", "Pod", "pods"), time(0)).unwrap();
        let version = Some(ResourceVersion::number(1));
        recorder.list(List { kind, namespace: None, version, objects: [] }, time(0)).unwrap();
        for (version, second) in (2..).zip(seconds) {
            let json = format!(
                r#"{{"metadata":{{"name":"a","namespace":"b","uid":"1","resourceVersion":"{version}"}}}}"#
            );
            let pod = Raw::new(Format::Json, json.into());
            recorder.change(kind, EventType::Modified, &pod, time(*second)).unwrap();
        }
        recorder.close(time(*seconds.last().unwrap())).unwrap();
        History::open(folder.path()).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_replay_delivers_events_that_are_hours_apart_at_their_times() {
        let folder = TempFolder::new("kube-informer-replay");
        let seconds = [1, 7_200, 20_000];
        let history = recorded(&folder, &seconds);
        let started = Instant::now();
        let pods = Informer::<Pod>::from_source(history.replay(time(0)..time(20_000))).start().unwrap();
        for (version, second) in (2..).zip(seconds) {
            let version = ResourceVersion::number(version);
            let arrived = pods.wait_for(&version);
            tokio::time::timeout(Duration::from_secs(100_000), arrived).await.expect("it arrives").unwrap();
            // Events are at most a second late after a watch is opened again.
            let late = started.elapsed().as_secs_f64() - f64::from(i32::try_from(second).unwrap());
            assert!((0.0..2.0).contains(&late), "version {version} is {late} s late");
        }
        pods.stop();
        pods.stopped().await;
    }

    #[test]
    fn selectors_are_rejected_with_a_reason() {
        assert!(check_selectors(true).is_ok());
        let chain = crate::boxed::error_chain(&check_selectors(false).unwrap_err());
        let expected = "label and field selectors are not supported by a replay; use `Replay::namespace`";
        assert!(chain.ends_with(expected), "{chain}");
    }
}
