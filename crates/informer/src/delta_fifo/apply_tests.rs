//! Deltas meet the store: what handlers are told, rule by rule.

use super::{ProcessLoop, apply};
use crate::event::{Deletion, Event, Phase};
use crate::{
    cache::{Store, Writer},
    delta_fifo::{Batch, DeltaFifo},
    reflector::Config,
    source::{FromFns, Page, Watch},
    testing::{PodBuilder, describe, now, pod, rv, version_of},
};
use futures_util::{StreamExt, stream};
use k8s_openapi::api::core::v1::Pod;
use kube_informer_wire::WatchEvent;
use proptest::prelude::*;
use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroUsize,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio_util::sync::CancellationToken;

/// A queue, a store, and what handlers were told.
struct Pipeline {
    fifo: DeltaFifo<Pod>,
    store: Store<Pod>,
    writer: Writer<Pod>,
}

impl Pipeline {
    fn new() -> Self {
        let (store, writer) = Store::builder().build().unwrap();
        Self { fifo: DeltaFifo::builder().build(), store, writer }
    }

    fn add(&self, pod: Pod) -> &Self {
        now(self.fifo.add(pod)).unwrap();
        self
    }

    fn update(&self, pod: Pod) -> &Self {
        now(self.fifo.update(pod)).unwrap();
        self
    }

    fn delete(&self, pod: Pod) -> &Self {
        now(self.fifo.delete(pod)).unwrap();
        self
    }

    fn list<const N: usize>(&self, pods: [Pod; N], version: u64) -> &Self {
        now(self.fifo.replace(pods, Some(rv(version)))).unwrap();
        self
    }

    /// Applies all that is queued and says what handlers were told.
    fn told(&mut self) -> Vec<String> {
        self.events().iter().map(describe).collect()
    }

    fn events(&mut self) -> Vec<Event<Pod>> {
        let mut events = Vec::new();
        while !self.fifo.is_empty() {
            let batch = now(self.fifo.pop_batch(NonZeroUsize::new(3).unwrap())).unwrap();
            apply(batch, &mut self.writer, &mut events).done();
        }
        events
    }
}

#[tokio::test]
async fn a_source_that_always_has_something_does_not_keep_it_from_being_applied() {
    let list = |_| async { Ok(Page { items: Vec::new(), version: Some(rv(1)), continue_token: None }) };
    let watch = |_| async {
        let events =
            (2..20_000).map(|version| Ok(WatchEvent::Modified(pod(&format!("p{version}")).version(version))));
        Ok(Watch::new(stream::iter(events).chain(stream::pending())))
    };
    let source = FromFns::new(list, watch).without_streaming_lists();
    let (cancel, largest) = (CancellationToken::new(), Arc::new(AtomicUsize::new(0)));
    let (done, most) = (cancel.clone(), Arc::clone(&largest));
    let process = move |batch: Batch<Pod>| {
        most.fetch_max(batch.entries.len(), Ordering::Relaxed);
        if batch.version == Some(rv(19_999)) {
            done.cancel();
        }
        Ok(())
    };
    let running =
        ProcessLoop::new(source, DeltaFifo::builder().build(), Config::default(), process).run(cancel);
    tokio::time::timeout(Duration::from_secs(60), running).await.unwrap().unwrap();
    let largest = largest.load(Ordering::Relaxed);
    assert!((1..=512).contains(&largest), "{largest}");
}

// R79, R113
#[test]
fn the_store_decides_what_is_new_not_the_name_of_the_delta() {
    let mut pipeline = Pipeline::new();
    pipeline
        .update(pod("a").version(1))
        .add(pod("a").version(2))
        .add(pod("b").version(3))
        .update(pod("b").version(4));
    assert_eq!(pipeline.told(), ["+a@1", "a@1 -> a@2", "+b@3", "b@3 -> b@4"]);
}

// R79, R114
#[test]
fn a_deletion_tells_the_final_state_that_was_seen() {
    let mut pipeline = Pipeline::new();
    pipeline.add(pod("a").version(1)).delete(pod("a").version(2));
    assert_eq!(pipeline.told(), ["+a@1", "-a@2"]);
    pipeline.delete(pod("a").version(3)).delete(pod("never").version(4));
    assert_eq!(pipeline.told(), [""; 0], "what the store never held cannot go away");
    assert_eq!(pipeline.store.version(), Some(rv(4)));
}

#[test]
fn a_deletion_without_a_final_state_tells_the_stored_one() {
    let mut pipeline = Pipeline::new();
    pipeline.add(pod("a").version(1));
    now(pipeline.fifo.delete_unobserved("a".parse().unwrap())).unwrap();
    assert_eq!(pipeline.told(), ["+a@1", "-a@1 inferred"]);
}

// R77, R115
#[test]
fn a_list_tells_deletions_first_and_then_follows_its_own_order() {
    let mut pipeline = Pipeline::new();
    pipeline.list([pod("a").version(1), pod("b").version(2), pod("c").version(3)], 3);
    assert_eq!(pipeline.told(), ["+a@1 initial", "+b@2 initial", "+c@3 initial"]);
    pipeline.list([pod("d").version(5), pod("c").version(4), pod("b").version(2)], 5);
    assert_eq!(pipeline.told(), ["-a@1 inferred", "+d@5", "c@3 -> c@4", "=b@2"]);
    pipeline.list([], 6);
    let told: BTreeSet<_> = pipeline.told().into_iter().collect();
    assert_eq!(told, ["-b@2 inferred", "-c@4 inferred", "-d@5 inferred"].map(String::from).into());
}

// R77, R115, R118
#[test]
fn the_store_shows_the_final_state_before_anyone_is_told() {
    let mut pipeline = Pipeline::new();
    pipeline.list([pod("a").version(1), pod("b").version(2)], 2);
    pipeline.told();
    pipeline.list([pod("b").version(4), pod("c").version(5)], 5).update(pod("b").version(6));
    let batch = now(pipeline.fifo.pop_batch(NonZeroUsize::MAX)).unwrap();
    let mut events = Vec::new();
    let applied = apply(batch, &mut pipeline.writer, &mut events);
    for event in &events {
        let stored = pipeline.store.get(event.key());
        match event {
            Event::Deleted { .. } => assert_eq!(stored, None),
            Event::Added { .. } | Event::Updated { .. } => {
                assert!(version_of(&stored.unwrap()) >= version_of(event.object().get()))
            }
        }
    }
    assert_eq!(pipeline.store.version(), Some(rv(6)));
    applied.done();
}

// R78
#[test]
fn what_only_the_queue_saw_before_a_list_without_it_is_added_then_deleted() {
    let mut pipeline = Pipeline::new();
    pipeline.add(pod("a").version(1)).list([], 2);
    assert_eq!(pipeline.told(), ["+a@1", "-a@1 inferred"]);
}

// R81
#[test]
fn has_synced_only_after_the_events_of_the_first_list_are_out() {
    let mut pipeline = Pipeline::new();
    pipeline.list([pod("a").version(1)], 1);
    let batch = now(pipeline.fifo.pop()).unwrap();
    let mut events = Vec::new();
    let applied = apply(batch, &mut pipeline.writer, &mut events);
    assert_eq!((events.len(), pipeline.fifo.has_synced()), (1, false));
    applied.done();
    assert!(pipeline.fifo.has_synced());
}

// R84, R118
#[test]
fn a_batch_tells_in_the_order_of_the_queue() {
    let mut pipeline = Pipeline::new();
    pipeline
        .add(pod("b").version(1))
        .add(pod("a").version(2))
        .add(pod("b").version(3))
        .delete(pod("a").version(4));
    assert_eq!(pipeline.told(), ["+b@1", "b@1 -> b@3", "+a@2", "-a@4"]);
}

// R118
#[test]
fn one_object_that_cannot_be_indexed_does_not_stop_the_others_of_a_batch() {
    let mut pipeline = Pipeline::new();
    let fragile = |pod: &Pod| pod.metadata.uid.as_ref().map(|_| -> String { panic!("has a uid") });
    pipeline.store.add_index("fragile", fragile).unwrap();
    pipeline.add(pod("a").version(1)).add(pod("b").version(2).uid("u")).add(pod("c").version(3));
    assert_eq!(pipeline.told(), ["+a@1", "+b@2", "+c@3"]);
    assert_eq!(pipeline.store.len(), 3);
}

// R116
#[test]
fn a_resync_tells_everything_again() {
    let mut pipeline = Pipeline::new();
    pipeline.list([pod("a").version(1), pod("b").version(2)], 2);
    pipeline.told();
    now(pipeline.fifo.resync()).unwrap();
    let told: BTreeSet<_> = pipeline.told().into_iter().collect();
    assert_eq!(told, ["=a@1", "=b@2"].map(String::from).into());
}

// R76, R117
#[test]
fn a_bookmark_moves_the_version_and_tells_nobody() {
    let mut pipeline = Pipeline::new();
    pipeline.list([pod("a").version(1)], 1);
    pipeline.told();
    now(pipeline.fifo.bookmark(rv(9))).unwrap();
    assert_eq!(pipeline.told(), [""; 0]);
    assert_eq!(pipeline.store.version(), Some(rv(9)));
}

// R119
#[test]
fn a_relist_after_lost_events_tells_just_what_was_missed() {
    let mut pipeline = Pipeline::new();
    pipeline.list([pod("pod-1").version(1)], 1);
    assert_eq!(pipeline.told(), ["+pod-1@1 initial"]);
    pipeline.list([pod("pod-1").version(2), pod("pod-2").version(3)], 3);
    assert_eq!(pipeline.told(), ["pod-1@1 -> pod-1@2", "+pod-2@3"]);
}

// R120
#[test]
fn the_version_follows_each_event() {
    let mut pipeline = Pipeline::new();
    let mut after = |step: &dyn Fn(&Pipeline)| {
        step(&pipeline);
        pipeline.told();
        pipeline.store.version().and_then(|version| version.to_number())
    };
    assert_eq!(after(&|pipeline| _ = pipeline.list([pod("a").version(1)], 2)), Some(2));
    assert_eq!(after(&|pipeline| _ = pipeline.add(pod("b").version(3))), Some(3));
    assert_eq!(after(&|pipeline| _ = pipeline.update(pod("b").version(4))), Some(4));
    assert_eq!(after(&|pipeline| _ = pipeline.delete(pod("b").version(5))), Some(5));
    assert_eq!(after(&|pipeline| _ = pipeline.update(pod("a"))), Some(5), "no version, no move");
    assert_eq!(after(&|pipeline| _ = pipeline.list([], 7)), Some(7));
}

// R122
#[test]
fn store_and_handlers_see_what_the_transform_made() {
    let mut pipeline = Pipeline::new();
    pipeline.fifo = DeltaFifo::builder()
        .transform(|mut pod: Pod| match pod.metadata.uid.take() {
            Some(_) => Err("has a uid".into()),
            None => {
                pod.metadata.name = pod.metadata.name.map(|name| name.to_uppercase());
                Ok(pod)
            }
        })
        .on_rejected(drop)
        .build();
    pipeline.list([pod("a").version(1), pod("bad").version(2).uid("u")], 2);
    pipeline.update(pod("a").version(3)).update(pod("bad").version(4).uid("u")).delete(pod("a").version(5));
    assert_eq!(pipeline.told(), ["+A@1 initial", "A@1 -> A@3", "-A@5"]);
    assert_eq!(pipeline.fifo.rejected(), 2);
}

#[test]
fn what_cannot_be_transformed_in_a_relist_is_not_told_as_deleted() {
    let mut pipeline = Pipeline::new();
    pipeline.fifo = DeltaFifo::builder()
        .transform(|pod: Pod| if pod.metadata.uid.is_some() { Err("has a uid".into()) } else { Ok(pod) })
        .on_rejected(drop)
        .build();
    pipeline.list([pod("a").version(1)], 1).list([pod("a").version(2).uid("u")], 2);
    assert_eq!(pipeline.told(), ["+a@1 initial"]);
    assert_eq!(pipeline.store.get("a").as_deref().map(version_of), Some(1));
}

/// Updates that were not told, because they were left out or folded, must not hide a deletion from a filter.
#[test]
fn a_filter_hears_of_the_end_of_what_it_knew() {
    let mut pipeline = Pipeline::new();
    pipeline.fifo = DeltaFifo::builder()
        .transform(|pod: Pod| if pod.metadata.uid.is_some() { Err("left out".into()) } else { Ok(pod) })
        .on_rejected(drop)
        .build();
    pipeline
        .add(pod("left-out").version(2))
        .update(pod("left-out").version(3).uid("u"))
        .delete(pod("left-out").version(5));
    for version in 1..=65 {
        pipeline.update(pod("folded").version(2 * version));
    }
    pipeline.update(pod("folded").version(131)).delete(pod("folded").version(133));
    let mut known = BTreeMap::new();
    for event in pipeline.events() {
        if let Some(event) = event.filtered(|pod| version_of(pod).is_multiple_of(2)) {
            fold(&mut known, &event).unwrap();
        }
    }
    assert_eq!(known, BTreeMap::new());
}

/// A server whose versions do not move still has its changes seen.
#[test]
fn a_change_under_the_same_version_is_a_change() {
    for version in ["", "0", "7"] {
        let mut pipeline = Pipeline::new();
        let with = |label: &str| {
            let mut pod = pod("a").label("l", label);
            pod.metadata.resource_version = Some(version.into());
            pod
        };
        pipeline.add(with("one")).update(with("two"));
        let events = pipeline.events();
        assert_eq!(pipeline.store.get("a").unwrap().metadata.labels.as_ref().unwrap()["l"], "two");
        assert_eq!(events[1].is_resync(), version == "7", "only a version says that nothing changed");
    }
}

/// A version that was left out passes all the same, and a batch that is lost on the way never counts as applied.
#[tokio::test(start_paused = true)]
async fn a_version_that_was_left_out_passes() {
    let mut pipeline = Pipeline::new();
    pipeline.fifo = DeltaFifo::builder()
        .transform(|pod: Pod| if pod.metadata.uid.is_some() { panic!("a bad object") } else { Ok(pod) })
        .on_rejected(drop)
        .build();
    pipeline.add(pod("a").version(1)).update(pod("a").version(2).uid("u"));
    assert_eq!(pipeline.told(), ["+a@1"]);
    pipeline.store.wait_for(&rv(2)).await.unwrap();
    assert_eq!(pipeline.fifo.rejected(), 1);
}

#[test]
fn a_batch_that_is_lost_never_counts_as_applied() {
    let pipeline = Pipeline::new();
    pipeline.list([pod("a").version(1)], 1);
    drop(now(pipeline.fifo.pop()));
    assert!(!pipeline.fifo.has_synced());
}

// R120
#[test]
fn a_transform_that_drops_the_version_does_not_hide_it() {
    let mut pipeline = Pipeline::new();
    pipeline.fifo = DeltaFifo::builder()
        .transform(|mut pod: Pod| {
            pod.metadata.resource_version = None;
            Ok(pod)
        })
        .build();
    pipeline.list([pod("a").version(1)], 5).update(pod("a").version(6));
    pipeline.told();
    assert_eq!(pipeline.store.version(), Some(rv(6)));
}

// R123
#[test]
fn a_filter_turns_crossings_into_additions_and_deletions() {
    let update = |old: u64, new: u64| Event::update(pod("a").version(old), pod("a").version(new)).unwrap();
    let even =
        |event: Event<Pod>| event.filtered(|pod| version_of(pod).is_multiple_of(2)).as_ref().map(describe);
    assert_eq!(even(update(2, 4)).as_deref(), Some("a@2 -> a@4"));
    assert_eq!(even(update(1, 2)).as_deref(), Some("+a@2"));
    assert_eq!(even(update(2, 3)).as_deref(), Some("-a@2"));
    assert_eq!(even(update(1, 3)), None);
    let key = || "a".parse().unwrap();
    let object = |version| Arc::new(pod("a").version(version)).into();
    let added = |version| Event::Added { key: key(), object: object(version), phase: Phase::Initial };
    assert_eq!(even(added(2)).as_deref(), Some("+a@2 initial"));
    assert_eq!(even(added(1)), None);
    let deleted = |old, last| Event::Deleted {
        key: key(),
        old: object(old),
        last_known: object(last),
        deletion: Deletion::Observed,
    };
    assert_eq!(even(deleted(2, 4)).as_deref(), Some("-a@4"));
    assert_eq!(even(deleted(2, 3)).as_deref(), Some("-a@3"), "who knew it hears of its end");
    assert_eq!(even(deleted(1, 2)), None);
}

#[derive(Clone, Debug)]
enum Op {
    Put(u8),
    Delete(u8),
    Relist,
    Lose(u8),
    Resync,
    Apply,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let key = 0..6_u8;
    let op = prop_oneof![
        8 => key.clone().prop_map(Op::Put),
        4 => key.clone().prop_map(Op::Delete),
        1 => Just(Op::Relist),
        2 => key.prop_map(Op::Lose),
        1 => Just(Op::Resync),
        3 => Just(Op::Apply),
    ];
    proptest::collection::vec(op, 0..300)
}

/// Folds an event into what a handler knows, checking that it fits what the handler knew.
fn fold(known: &mut BTreeMap<String, u64>, event: &Event<Pod>) -> Result<(), TestCaseError> {
    let name = event.object().get().metadata.name.clone().unwrap();
    let version = version_of(event.object().get());
    match event {
        Event::Added { .. } => prop_assert_eq!(known.insert(name, version), None, "added twice"),
        Event::Updated { old, .. } => {
            prop_assert_eq!(known.insert(name, version), Some(version_of(old.get())))
        }
        Event::Deleted { .. } => prop_assert!(known.remove(&name).is_some(), "deleted what was not there"),
    }
    Ok(())
}

proptest! {
    /// A server, a watch that loses events, relists that mend it: whoever folds the events has the cache, and after
    /// a relist the cache is the server. R77, R78, R79, R113, R115
    #[test]
    fn events_fold_to_the_cache_and_a_relist_makes_it_the_server(ops in ops()) {
        let mut pipeline = Pipeline::new();
        let (mut server, mut known, mut even, mut clock) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new(), 0);
        let is_even = |pod: &Pod| version_of(pod).is_multiple_of(2);
        let relist = |server: &BTreeMap<String, u64>, pipeline: &Pipeline, clock: u64| {
            let pods = server.iter().map(|(name, version)| pod(name).version(*version));
            now(pipeline.fifo.replace(pods, Some(rv(clock)))).unwrap();
        };
        for op in ops.into_iter().chain([Op::Relist, Op::Apply]) {
            clock += 1;
            match op {
                Op::Put(key) => {
                    server.insert(key.to_string(), clock);
                    pipeline.update(pod(&key.to_string()).version(clock));
                }
                Op::Delete(key) => {
                    if server.remove(&key.to_string()).is_some() {
                        pipeline.delete(pod(&key.to_string()).version(clock));
                    }
                }
                Op::Lose(key) => {
                    if server.remove(&key.to_string()).is_none() {
                        server.insert(key.to_string(), clock);
                    }
                }
                Op::Relist => relist(&server, &pipeline, clock),
                Op::Resync => now(pipeline.fifo.resync()).unwrap(),
                Op::Apply => {
                    for event in pipeline.events() {
                        fold(&mut known, &event)?;
                        if let Some(event) = event.filtered(is_even) {
                            fold(&mut even, &event)?;
                        }
                    }
                    let cache = pipeline.store.list();
                    let cache: BTreeMap<_, _> =
                        cache.iter().map(|pod| (pod.metadata.name.clone().unwrap(), version_of(pod))).collect();
                    prop_assert_eq!(&cache, &known);
                    let passing: BTreeMap<_, _> = cache.into_iter().filter(|(_, version)| version % 2 == 0).collect();
                    prop_assert_eq!(&passing, &even, "whoever filters knows just what passes");
                }
            }
        }
        prop_assert_eq!(known, server);
    }
}
