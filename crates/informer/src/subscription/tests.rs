//! Followers of a hub: what each is told, whenever it comes, however slow it is.

use super::{Hub, Policy, Subscribe, Subscription, metrics as names};
use crate::{
    cache::Store,
    cache::{Extent, apply_within},
    delta_fifo::DeltaFifo,
    event::Event,
    testing::{Figures, PodBuilder, brief, now, pod, poll_once, rv, say, version_of},
};
use k8s_openapi::api::core::v1::Pod;
use kube_informer_wire::Key;
use proptest::prelude::*;
use std::{
    collections::BTreeMap,
    num::NonZeroUsize,
    sync::{
        Arc, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    task::Poll,
    time::Duration,
};
use tokio::time::Instant;

/// A hub, and the queue that feeds it.
struct World {
    hub: Arc<Hub<Pod>>,
    store: Store<Pod>,
    fifo: DeltaFifo<Pod>,
}

impl World {
    fn new() -> Self {
        let (store, writer) = Store::builder().build().unwrap();
        let hub = Arc::new(Hub::new(store.clone(), writer, "pods", Duration::ZERO));
        Self { hub, store, fifo: DeltaFifo::builder().build() }
    }

    fn put(&self, pod: Pod) -> &Self {
        now(self.fifo.update(pod)).unwrap();
        self.apply()
    }

    fn delete(&self, pod: Pod) -> &Self {
        now(self.fifo.delete(pod)).unwrap();
        self.apply()
    }

    fn list(&self, pods: impl IntoIterator<Item = Pod>, version: u64) -> &Self {
        now(self.fifo.replace(pods, Some(rv(version)))).unwrap();
        self.apply()
    }

    fn apply(&self) -> &Self {
        let batch = now(self.fifo.pop_batch(NonZeroUsize::MAX)).unwrap();
        let done =
            |writer: &mut _, told: &mut _| apply_within(Extent::Everything, batch, writer, told).done();
        self.hub.publish(Instant::now(), done).unwrap();
        self
    }

    fn join(&self, policy: Policy) -> Subscription<Pod> {
        self.hub.subscribe(Subscribe::new().policy(policy))
    }
}

/// All that a follower can be told now.
fn told(follower: &mut Subscription<Pod>) -> Vec<String> {
    let mut told = Vec::new();
    while let Poll::Ready(Some(event)) = poll_once(follower.next()) {
        told.push(say(&event));
    }
    told
}

fn sorted(mut told: Vec<String>) -> Vec<String> {
    told.sort();
    told
}

// R125
#[test]
fn who_comes_late_is_told_what_there_is_and_then_what_happens() {
    let world = World::new();
    let mut early = world.join(Policy::Unbounded);
    world.list([pod("a").version(1), pod("b").version(2)], 2).put(pod("a").version(3));
    let (mut late, mut begun) = (world.join(Policy::Unbounded), world.join(Policy::Unbounded));
    world.put(pod("c").version(4)).delete(pod("b").version(5));
    assert_eq!((early.registration().depth(), late.registration().depth()), (5, 4));
    assert!(now(begun.next()).is_some());
    assert_eq!(begun.registration().depth(), 3, "those it holds count too");
    assert_eq!(told(&mut early), ["+a@1 initial", "+b@2 initial", "a@1 -> a@3", "+c@4", "-b@5"]);
    let all = told(&mut late);
    assert_eq!(sorted(all[..2].to_vec()), ["+a@3 initial", "+b@2 initial"]);
    assert_eq!(all[2..], ["+c@4", "-b@5"]);
}

// R115, R124
#[test]
fn what_there_was_at_first_is_told_in_the_order_of_the_list_and_makes_nobody_wait() {
    let world = World::new();
    let policies = [Policy::Unbounded, Policy::Coalesce(NonZeroUsize::MIN), Policy::Block(NonZeroUsize::MIN)];
    let mut followers = policies.map(|policy| world.join(policy));
    let name = |number: u64| format!("pod-{}", 999 - number);
    let pods = (1..=300).map(|number| pod(&name(number)).version(number));
    world.list(pods, 300);
    for follower in &followers {
        assert_eq!(follower.registration().depth(), 300);
    }
    assert!(poll_once_in_runtime(world.hub.room()).is_pending(), "one has handled nothing of it");
    let first = format!("pod-{}", 999 - 1);
    for version in 301..=303 {
        world.put(pod(&first).version(version));
    }
    let expected: Vec<_> = (1..=300).map(|number| format!("+{}@{number} initial", name(number))).collect();
    for (follower, after) in followers.iter_mut().zip([3, 1, 3]) {
        let all = told(follower);
        assert_eq!(all[..300], expected);
        assert_eq!(all.len(), 300 + after, "{:?}", &all[300..]);
    }
    assert!(poll_once_in_runtime(world.hub.room()).is_ready());
}

// R115
#[test]
fn what_a_first_list_names_twice_is_told_as_it_is_at_last() {
    let world = World::new();
    let mut follower = world.join(Policy::Unbounded);
    world.list([pod("a").version(1), pod("b").version(2), pod("a").version(3)], 3);
    assert_eq!(told(&mut follower), ["+b@2 initial", "+a@3 initial"]);
    assert_eq!(world.store.len(), 2);
}

// R126
#[test]
fn a_follower_has_synced_when_it_has_handled_what_was_there() {
    let world = World::new();
    let mut follower = world.join(Policy::Unbounded);
    let place = follower.registration().clone();
    assert!(!place.has_synced(), "nothing has been listed");
    world.list([pod("a").version(1)], 1);
    world.hub.complete();
    assert!(!place.has_synced(), "it has handled nothing");
    assert!(now(follower.next()).is_some());
    assert!(!place.has_synced(), "it is at the last one");
    assert!(poll_once(follower.next()).is_pending());
    assert!(place.has_synced());

    let mut late = world.join(Policy::Unbounded);
    assert!(!late.registration().has_synced());
    assert_eq!(told(&mut late), ["+a@1 initial"]);
    assert!(late.registration().has_synced());
}

// R126
#[test]
fn a_follower_of_an_empty_cache_has_synced_when_the_cache_has() {
    let world = World::new();
    let follower = world.join(Policy::Unbounded);
    assert!(!follower.registration().has_synced());
    world.list([], 1);
    world.hub.complete();
    assert!(follower.registration().has_synced());
    assert!(world.join(Policy::default()).registration().has_synced());
}

// R130
#[test]
fn what_a_relist_finds_unchanged_is_told_to_those_who_resync() {
    let world = World::new();
    let mut plain = world.join(Policy::Unbounded);
    let resyncing = Subscribe::new().resync(Duration::from_secs(1));
    let mut resyncing = world.hub.subscribe(resyncing);
    world.list([pod("a").version(1), pod("b").version(2)], 2);
    let again = [pod("a").version(1), pod("b").version(3), pod("c").version(4)];
    world.list(again, 4);
    assert_eq!(told(&mut plain)[2..], ["b@2 -> b@3", "+c@4"]);
    assert_eq!(told(&mut resyncing)[2..], ["=a@1", "b@2 -> b@3", "+c@4"]);
}

#[test]
fn a_follower_that_is_behind_is_told_the_latest_state_of_each_key() {
    let world = World::new();
    let mut slow = world.join(Policy::coalesce(3));
    world.put(pod("a").version(1)).put(pod("b").version(2)).put(pod("c").version(3));
    assert_eq!(told(&mut slow), ["+a@1", "+b@2", "+c@3"], "it keeps up, and sees all");

    world.put(pod("a").version(4)).put(pod("a").version(5)).delete(pod("b").version(6));
    world.put(pod("b").version(7)).put(pod("d").version(8)).delete(pod("d").version(9));
    world.delete(pod("c").version(10)).put(pod("e").version(11)).put(pod("e").version(12));
    let expected = ["a@1 -> a@5", "-b@6", "+b@7", "-c@10", "+e@11", "e@11 -> e@12"];
    assert_eq!(told(&mut slow), expected, "d came and went unseen, and the last ones were not too many");
    world.put(pod("e").version(13));
    assert_eq!(told(&mut slow), ["e@12 -> e@13"]);
}

#[test]
fn what_everyone_has_read_is_freed_and_what_someone_has_not_is_kept() {
    let world = World::new();
    let mut slow = world.join(Policy::Unbounded);
    let mut quick = world.join(Policy::Unbounded);
    world.put(pod("a").version(1));
    let first: Weak<Pod> = Arc::downgrade(&world.store.get("a").unwrap());
    world.put(pod("a").version(2)).put(pod("a").version(3));
    drop(told(&mut quick));
    assert!(first.upgrade().is_some(), "the slow one has not seen it");
    drop(told(&mut slow));
    assert!(first.upgrade().is_none(), "everyone has seen it");
}

#[test]
fn who_is_at_an_event_holds_nothing_of_what_comes_after() {
    let world = World::new();
    let mut stuck = world.join(Policy::coalesce(3));
    world.put(pod("a").version(1));
    assert!(now(stuck.next()).is_some(), "it is at the first event, for long");
    for version in 2..10 {
        world.put(pod("a").version(version));
    }
    let middle = Arc::downgrade(&world.store.get("a").unwrap());
    for version in 10..20 {
        world.put(pod("a").version(version));
    }
    assert!(middle.upgrade().is_none());
    assert_eq!(told(&mut stuck).last().map(String::as_str), Some("a@18 -> a@19"));
}

#[test]
fn a_place_that_is_kept_after_its_follower_has_left_holds_nothing() {
    let world = World::new();
    world.put(pod("b").version(1));
    let (dropped, removed) = (world.join(Policy::Unbounded), world.join(Policy::Unbounded));
    let places = [dropped.registration().clone(), removed.registration().clone()];
    drop(dropped);
    now(removed.registration().remove());
    world.put(pod("a").version(2));
    let there: Vec<_> = ["a", "b"].map(|name| Arc::downgrade(&world.store.get(name).unwrap())).into();
    world.delete(pod("a").version(3)).delete(pod("b").version(4)).put(pod("c").version(5));
    assert!(there.iter().all(|gone| gone.upgrade().is_none()));
    assert!(places.iter().all(|place| place.has_left() && place.depth() == 0));
}

#[test]
fn a_follower_that_is_always_behind_has_synced_when_it_has_handled_what_was_there() {
    let world = World::new();
    let mut slow = world.join(Policy::coalesce(10));
    world.list((0..1000).map(|number| pod(&format!("p{number:04}")).version(1)), 1);
    world.hub.complete();
    let place = slow.registration().clone();
    // Four changes for each that it handles: it never catches up.
    let mut version = 1;
    for handled in 0..1000 {
        assert!(!place.has_synced(), "{handled}");
        assert!(now(slow.next()).is_some());
        for _ in 0..4 {
            version += 1;
            world.put(pod(&format!("p{:04}", (version * 7) % 1000)).version(version));
        }
    }
    assert!(now(slow.next()).is_some());
    for _ in 0..super::reader::CHUNK {
        now(slow.next());
    }
    assert!(place.has_synced() && place.depth() > 100);
}

#[test]
fn resyncs_of_others_do_not_pile_up_for_one_who_does_not_read() {
    for policy in [Policy::block(2), Policy::coalesce(2)] {
        let world = World::new();
        let mut eager = world.hub.subscribe(Subscribe::new().resync(Duration::from_secs(1)));
        let mut stuck = world.join(policy);
        world.list([pod("a").version(1)], 1);
        world.hub.complete();
        let mut at = Instant::now();
        for _ in 0..100 {
            at += Duration::from_secs(2);
            assert!(world.hub.resync(at).is_some_and(|next| next > at), "there is a next turn");
            told(&mut eager);
        }
        assert!(stuck.registration().depth() <= 3, "{policy:?}: {}", stuck.registration().depth());
        assert_eq!(told(&mut stuck), ["+a@1 initial"]);
        world.hub.resync(at + Duration::from_secs(2));
        assert_eq!(told(&mut eager), ["=a@1"], "it goes on when the other has caught up");
    }
}

// R75
#[test]
fn a_resync_that_is_still_being_told_is_not_begun_again() {
    let world = World::new();
    let mut slow = world.hub.subscribe(Subscribe::new().resync(Duration::from_secs(1)));
    world.list([pod("a").version(1), pod("b").version(1)], 1);
    world.hub.complete();
    assert_eq!(told(&mut slow).len(), 2);
    let mut at = Instant::now();
    for _ in 0..10 {
        at += Duration::from_secs(2);
        world.hub.resync(at);
    }
    assert_eq!(told(&mut slow).len(), 2);
    world.hub.resync(at + Duration::from_secs(2));
    assert_eq!(told(&mut slow).len(), 2);
}

#[test]
fn one_that_blocks_is_not_waited_for_over_what_is_not_meant_for_it() {
    let world = World::new();
    let mut blocking = world.join(Policy::block(2));
    let resyncing = world.hub.subscribe(Subscribe::new().resync(Duration::from_secs(1)));
    let many = || (0..100).map(|number| pod(&format!("p{number}")).version(1));
    world.list(many(), 1);
    assert_eq!(told(&mut blocking).len(), 100);
    // Nothing has changed, so nothing of this is meant for it.
    world.list(many(), 2);
    let mut room = Box::pin(world.hub.room());
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let mut tell = || {
        let _within = runtime.enter();
        told(&mut blocking)
    };
    runtime.block_on(async {
        assert!(futures_util::poll!(&mut room).is_pending());
        assert_eq!(tell(), [""; 0]);
        tokio::time::timeout(Duration::from_millis(1), room).await.expect("it is told that there is room");
    });
    drop(resyncing);
}

#[test]
fn who_is_removed_in_the_middle_is_told_nothing_of_what_it_holds() {
    let world = World::new();
    let mut follower = world.join(Policy::Unbounded);
    world.list([pod("a").version(1), pod("b").version(1), pod("c").version(1)], 1);
    assert!(now(follower.next()).is_some());
    now(follower.registration().remove());
    assert!(now(follower.next()).is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_ends_whenever_the_hub_is_closed() {
    for _ in 0..500 {
        let world = World::new();
        let mut follower = world.join(Policy::Unbounded);
        let reads = tokio::spawn(async move { while follower.next().await.is_some() {} });
        let closes = tokio::task::spawn_blocking({
            let hub = Arc::clone(&world.hub);
            move || hub.close()
        });
        closes.await.unwrap();
        tokio::time::timeout(Duration::from_secs(60), reads).await.expect("it is woken").unwrap();
    }
}

#[test]
fn a_period_that_no_clock_can_count_is_never() {
    let world = World::new();
    let follower = world.hub.subscribe(Subscribe::new().resync(Duration::MAX));
    world.hub.complete();
    assert_eq!(world.hub.resync(Instant::now()), None);
    drop(follower);
}

#[test]
fn a_forgotten_follower_costs_no_more_than_the_keys_there_are() {
    let world = World::new();
    let follower = world.join(Policy::coalesce(10));
    for version in 1..5_000 {
        world.put(pod(&format!("p{}", version % 20)).version(version));
    }
    assert!(follower.registration().depth() <= 20 + 10, "{}", follower.registration().depth());
}

#[test]
fn a_long_backlog_is_freed_without_recursion() {
    let world = World::new();
    let follower = world.join(Policy::Unbounded);
    for version in 1..200_000 {
        world.put(pod("a").version(version));
    }
    assert_eq!(follower.registration().depth(), 199_999);
    drop(follower);
}

// R123
#[test]
fn for_a_filtering_follower_an_object_begins_and_ceases_to_exist() {
    let world = World::new();
    let front = Subscribe::new().labels("tier=front".parse().unwrap()).namespace("web");
    let mut follower = world.hub.subscribe(front);
    let labelled = |version, tier| pod("web/a").version(version).label("tier", tier);
    world
        .put(labelled(1, "back"))
        .put(labelled(2, "front"))
        .put(labelled(3, "front"))
        .put(labelled(4, "back"));
    world
        .put(pod("other/b").version(5).label("tier", "front"))
        .put(labelled(6, "front"))
        .delete(labelled(7, "back"));
    assert_eq!(told(&mut follower), ["+web/a@2", "web/a@2 -> web/a@3", "-web/a@3", "+web/a@6", "-web/a@7"]);
}

// R132
#[test]
fn who_is_removed_is_told_nothing_more_and_may_be_removed_again() {
    let world = World::new();
    let mut gone = world.join(Policy::Unbounded);
    let mut stays = world.join(Policy::Unbounded);
    world.put(pod("a").version(1));
    now(gone.registration().remove());
    assert_eq!(now(gone.next()).map(|event| say(&event)), None);
    now(gone.registration().remove());
    world.put(pod("a").version(2));
    assert!(gone.registration().has_left());
    assert_eq!(told(&mut stays), ["+a@1", "a@1 -> a@2"]);
}

#[test]
fn a_closed_hub_is_read_to_its_end_and_takes_nobody_in() {
    let world = World::new();
    let mut follower = world.join(Policy::Unbounded);
    world.put(pod("a").version(1));
    world.hub.close();
    assert_eq!(now(follower.next()).map(|event| say(&event)).as_deref(), Some("+a@1"));
    assert!(now(follower.next()).is_none());
    let mut late = world.join(Policy::Unbounded);
    assert!(now(late.next()).is_none() && late.registration().has_left());
    assert!(world.hub.publish(Instant::now(), |_, _| ()).is_none());
}

#[test]
fn the_hub_waits_for_a_follower_that_blocks_and_for_no_other() {
    let world = World::new();
    let _others = [world.join(Policy::Unbounded), world.join(Policy::coalesce(1))];
    let mut blocking = world.join(Policy::block(2));
    world.put(pod("a").version(1));
    now(world.hub.room());
    world.put(pod("a").version(2));
    assert!(poll_once_in_runtime(world.hub.room()).is_pending());
    assert_eq!(told(&mut blocking).len(), 2);
    now(world.hub.room());
    world.put(pod("a").version(3)).put(pod("a").version(4));
    assert!(poll_once_in_runtime(world.hub.room()).is_pending());
    drop(blocking);
    now(world.hub.room());
}

/// Polls once what may begin to wait for a time.
fn poll_once_in_runtime<T>(future: impl Future<Output = T>) -> Poll<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let _within = runtime.enter();
    poll_once(future)
}

#[tokio::test(start_paused = true)]
async fn metrics_tell_how_far_followers_are() {
    let figures = Figures::default();
    let _guard = metrics::set_default_local_recorder(&figures);
    let world = World::new();
    let mut quick = world.hub.subscribe(Subscribe::new().named("quick"));
    let stuck = world.hub.subscribe(Subscribe::new().named("stuck"));
    world.put(pod("a").version(1));
    tokio::time::advance(Duration::from_secs(5)).await;
    drop(told(&mut quick));
    world.put(pod("a").version(2)).put(pod("b").version(3));
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

/// What happens, in a random order.
#[derive(Clone, Debug)]
enum Step {
    Put(u8),
    Delete(u8),
    List(Vec<u8>),
    Join(Policy),
    Leave(usize),
    Read(usize, usize),
    Resync,
}

fn step() -> impl Strategy<Value = Step> {
    let policy = prop_oneof![Just(Policy::Unbounded), (1_usize..6).prop_map(Policy::coalesce)];
    prop_oneof![
        8 => (0_u8..6).prop_map(Step::Put),
        3 => (0_u8..6).prop_map(Step::Delete),
        1 => prop::collection::vec(0_u8..6, 0..6).prop_map(Step::List),
        1 => policy.prop_map(Step::Join),
        1 => (0_usize..8).prop_map(Step::Leave),
        4 => (0_usize..8, 1_usize..5).prop_map(|(who, events)| Step::Read(who, events)),
        1 => Just(Step::Resync),
    ]
}

/// A follower, and what it has been told there is.
struct Model {
    follower: Subscription<Pod>,
    known: BTreeMap<Key, Pod>,
}

impl Model {
    /// Takes up to so many events, each of which has to fit what is known.
    fn read(&mut self, events: usize) {
        for _ in 0..events {
            let Poll::Ready(Some(event)) = poll_once(self.follower.next()) else { return };
            let key = Key::of(&**event.object()).unwrap();
            match &event {
                Event::Added { object, .. } => {
                    assert_eq!(self.known.insert(key, Pod::clone(object)), None, "{}", say(&event));
                }
                Event::Updated { old, new } => {
                    assert!(version_of(old) <= version_of(new), "{} goes back", say(&event));
                    assert_eq!(
                        self.known.insert(key, Pod::clone(new)).as_ref(),
                        Some(&**old),
                        "{}",
                        say(&event)
                    );
                }
                Event::Deleted { old, .. } => {
                    assert_eq!(self.known.remove(&key).as_ref(), Some(&**old), "{}", say(&event));
                }
            }
        }
    }
}

proptest! {
    /// Whoever comes whenever, and however slow it is: what it was told adds up to the cache.
    #[test]
    fn what_a_follower_is_told_adds_up_to_the_cache(steps in prop::collection::vec(step(), 1..120)) {
        let (world, mut models) = (World::new(), Vec::<Model>::new());
        let mut server: BTreeMap<u8, Pod> = BTreeMap::new();
        world.hub.complete();
        for (number, step) in steps.into_iter().enumerate() {
            let version = number as u64 + 1;
            let fresh = |name: u8| pod(&format!("p{name}")).version(version).uid(&name.to_string());
            match step {
                Step::Put(name) => {
                    server.insert(name, fresh(name));
                    world.put(fresh(name));
                }
                Step::Delete(name) => if server.remove(&name).is_some() {
                    world.delete(fresh(name));
                },
                Step::List(names) => {
                    server.retain(|name, _| !names.contains(name));
                    world.list(server.values().cloned(), version);
                }
                Step::Join(policy) => {
                    let period = Duration::from_secs(if number % 2 == 0 { 0 } else { 1 });
                    let options = Subscribe::new().policy(policy).resync(period);
                    models.push(Model { follower: world.hub.subscribe(options), known: BTreeMap::new() });
                }
                Step::Leave(who) => if who < models.len() {
                    models.swap_remove(who);
                },
                Step::Read(who, events) => if let Some(model) = models.get_mut(who) {
                    model.read(events);
                },
                Step::Resync => drop(world.hub.resync(Instant::now() + Duration::from_secs(3600))),
            }
        }
        let cache: Vec<_> = server.values().map(brief).collect();
        for model in &mut models {
            model.read(usize::MAX);
            prop_assert_eq!(model.known.values().map(brief).collect::<Vec<_>>(), cache.clone());
            prop_assert!(model.follower.registration().has_synced());
            prop_assert_eq!(model.follower.registration().depth(), 0);
        }
    }
}

/// All of it is there at once.
#[tokio::test]
async fn a_backlog_leaves_the_thread_to_others() {
    let world = World::new();
    world.list((0..1000).map(|number| pod(&format!("p{number}")).version(1)), 1);
    let (mut follower, turns) = (world.join(Policy::Unbounded), Arc::new(AtomicUsize::new(0)));
    let taken = Arc::clone(&turns);
    let other = tokio::spawn(async move {
        loop {
            taken.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
        }
    });
    let reading = tokio::spawn(async move {
        for _ in 0..1000 {
            follower.next().await.unwrap();
        }
        turns.load(Ordering::Relaxed)
    });
    assert!(reading.await.unwrap() > 3);
    other.abort();
}
