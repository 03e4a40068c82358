//! Tests of the broadcaster and its subscribers.

use super::{Broadcaster, Policy, SubscribeOptions, Subscription, event_log::EventBatch, metrics as names};
use crate::{
    cache::{Scope, Store, Writer},
    delta::Delta,
    event::{Deletion, Event, Phase, UpdateCause},
    object::Listing,
    testing::{Figures, PodBuilder, brief, describe, now, pod, poll_once, rv, version_of},
};
use k8s_openapi::api::core::v1::Pod;
use kube_informer_wire::Key;
use proptest::prelude::*;
use std::{
    collections::BTreeMap,
    num::NonZeroUsize,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::Poll,
    time::Duration,
};
use tokio::time::Instant;

/// A broadcaster to which tests write events.
struct Fixture {
    broadcaster: Arc<Broadcaster<Pod>>,
    store: Store<Pod>,
    has_listed: AtomicBool,
}

impl Fixture {
    fn new() -> Self {
        let (store, writer) = Store::builder().build().unwrap();
        let broadcaster = Arc::new(Broadcaster::new(store.clone(), writer, "pods", Duration::ZERO));
        Self { broadcaster, store, has_listed: AtomicBool::new(false) }
    }

    fn put(&self, pod: Pod) -> &Self {
        let key = Key::of(&pod).unwrap();
        self.apply(version_of(&pod), Delta::Updated(key, Arc::new(pod).into()))
    }

    fn delete(&self, pod: Pod) -> &Self {
        let key = Key::of(&pod).unwrap();
        self.apply(version_of(&pod), Delta::Deleted(key, Some(Arc::new(pod).into())))
    }

    fn release(&self, name: &str) -> &Self {
        let release = |writer: &mut Writer<Pod>, events: &mut EventBatch<Pod>| {
            writer.edit().release(Scope::Matching(&|entry| entry.key().name() == name), events);
        };
        self.broadcaster.publish(Instant::now(), release).unwrap();
        self
    }

    fn list(&self, pods: impl IntoIterator<Item = Pod>, version: u64) -> &Self {
        let listing = Listing::new(pods.into_iter().map(Arc::new), Some(rv(version))).unwrap();
        let is_first = !self.has_listed.swap(true, Ordering::Relaxed);
        let phase = if is_first { Phase::Initial } else { Phase::Live };
        let replace = |writer: &mut Writer<Pod>, events: &mut EventBatch<Pod>| {
            writer.edit().replace_scope(Scope::All, listing, phase, events);
        };
        self.broadcaster.publish(Instant::now(), replace).unwrap();
        self
    }

    fn apply(&self, version: u64, delta: Delta<Pod>) -> &Self {
        let apply = |writer: &mut Writer<Pod>, events: &mut EventBatch<Pod>| {
            let mut edit = writer.edit();
            edit.apply_to(delta, events);
            edit.set_version(rv(version));
        };
        self.broadcaster.publish(Instant::now(), apply).unwrap();
        self
    }

    fn subscribe(&self, policy: Policy) -> Subscription<Pod> {
        Subscription::new(&self.broadcaster, SubscribeOptions::new().policy(policy))
    }

    fn subscribe_with_resync(&self) -> Subscription<Pod> {
        Subscription::new(&self.broadcaster, SubscribeOptions::new().resync(Duration::from_secs(1)))
    }
}

/// Returns all events that a subscriber can receive now.
fn receive(subscriber: &mut Subscription<Pod>) -> Vec<String> {
    let mut events = Vec::new();
    while let Poll::Ready(Some(event)) = poll_once(subscriber.next()) {
        events.push(describe(&event));
    }
    events
}

fn sorted(mut events: Vec<String>) -> Vec<String> {
    events.sort();
    events
}

// R125
#[test]
fn a_late_subscriber_receives_the_cache_and_then_every_change() {
    let fixture = Fixture::new();
    let mut early = fixture.subscribe(Policy::Unbounded);
    fixture.list([pod("a").version(1), pod("b").version(2)], 2).put(pod("a").version(3));
    let (mut late, mut begun) = (fixture.subscribe(Policy::Unbounded), fixture.subscribe(Policy::Unbounded));
    fixture.put(pod("c").version(4)).delete(pod("b").version(5));
    assert_eq!((early.registration().depth(), late.registration().depth()), (5, 4));
    assert!(now(begun.next()).is_some());
    assert_eq!(begun.registration().depth(), 3, "events of the current chunk count too");
    assert_eq!(receive(&mut early), ["+a@1 initial", "+b@2 initial", "a@1 -> a@3", "+c@4", "-b@5"]);
    let all = receive(&mut late);
    assert_eq!(sorted(all[..2].to_vec()), ["+a@3 initial", "+b@2 initial"]);
    assert_eq!(all[2..], ["+c@4", "-b@5"]);
}

// R115, R124
#[test]
fn an_initial_list_is_one_event_in_the_log_and_delivered_in_list_order() {
    let fixture = Fixture::new();
    let policies = [Policy::Unbounded, Policy::Coalesce(NonZeroUsize::MIN), Policy::Block(NonZeroUsize::MIN)];
    let mut subscribers = policies.map(|policy| fixture.subscribe(policy));
    let name = |number: u64| format!("pod-{}", 999 - number);
    let pods = (1..=300).map(|number| pod(&name(number)).version(number));
    fixture.list(pods, 300);
    for subscriber in &subscribers {
        assert_eq!(subscriber.registration().depth(), 300);
    }
    assert!(
        poll_once_in_runtime(fixture.broadcaster.wait_for_capacity()).is_pending(),
        "the blocking subscriber has handled nothing"
    );
    let first = format!("pod-{}", 999 - 1);
    for version in 301..=303 {
        fixture.put(pod(&first).version(version));
    }
    let expected: Vec<_> = (1..=300).map(|number| format!("+{}@{number} initial", name(number))).collect();
    for (subscriber, after) in subscribers.iter_mut().zip([3, 1, 3]) {
        let all = receive(subscriber);
        assert_eq!(all[..300], expected);
        assert_eq!(all.len(), 300 + after, "{:?}", &all[300..]);
    }
    assert!(poll_once_in_runtime(fixture.broadcaster.wait_for_capacity()).is_ready());
}

// R115
#[test]
fn an_initial_list_with_a_duplicate_key_delivers_the_last_state() {
    let fixture = Fixture::new();
    let mut subscriber = fixture.subscribe(Policy::Unbounded);
    fixture.list([pod("a").version(1), pod("b").version(2), pod("a").version(3)], 3);
    assert_eq!(receive(&mut subscriber), ["+b@2 initial", "+a@3 initial"]);
    assert_eq!(fixture.store.len(), 2);
}

// R126
#[test]
fn a_subscriber_has_synced_when_it_has_handled_the_initial_list() {
    let fixture = Fixture::new();
    let mut subscriber = fixture.subscribe(Policy::Unbounded);
    let registration = subscriber.registration().clone();
    assert!(!registration.has_synced(), "nothing was listed");
    fixture.list([pod("a").version(1)], 1);
    fixture.broadcaster.mark_synced();
    assert!(!registration.has_synced(), "no event was handled");
    assert!(now(subscriber.next()).is_some());
    assert!(!registration.has_synced(), "the last event is being handled");
    assert!(poll_once(subscriber.next()).is_pending());
    assert!(registration.has_synced());

    let mut late = fixture.subscribe(Policy::Unbounded);
    assert!(!late.registration().has_synced());
    assert_eq!(receive(&mut late), ["+a@1 initial"]);
    assert!(late.registration().has_synced());
}

// R126
#[test]
fn a_subscriber_of_an_empty_cache_syncs_with_the_cache() {
    let fixture = Fixture::new();
    let subscriber = fixture.subscribe(Policy::Unbounded);
    assert!(!subscriber.registration().has_synced());
    fixture.list([], 1);
    fixture.broadcaster.mark_synced();
    assert!(subscriber.registration().has_synced());
    assert!(fixture.subscribe(Policy::default()).registration().has_synced());
}

// R130
#[test]
fn objects_unchanged_by_a_relist_are_delivered_to_subscribers_that_resync() {
    let fixture = Fixture::new();
    let mut plain = fixture.subscribe(Policy::Unbounded);
    let mut resyncing = fixture.subscribe_with_resync();
    fixture.list([pod("a").version(1), pod("b").version(2)], 2);
    fixture.list([pod("a").version(1), pod("b").version(3), pod("c").version(4)], 4);
    assert_eq!(receive(&mut plain)[2..], ["b@2 -> b@3", "+c@4"]);
    assert_eq!(receive(&mut resyncing)[2..], ["=a@1", "b@2 -> b@3", "+c@4"]);
}

#[test]
fn a_coalescing_subscriber_that_is_behind_receives_the_latest_state_of_each_key() {
    let fixture = Fixture::new();
    let mut slow = fixture.subscribe(Policy::coalesce(3));
    fixture.put(pod("a").version(1)).put(pod("b").version(2)).put(pod("c").version(3));
    assert_eq!(receive(&mut slow), ["+a@1", "+b@2", "+c@3"], "it receives every event while it keeps up");

    fixture.put(pod("a").version(4)).put(pod("a").version(5)).delete(pod("b").version(6));
    fixture.put(pod("b").version(7)).put(pod("d").version(8)).delete(pod("d").version(9));
    fixture.delete(pod("c").version(10)).put(pod("e").version(11)).put(pod("e").version(12));
    let expected = ["a@1 -> a@5", "-b@6", "+b@7", "-c@10", "+e@11", "e@11 -> e@12"];
    assert_eq!(receive(&mut slow), expected, "d is omitted, and the last two events are within the limit");
    fixture.put(pod("e").version(13));
    assert_eq!(receive(&mut slow), ["e@12 -> e@13"]);
}

#[test]
fn an_event_is_freed_when_every_subscriber_has_read_it() {
    let fixture = Fixture::new();
    let mut slow = fixture.subscribe(Policy::Unbounded);
    let mut quick = fixture.subscribe(Policy::Unbounded);
    fixture.put(pod("a").version(1));
    let first: Weak<Pod> = Arc::downgrade(&fixture.store.get("a").unwrap());
    fixture.put(pod("a").version(2)).put(pod("a").version(3));
    drop(receive(&mut quick));
    assert!(first.upgrade().is_some(), "one subscriber has not read it");
    drop(receive(&mut slow));
    assert!(first.upgrade().is_none(), "every subscriber has read it");
}

#[test]
fn handling_an_event_does_not_keep_later_events_alive() {
    let fixture = Fixture::new();
    let mut stuck = fixture.subscribe(Policy::coalesce(3));
    fixture.put(pod("a").version(1));
    assert!(now(stuck.next()).is_some(), "the first event is being handled");
    for version in 2..10 {
        fixture.put(pod("a").version(version));
    }
    let middle = Arc::downgrade(&fixture.store.get("a").unwrap());
    for version in 10..20 {
        fixture.put(pod("a").version(version));
    }
    assert!(middle.upgrade().is_none());
    assert_eq!(receive(&mut stuck).last().map(String::as_str), Some("a@18 -> a@19"));
}

#[test]
fn the_registration_of_a_closed_subscriber_keeps_no_events_alive() {
    let fixture = Fixture::new();
    fixture.put(pod("b").version(1));
    let (dropped, removed) = (fixture.subscribe(Policy::Unbounded), fixture.subscribe(Policy::Unbounded));
    let registrations = [dropped.registration().clone(), removed.registration().clone()];
    drop(dropped);
    removed.registration().remove();
    fixture.put(pod("a").version(2));
    let there: Vec<_> = ["a", "b"].map(|name| Arc::downgrade(&fixture.store.get(name).unwrap())).into();
    fixture.delete(pod("a").version(3)).delete(pod("b").version(4)).put(pod("c").version(5));
    assert!(there.iter().all(|gone| gone.upgrade().is_none()));
    assert!(registrations.iter().all(|registration| registration.is_closed() && registration.depth() == 0));
}

#[test]
fn a_subscriber_that_is_always_behind_syncs_when_it_has_handled_the_initial_list() {
    let fixture = Fixture::new();
    let mut slow = fixture.subscribe(Policy::coalesce(10));
    fixture.list((0..1000).map(|number| pod(&format!("p{number:04}")).version(1)), 1);
    fixture.broadcaster.mark_synced();
    let registration = slow.registration().clone();
    // Four changes for each handled event, so it never catches up.
    let mut version = 1;
    for handled in 0..1000 {
        assert!(!registration.has_synced(), "{handled}");
        assert!(now(slow.next()).is_some());
        for _ in 0..4 {
            version += 1;
            fixture.put(pod(&format!("p{:04}", (version * 7) % 1000)).version(version));
        }
    }
    assert!(now(slow.next()).is_some());
    for _ in 0..super::reader::MAX_CHUNK {
        now(slow.next());
    }
    assert!(registration.has_synced() && registration.depth() > 100);
}

#[test]
fn resyncs_of_others_do_not_accumulate_for_a_subscriber_that_does_not_read() {
    for policy in [Policy::block(2), Policy::coalesce(2)] {
        let fixture = Fixture::new();
        let mut eager = fixture.subscribe_with_resync();
        let mut stuck = fixture.subscribe(policy);
        fixture.list([pod("a").version(1)], 1);
        fixture.broadcaster.mark_synced();
        let mut at = Instant::now();
        for _ in 0..100 {
            at += Duration::from_secs(2);
            assert!(
                fixture.broadcaster.resync(at).is_some_and(|next| next > at),
                "the next resync is scheduled"
            );
            receive(&mut eager);
        }
        assert!(stuck.registration().depth() <= 3, "{policy:?}: {}", stuck.registration().depth());
        assert_eq!(receive(&mut stuck), ["+a@1 initial"]);
        fixture.broadcaster.resync(at + Duration::from_secs(2));
        assert_eq!(receive(&mut eager), ["=a@1"], "resyncs continue once the other has caught up");
    }
}

// R75
#[test]
fn a_resync_is_skipped_while_the_last_one_is_being_delivered() {
    let fixture = Fixture::new();
    let mut slow = fixture.subscribe_with_resync();
    fixture.list([pod("a").version(1), pod("b").version(1)], 1);
    fixture.broadcaster.mark_synced();
    assert_eq!(receive(&mut slow).len(), 2);
    let mut at = Instant::now();
    for _ in 0..10 {
        at += Duration::from_secs(2);
        fixture.broadcaster.resync(at);
    }
    assert_eq!(receive(&mut slow).len(), 2);
    fixture.broadcaster.resync(at + Duration::from_secs(2));
    assert_eq!(receive(&mut slow).len(), 2);
}

#[test]
fn events_that_a_blocking_subscriber_skips_do_not_block() {
    let fixture = Fixture::new();
    let mut blocking = fixture.subscribe(Policy::block(2));
    let resyncing = fixture.subscribe_with_resync();
    let many = || (0..100).map(|number| pod(&format!("p{number}")).version(1));
    fixture.list(many(), 1);
    assert_eq!(receive(&mut blocking).len(), 100);
    // Nothing changed, so the blocking subscriber skips all of these.
    fixture.list(many(), 2);
    let mut room = Box::pin(fixture.broadcaster.wait_for_capacity());
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let mut receive_in_runtime = || {
        let _guard = runtime.enter();
        receive(&mut blocking)
    };
    runtime.block_on(async {
        assert!(futures_util::poll!(&mut room).is_pending());
        assert_eq!(receive_in_runtime(), [""; 0]);
        tokio::time::timeout(Duration::from_millis(1), room).await.expect("skipping frees capacity");
    });
    drop(resyncing);
}

#[test]
fn a_resync_of_another_subscriber_does_not_block() {
    let fixture = Fixture::new();
    let mut blocking = fixture.subscribe(Policy::block(1));
    let _resyncing = fixture.subscribe_with_resync();
    fixture.broadcaster.mark_synced();
    fixture.broadcaster.resync(Instant::now() + Duration::from_secs(2));
    now(fixture.broadcaster.wait_for_capacity());
    fixture.put(pod("a").version(1));
    assert!(poll_once_in_runtime(fixture.broadcaster.wait_for_capacity()).is_pending());
    assert_eq!(receive(&mut blocking), ["+a@1"], "the resync is skipped");
}

#[test]
fn a_removed_stream_does_not_return_the_rest_of_its_chunk() {
    let fixture = Fixture::new();
    let mut subscriber = fixture.subscribe(Policy::Unbounded);
    fixture.list([pod("a").version(1), pod("b").version(1), pod("c").version(1)], 1);
    assert!(now(subscriber.next()).is_some());
    subscriber.registration().remove();
    assert!(now(subscriber.next()).is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiting_stream_ends_when_the_broadcaster_is_closed() {
    for _ in 0..500 {
        let fixture = Fixture::new();
        let mut subscriber = fixture.subscribe(Policy::Unbounded);
        let reads = tokio::spawn(async move { while subscriber.next().await.is_some() {} });
        let closes = tokio::task::spawn_blocking({
            let broadcaster = Arc::clone(&fixture.broadcaster);
            move || broadcaster.close()
        });
        closes.await.unwrap();
        tokio::time::timeout(Duration::from_secs(60), reads).await.expect("the stream is woken").unwrap();
    }
}

#[test]
fn a_resync_period_beyond_the_range_of_instant_means_never() {
    let fixture = Fixture::new();
    let subscriber = Subscription::new(&fixture.broadcaster, SubscribeOptions::new().resync(Duration::MAX));
    fixture.broadcaster.mark_synced();
    assert_eq!(fixture.broadcaster.resync(Instant::now()), None);
    drop(subscriber);
}

#[test]
fn the_backlog_of_a_coalescing_subscriber_is_bounded_by_the_number_of_keys() {
    let fixture = Fixture::new();
    let subscriber = fixture.subscribe(Policy::coalesce(10));
    for version in 1..5_000 {
        fixture.put(pod(&format!("p{}", version % 20)).version(version));
    }
    assert!(subscriber.registration().depth() <= 20 + 10, "{}", subscriber.registration().depth());
}

#[test]
fn a_long_backlog_is_freed_without_recursion() {
    let fixture = Fixture::new();
    let subscriber = fixture.subscribe(Policy::Unbounded);
    for version in 1..200_000 {
        fixture.put(pod("a").version(version));
    }
    assert_eq!(subscriber.registration().depth(), 199_999);
    drop(subscriber);
}

// R123
#[test]
fn a_filter_turns_updates_that_cross_it_into_additions_and_deletions() {
    let fixture = Fixture::new();
    let front = SubscribeOptions::new().labels("tier=front".parse().unwrap()).namespace("web");
    let mut subscriber = Subscription::new(&fixture.broadcaster, front);
    let labelled = |version, tier| pod("web/a").version(version).label("tier", tier);
    fixture
        .put(labelled(1, "back"))
        .put(labelled(2, "front"))
        .put(labelled(3, "front"))
        .put(labelled(4, "back"));
    fixture
        .put(pod("other/b").version(5).label("tier", "front"))
        .put(labelled(6, "front"))
        .delete(labelled(7, "back"));
    assert_eq!(
        receive(&mut subscriber),
        ["+web/a@2", "web/a@2 -> web/a@3", "-web/a@3", "+web/a@6", "-web/a@7"]
    );
}

// R132
#[test]
fn a_removed_subscriber_receives_nothing_and_can_be_removed_again() {
    let fixture = Fixture::new();
    let mut gone = fixture.subscribe(Policy::Unbounded);
    let mut stays = fixture.subscribe(Policy::Unbounded);
    fixture.put(pod("a").version(1));
    gone.registration().remove();
    assert_eq!(now(gone.next()).map(|event| describe(&event)), None);
    gone.registration().remove();
    fixture.put(pod("a").version(2));
    assert!(gone.registration().is_closed());
    assert_eq!(receive(&mut stays), ["+a@1", "a@1 -> a@2"]);
}

#[test]
fn a_closed_broadcaster_is_read_to_its_end_and_accepts_no_subscribers() {
    let fixture = Fixture::new();
    let mut subscriber = fixture.subscribe(Policy::Unbounded);
    fixture.put(pod("a").version(1));
    fixture.broadcaster.close();
    assert_eq!(now(subscriber.next()).map(|event| describe(&event)).as_deref(), Some("+a@1"));
    assert!(now(subscriber.next()).is_none());
    let mut late = fixture.subscribe(Policy::Unbounded);
    assert!(now(late.next()).is_none() && late.registration().is_closed());
    assert!(fixture.broadcaster.publish(Instant::now(), |_, _| ()).is_none());
}

#[test]
fn only_a_blocking_subscriber_makes_the_broadcaster_wait() {
    let fixture = Fixture::new();
    let _others = [fixture.subscribe(Policy::Unbounded), fixture.subscribe(Policy::coalesce(1))];
    let mut blocking = fixture.subscribe(Policy::block(2));
    fixture.put(pod("a").version(1));
    now(fixture.broadcaster.wait_for_capacity());
    fixture.put(pod("a").version(2));
    assert!(poll_once_in_runtime(fixture.broadcaster.wait_for_capacity()).is_pending());
    assert_eq!(receive(&mut blocking).len(), 2);
    now(fixture.broadcaster.wait_for_capacity());
    fixture.put(pod("a").version(3)).put(pod("a").version(4));
    assert!(poll_once_in_runtime(fixture.broadcaster.wait_for_capacity()).is_pending());
    drop(blocking);
    now(fixture.broadcaster.wait_for_capacity());
}

/// Polls a future once that may start a timer.
fn poll_once_in_runtime<T>(future: impl Future<Output = T>) -> Poll<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let _guard = runtime.enter();
    poll_once(future)
}

#[tokio::test(start_paused = true)]
async fn metrics_report_depth_lag_and_latency() {
    let figures = Figures::default();
    let _guard = metrics::set_default_local_recorder(&figures);
    let fixture = Fixture::new();
    let mut quick = Subscription::new(&fixture.broadcaster, SubscribeOptions::new().named("quick"));
    let stuck = Subscription::new(&fixture.broadcaster, SubscribeOptions::new().named("stuck"));
    fixture.put(pod("a").version(1));
    tokio::time::advance(Duration::from_secs(5)).await;
    drop(receive(&mut quick));
    fixture.put(pod("a").version(2)).put(pod("b").version(3));
    for (name, label, figure) in [
        (names::EVENTS, "", 3.0),
        (names::OBJECTS, "", 2.0),
        (names::VERSION, "", 3.0),
        (names::HANDLER_DEPTH, "quick", 1.0),
        (names::HANDLER_DEPTH, "stuck", 2.0),
        (names::HANDLER_LAG, "quick", 0.0),
        (names::HANDLER_LAG, "stuck", 5.0),
        (names::HANDLER_LATENCY, "quick", 5.0),
        (names::HANDLER_LATENCY, "stuck", 0.0),
        (names::HANDLER_PANICS, "stuck", 0.0),
    ] {
        assert_eq!(figures.of(name, label), figure, "{name} {label}: {:?}", figures.all);
    }
    drop(stuck);
}

#[tokio::test(start_paused = true)]
async fn a_recorder_installed_after_the_informer_was_built_receives_metrics() {
    let fixture = Fixture::new();
    let mut early = Subscription::new(&fixture.broadcaster, SubscribeOptions::new().named("early"));
    fixture.put(pod("a").version(1));
    let figures = Figures::default();
    let _guard = metrics::set_default_local_recorder(&figures);
    fixture.put(pod("b").version(2)).put(pod("b").version(3));
    tokio::time::advance(Duration::from_secs(5)).await;
    assert_eq!(receive(&mut early).len(), 3);
    for (name, label, figure) in [
        (names::EVENTS, "", 2.0),
        (names::OBJECTS, "", 2.0),
        (names::VERSION, "", 3.0),
        (names::HANDLER_DEPTH, "early", 2.0),
        (names::HANDLER_LATENCY, "early", 15.0),
    ] {
        assert_eq!(figures.of(name, label), figure, "{name} {label}: {:?}", figures.all);
    }
    let registered = figures.registered.load(Ordering::Relaxed);
    fixture.put(pod("c").version(4));
    assert_eq!(figures.registered.load(Ordering::Relaxed), registered, "metrics are registered once");
}

/// Counts how often it was woken.
#[derive(Default)]
struct CountingWaker(AtomicUsize);

impl std::task::Wake for CountingWaker {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn publishing_wakes_each_waiting_subscriber_once_and_no_other() {
    let fixture = Fixture::new();
    let mut waiting = [fixture.subscribe(Policy::Unbounded), fixture.subscribe(Policy::default())];
    let mut idle = fixture.subscribe(Policy::Unbounded);
    let wakers: [Arc<CountingWaker>; 3] = Default::default();
    let poll = |subscriber: &mut Subscription<Pod>, waker: &Arc<CountingWaker>| {
        let waker = std::task::Waker::from(Arc::clone(waker));
        let next = std::pin::pin!(subscriber.next());
        next.poll(&mut std::task::Context::from_waker(&waker)).is_ready()
    };
    for (subscriber, waker) in waiting.iter_mut().zip(&wakers) {
        assert!(!poll(subscriber, waker));
    }
    let woken = || [0, 1, 2].map(|index: usize| wakers[index].0.load(Ordering::Relaxed));
    fixture.put(pod("a").version(1));
    assert_eq!(woken(), [1, 1, 0]);
    fixture.put(pod("a").version(2));
    assert_eq!(woken(), [1, 1, 0], "they are not waiting any longer");
    assert!(poll(&mut idle, &wakers[2]));
    drop(idle);
    waiting[0].registration().remove();
    fixture.broadcaster.close();
    assert_eq!(woken(), [1, 1, 0]);
    assert!(poll(&mut waiting[0], &wakers[0]), "the stream has ended");
}

#[test]
fn a_waiting_subscriber_is_woken_when_it_is_removed() {
    let fixture = Fixture::new();
    let mut subscriber = fixture.subscribe(Policy::Unbounded);
    let registration = subscriber.registration().clone();
    let woken = Arc::new(CountingWaker::default());
    let waker = std::task::Waker::from(Arc::clone(&woken));
    let mut next = Box::pin(subscriber.next());
    assert!(next.as_mut().poll(&mut std::task::Context::from_waker(&waker)).is_pending());
    assert!(poll_once(registration.removed()).is_pending());
    registration.remove();
    assert_eq!(woken.0.load(Ordering::Relaxed), 1);
    now(registration.removed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_wake_up_is_lost_between_publishing_and_reading() {
    const EVENTS: u64 = 20_000;
    let fixture = Fixture::new();
    let mut subscriber = fixture.subscribe(Policy::Unbounded);
    let reads = tokio::spawn(async move {
        for version in 1..=EVENTS {
            assert_eq!(version_of(subscriber.next().await.unwrap().object().get()), version);
        }
    });
    let writes = tokio::task::spawn_blocking(move || {
        for version in 1..=EVENTS {
            fixture.put(pod("a").version(version));
        }
        fixture
    });
    let _fixture = writes.await.unwrap();
    tokio::time::timeout(Duration::from_secs(60), reads).await.expect("the reader is woken").unwrap();
}

/// A random operation.
#[derive(Clone, Debug)]
enum Step {
    Put(u8),
    Delete(u8),
    Release(u8),
    List(Vec<u8>),
    Subscribe(Policy),
    Unsubscribe(usize),
    Read(usize, usize),
    Resync,
}

fn step() -> impl Strategy<Value = Step> {
    let policy = prop_oneof![Just(Policy::Unbounded), (1_usize..6).prop_map(Policy::coalesce)];
    prop_oneof![
        8 => (0_u8..6).prop_map(Step::Put),
        3 => (0_u8..6).prop_map(Step::Delete),
        1 => (0_u8..6).prop_map(Step::Release),
        1 => prop::collection::vec(0_u8..6, 0..6).prop_map(Step::List),
        1 => policy.prop_map(Step::Subscribe),
        1 => (0_usize..8).prop_map(Step::Unsubscribe),
        4 => (0_usize..8, 1_usize..5).prop_map(|(index, events)| Step::Read(index, events)),
        1 => Just(Step::Resync),
    ]
}

/// A subscriber, and the objects that it has received.
struct Model {
    subscriber: Subscription<Pod>,
    known: BTreeMap<Key, Pod>,
}

impl Model {
    /// Receives at most `events` events, each of which must match the known state.
    fn read(&mut self, events: usize) {
        for _ in 0..events {
            let Poll::Ready(Some(event)) = poll_once(self.subscriber.next()) else { return };
            let key = event.key().clone();
            match &event {
                Event::Added { object, .. } => {
                    assert_eq!(
                        self.known.insert(key, Pod::clone(object.get())),
                        None,
                        "{}",
                        describe(&event)
                    );
                }
                Event::Updated { old, new, .. } => {
                    assert!(version_of(old.get()) <= version_of(new.get()), "{} goes back", describe(&event));
                    assert_eq!(
                        self.known.insert(key, Pod::clone(new.get())).as_ref(),
                        Some(old.get()),
                        "{}",
                        describe(&event)
                    );
                }
                Event::Deleted { old, .. } | Event::Released { last_known: old, .. } => {
                    assert_eq!(self.known.remove(&key).as_ref(), Some(old.get()), "{}", describe(&event));
                }
            }
        }
    }
}

proptest! {
    /// Changes of several keys, in batches of random length, are delivered in the order in which they were published.
    #[test]
    fn events_are_delivered_in_the_order_of_the_watch(
        changes in prop::collection::vec((0_u8..4, prop::bool::weighted(0.25)), 1..200),
        batch_lengths in prop::collection::vec(1_usize..40, 200),
    ) {
        let fixture = Fixture::new();
        let limit = changes.len();
        let policies = [Policy::Unbounded, Policy::block(1), Policy::coalesce(limit)];
        let mut subscribers = policies.map(|policy| fixture.subscribe(policy));
        let mut current: BTreeMap<u8, Pod> = BTreeMap::new();
        let mut events = Vec::new();
        for (number, (name, is_deleted)) in changes.into_iter().enumerate() {
            let new = pod(&format!("p{name}")).version(number as u64 + 1);
            let key = Key::of(&new).unwrap();
            let event = match (current.remove(&name), is_deleted) {
                (Some(old), true) => {
                    let (old, last_known) = (Arc::new(old).into(), Arc::new(new).into());
                    Event::Deleted { key, old, last_known, deletion: Deletion::Observed }
                }
                (None, _) => {
                    current.insert(name, new.clone());
                    Event::Added { key, object: Arc::new(new).into(), phase: Phase::Live }
                }
                (Some(old), false) => {
                    current.insert(name, new.clone());
                    let (old, new) = (Arc::new(old).into(), Arc::new(new).into());
                    Event::Updated { key, old, new, cause: UpdateCause::Changed }
                }
            };
            events.push(event);
        }
        let published: Vec<_> = events.iter().map(describe).collect();
        let mut events = events.into_iter().peekable();
        for length in batch_lengths {
            fixture.broadcaster.inject(events.by_ref().take(length));
        }
        prop_assert!(events.peek().is_none());
        for subscriber in &mut subscribers {
            prop_assert_eq!(&receive(subscriber), &published);
        }
    }

    /// However late and slow a subscriber is, the events it receives lead to the state of the cache.
    #[test]
    fn delivered_events_add_up_to_the_cache(steps in prop::collection::vec(step(), 1..120)) {
        let (fixture, mut models) = (Fixture::new(), Vec::<Model>::new());
        let mut server: BTreeMap<u8, Pod> = BTreeMap::new();
        fixture.broadcaster.mark_synced();
        for (number, step) in steps.into_iter().enumerate() {
            let version = number as u64 + 1;
            let fresh = |name: u8| pod(&format!("p{name}")).version(version).uid(&name.to_string());
            match step {
                Step::Put(name) => {
                    server.insert(name, fresh(name));
                    fixture.put(fresh(name));
                }
                Step::Delete(name) => if server.remove(&name).is_some() {
                    fixture.delete(fresh(name));
                },
                Step::Release(name) => {
                    server.remove(&name);
                    fixture.release(&format!("p{name}"));
                }
                Step::List(names) => {
                    server.retain(|name, _| !names.contains(name));
                    fixture.list(server.values().cloned(), version);
                }
                Step::Subscribe(policy) => {
                    let period = Duration::from_secs(if number % 2 == 0 { 0 } else { 1 });
                    let options = SubscribeOptions::new().policy(policy).resync(period);
                    models.push(Model { subscriber: Subscription::new(&fixture.broadcaster, options), known: BTreeMap::new() });
                }
                Step::Unsubscribe(index) => if index < models.len() {
                    models.swap_remove(index);
                },
                Step::Read(index, events) => if let Some(model) = models.get_mut(index) {
                    model.read(events);
                },
                Step::Resync => drop(fixture.broadcaster.resync(Instant::now() + Duration::from_secs(3600))),
            }
        }
        let cache: Vec<_> = server.values().map(brief).collect();
        for model in &mut models {
            model.read(usize::MAX);
            prop_assert_eq!(model.known.values().map(brief).collect::<Vec<_>>(), cache.clone());
            prop_assert!(model.subscriber.registration().has_synced());
            prop_assert_eq!(model.subscriber.registration().depth(), 0);
        }
    }
}

#[tokio::test]
async fn a_long_backlog_yields_to_other_tasks() {
    let fixture = Fixture::new();
    fixture.list((0..1000).map(|number| pod(&format!("p{number}")).version(1)), 1);
    let (mut subscriber, turns) = (fixture.subscribe(Policy::Unbounded), Arc::new(AtomicUsize::new(0)));
    let taken = Arc::clone(&turns);
    let other = tokio::spawn(async move {
        loop {
            taken.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
        }
    });
    let reading = tokio::spawn(async move {
        for _ in 0..1000 {
            subscriber.next().await.unwrap();
        }
        turns.load(Ordering::Relaxed)
    });
    assert!(reading.await.unwrap() > 3);
    other.abort();
}
