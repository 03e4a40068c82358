//! Waits for a condition on the objects of an informer, and watches an informer like a server.

use super::sync_error::SyncError;
use crate::{
    cache::{Snapshot, Store},
    event::Event,
    subscription::{Policy, SubscribeOptions, Subscription},
};
use futures_core::Stream;
use futures_util::FutureExt;
use kube_informer_wire::{KeyRef, WatchEvent};
use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

/// A condition cannot be waited for.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UntilError {
    /// The cache did not sync: the server refused the list, which the informer continues to retry, the informer was not started, or the
    /// saved state is of another cluster.
    #[error("condition cannot be checked before the cache has synced")]
    NotSynced(#[source] SyncError),
    /// The informer was stopped.
    #[error("informer was stopped before the condition held")]
    Stopped,
}

impl UntilError {
    /// Checks the result of waiting for the initial list. Objects that were skipped do not prevent a condition from being checked.
    pub(super) fn check(synced: Result<(), SyncError>) -> Result<(), Self> {
        match synced {
            Ok(()) => Ok(()),
            Err(error) if error.is_skipped() => Ok(()),
            Err(SyncError::Stopped { .. }) => Err(Self::Stopped),
            Err(error) => Err(Self::NotSynced(error)),
        }
    }
}

/// The options of a subscriber that needs to be woken by changes only.
pub(super) fn wake_up<K>() -> SubscribeOptions<K> {
    SubscribeOptions::new().named("until").resync(Duration::ZERO)
}

/// The options of a subscriber that receives every event.
pub(super) fn every_event<K>(name: &str) -> SubscribeOptions<K> {
    SubscribeOptions::new().named(name).resync(Duration::ZERO).policy(Policy::Unbounded)
}

/// Waits until a state of the cache fulfills the condition; `None` if the informer is stopped first.
pub(super) async fn until_snapshot<K>(
    store: &Store<K>,
    mut events: Subscription<K>,
    mut condition: impl FnMut(&Snapshot<K>) -> bool,
) -> Option<Arc<Snapshot<K>>> {
    loop {
        let snapshot = store.snapshot();
        if condition(&snapshot) {
            return Some(snapshot);
        }
        events.next().await?;
        // The next state has all changes that have arrived.
        while let Some(Some(_)) = events.next().now_or_never() {}
    }
}

/// Waits until an object fulfills the condition; `None` if the informer is stopped first.
pub(super) async fn until_object<K>(
    store: &Store<K>,
    mut events: Subscription<K>,
    key: KeyRef<'_>,
    mut condition: impl FnMut(Option<&K>) -> bool,
) -> Option<Option<Arc<K>>> {
    loop {
        let object = store.get(key);
        if condition(object.as_deref()) {
            return Some(object);
        }
        // Not only events of this object are waited for: a backlog that is coalesced has none if it was added and deleted.
        events.next().await?;
        while let Some(Some(_)) = events.next().now_or_never() {}
    }
}

/// Waits for an event that fulfills the condition; `None` if the informer is stopped first.
pub(super) async fn until_event<K>(
    mut events: Subscription<K>,
    mut condition: impl FnMut(&Event<K>) -> bool,
) -> Option<Event<K>> {
    loop {
        let event = events.next().await?;
        if condition(&event) {
            return Some(event);
        }
    }
}

/// The events of an informer in the form of a watch; see [`Informer::watch`](super::Informer::watch).
pub struct InformerWatch<K>(Subscription<K>);

impl<K> InformerWatch<K> {
    pub(super) fn new(events: Subscription<K>) -> Self {
        Self(events)
    }

    /// Waits for the next event; `None` once the informer is stopped.
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, no event is lost.
    pub async fn next(&mut self) -> Option<WatchEvent<Arc<K>>> {
        self.0.next().await.map(|event| watch_event(&event))
    }
}

fn watch_event<K>(event: &Event<K>) -> WatchEvent<Arc<K>> {
    match event {
        Event::Added { object, .. } => WatchEvent::Added(object.arc()),
        Event::Updated { new, .. } => WatchEvent::Modified(new.arc()),
        // A server also reports DELETED if an object does not match the selector any more.
        Event::Deleted { last_known, .. } | Event::Released { last_known, .. } => {
            WatchEvent::Deleted(last_known.arc())
        }
    }
}

impl<K> Stream for InformerWatch<K> {
    type Item = WatchEvent<Arc<K>>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let event = ready!(Pin::new(&mut self.0).poll_next(context));
        Poll::Ready(event.map(|event| watch_event(&event)))
    }
}

impl<K> fmt::Debug for InformerWatch<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InformerWatch").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Informer,
        delta::Delta,
        reflector::{Config, Strategy},
        source::{Script, ScriptedWatch},
        subscription::Broadcaster,
        testing::{PodBuilder, brief, describe, pod, poll_once},
    };
    use k8s_openapi::api::core::v1::Pod;
    use kube_core::Status;
    use kube_informer_wire::ResourceVersion;
    use tokio::time::Instant;

    fn rv(version: u64) -> ResourceVersion {
        ResourceVersion::number(version)
    }

    fn expired() -> WatchEvent<Pod> {
        WatchEvent::Error(Status::failure("too old", "Expired").with_code(410).boxed())
    }

    fn informer(source: Script<Pod>) -> Informer<Pod> {
        Informer::from_source(source).strategy(Strategy::List).on_error(|_| {}).start().unwrap()
    }

    fn has(name: &'static str) -> impl FnMut(&Snapshot<Pod>) -> bool {
        move |snapshot| snapshot.contains(("d", name))
    }

    // R164
    #[tokio::test(start_paused = true)]
    async fn the_precondition_is_checked_after_the_initial_list() {
        let pods = informer(Script::new().list([pod("d/a").version(1)], 1).watch(ScriptedWatch::open([])));
        let found = pods.until_with_sync(has("a"), |_| panic!("the precondition holds")).await.unwrap();
        assert!(found.is_none());
        assert!(pods.has_synced());
        assert!(pods.status().subscribers.is_empty(), "nothing is left behind");
    }

    // R164
    #[tokio::test(start_paused = true)]
    async fn without_the_precondition_events_are_checked_including_the_initial_list() {
        let watch = ScriptedWatch::open([])
            .pause(Duration::from_secs(3))
            .event(WatchEvent::Added(pod("d/b").version(2)))
            .event(WatchEvent::Modified(pod("d/b").version(3)));
        let pods = informer(Script::new().list([pod("d/a").version(1)], 1).watch(watch));
        let mut seen = Vec::new();
        let condition = |event: &Event<Pod>| {
            seen.push(describe(event));
            matches!(event, Event::Updated { .. })
        };
        let found = pods.until_with_sync(has("x"), condition).await.unwrap().unwrap();
        assert_eq!(describe(&found), "d/b@2 -> d/b@3");
        assert_eq!(seen, ["+d/a@1 initial", "+d/b@2", "d/b@2 -> d/b@3"]);
    }

    #[tokio::test(start_paused = true)]
    async fn until_waits_for_a_state_of_the_cache() {
        let watch = ScriptedWatch::open([])
            .pause(Duration::from_secs(3))
            .event(WatchEvent::Added(pod("d/b").version(2)))
            .pause(Duration::from_secs(3))
            .event(WatchEvent::Added(pod("d/c").version(3)));
        let pods = informer(Script::new().list([pod("d/a").version(1)], 1).watch(watch));
        let three = pods.until(|snapshot| snapshot.len() == 3).await.unwrap();
        assert_eq!((three.len(), three.version()), (3, Some(&rv(3))));
        assert_eq!(pods.until(has("a")).await.unwrap().len(), 3, "a condition that holds needs no change");
    }

    #[tokio::test(start_paused = true)]
    async fn await_condition_waits_for_an_object_to_change_and_to_be_deleted() {
        let watch = ScriptedWatch::open([])
            .pause(Duration::from_secs(3))
            .event(WatchEvent::Added(pod("d/b").version(2)))
            .event(WatchEvent::Modified(pod("d/a").version(3).node("n")))
            .pause(Duration::from_secs(3))
            .event(WatchEvent::Deleted(pod("d/a").version(4).node("n")));
        let pods = informer(Script::new().list([pod("d/a").version(1)], 1).watch(watch));
        let is_scheduled = |pod: Option<&Pod>| pod.is_some_and(|pod| pod.spec.is_some());
        let scheduled = pods.await_condition(("d", "a"), is_scheduled).await.unwrap().unwrap();
        assert_eq!(brief(&scheduled), "d/a@3");
        assert!(pods.await_condition(("d", "a"), |pod| pod.is_none()).await.unwrap().is_none());
    }

    #[test]
    fn an_object_whose_addition_and_deletion_are_coalesced_is_noticed() {
        let (store, writer) = Store::builder().build().unwrap();
        let broadcaster = Arc::new(Broadcaster::new(store.clone(), writer, "pods", Duration::ZERO));
        let apply = |delta: Delta<Pod>| {
            broadcaster
                .publish(Instant::now(), |writer, events| writer.edit().apply_to(delta, events))
                .unwrap();
        };
        let put = |name: &str, version| {
            apply(Delta::Updated(name.parse().unwrap(), Arc::new(pod(name).version(version)).into()));
        };
        let events = Subscription::new(&broadcaster, wake_up());
        put("d/a", 1);
        // The object is deleted, and the backlog coalesced, after the condition was checked.
        let is_deleted = |found: Option<&Pod>| {
            if found.is_some() {
                let put_many = |version| (0..5000).for_each(|number| put(&format!("d/{number}"), version));
                put_many(1);
                apply(Delta::Deleted("d/a".parse().unwrap(), None));
                put_many(2);
            }
            found.is_none()
        };
        let found = poll_once(until_object(&store, events, ("d", "a").into(), is_deleted));
        assert!(matches!(found, Poll::Ready(Some(None))));
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_without_a_limit_of_time_is_possible() {
        let watch = ScriptedWatch::open([])
            .pause(Duration::from_secs(3))
            .event(WatchEvent::Added(pod("d/b").version(2)));
        let source = Script::new().list([pod("d/a").version(1)], 1).watch(watch);
        let mut config = Config { strategy: Strategy::List, ..Config::default() };
        config.idle_timeout = Duration::MAX;
        config.min_watch_timeout = Duration::MAX;
        let pods = Informer::from_source(source).config(config).start().unwrap();
        assert_eq!(pods.until(|snapshot| snapshot.len() == 2).await.unwrap().len(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_refused_list_and_a_stop_are_errors() {
        let forbidden = crate::source::Error::status(Status::failure("no", "Forbidden").with_code(403));
        let pods = informer(Script::new().list_fails(forbidden));
        let error = pods.until(|_| true).await.unwrap_err();
        assert!(matches!(&error, UntilError::NotSynced(error) if error.is_forbidden()), "{error}");

        let pods = informer(Script::new().list([], 1).watch(ScriptedWatch::open([])));
        pods.synced().await.unwrap();
        let stop = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            pods.stop();
        };
        let (found, ()) = tokio::join!(pods.until(|_| false), stop);
        assert!(matches!(found.unwrap_err(), UntilError::Stopped));
        assert!(matches!(pods.await_condition("a", |_| false).await.unwrap_err(), UntilError::Stopped));
    }

    fn brief_of(event: &WatchEvent<Arc<Pod>>) -> String {
        match event {
            WatchEvent::Added(pod) => format!("+{}", brief(pod)),
            WatchEvent::Modified(pod) => format!("~{}", brief(pod)),
            WatchEvent::Deleted(pod) => format!("-{}", brief(pod)),
            other => panic!("{other:?}"),
        }
    }

    // R165
    #[tokio::test(start_paused = true)]
    async fn an_unobserved_deletion_is_reported_with_the_last_known_object_and_events_are_in_order() {
        let source = Script::new()
            .list([pod("d/a").version(1), pod("d/b").version(1)], 1)
            .watch(ScriptedWatch::closed([
                WatchEvent::Modified(pod("d/a").version(2)),
                WatchEvent::Added(pod("d/c").version(3)),
                WatchEvent::Modified(pod("d/a").version(4)),
                WatchEvent::Deleted(pod("d/b").version(5)),
                expired(),
            ]))
            .list([pod("d/c").version(3)], 9)
            .watch(ScriptedWatch::open([WatchEvent::Modified(pod("d/c").version(10))]));
        let pods = informer(source);
        let mut watch = pods.watch();
        let mut events = Vec::new();
        for _ in 0..8 {
            events.push(brief_of(&watch.next().await.unwrap()));
        }
        events[..2].sort();
        let expected = ["+d/a@1", "+d/b@1", "~d/a@2", "+d/c@3", "~d/a@4", "-d/b@5", "-d/a@4", "~d/c@10"];
        assert_eq!(events, expected);
        drop(watch);
        assert!(pods.status().subscribers.is_empty(), "a dropped watch is removed");
        let mut watch = pods.watch();
        pods.stop();
        while watch.next().await.is_some() {}
    }
}
