//! Tests that apply deltas to a store and check the events.

use super::{ProcessLoop, apply};
use crate::{
    cache::{Store, Writer},
    delta_fifo::{Batch, DeltaFifo},
    event::{Deletion, Event, Phase},
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

/// A queue, and the store to which its deltas are applied.
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

    /// Applies all queued entries, and returns the events as text.
    fn apply_all(&mut self) -> Vec<String> {
        self.events().iter().map(describe).collect()
    }

    /// Applies all queued entries, and returns the events.
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
async fn batches_are_limited_if_the_source_is_always_ready() {
    let list = |_| async { Ok(Page { items: Vec::new(), version: Some(rv(1)), continue_token: None }) };
    let watch = |_| async {
        let events =
            (2..20_000).map(|version| Ok(WatchEvent::Modified(pod(&format!("p{version}")).version(version))));
        Ok(Watch::new(stream::iter(events).chain(stream::pending())))
    };
    let source = FromFns::new(list, watch);
    let cancel = CancellationToken::new();
    let done = cancel.clone();
    let largest = Arc::new(AtomicUsize::new(0));
    let maximum = Arc::clone(&largest);
    let process = move |batch: Batch<Pod>| {
        maximum.fetch_max(batch.entries.len(), Ordering::Relaxed);
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
fn the_store_decides_whether_an_object_was_added_or_updated() {
    let mut pipeline = Pipeline::new();
    pipeline
        .update(pod("a").version(1))
        .add(pod("a").version(2))
        .add(pod("b").version(3))
        .update(pod("b").version(4));
    assert_eq!(pipeline.apply_all(), ["+a@1", "a@1 -> a@2", "+b@3", "b@3 -> b@4"]);
}

// R79, R114
#[test]
fn a_deletion_delivers_the_observed_final_state() {
    let mut pipeline = Pipeline::new();
    pipeline.add(pod("a").version(1)).delete(pod("a").version(2));
    assert_eq!(pipeline.apply_all(), ["+a@1", "-a@2"]);
    pipeline.delete(pod("a").version(3)).delete(pod("never").version(4));
    assert_eq!(pipeline.apply_all(), [""; 0], "a deletion of an unknown object was delivered");
    assert_eq!(pipeline.store.version(), Some(rv(4)));
}

#[test]
fn a_deletion_without_a_final_state_delivers_the_stored_one() {
    let mut pipeline = Pipeline::new();
    pipeline.add(pod("a").version(1));
    now(pipeline.fifo.delete_unobserved("a".parse().unwrap())).unwrap();
    assert_eq!(pipeline.apply_all(), ["+a@1", "-a@1 inferred"]);
}

// R77, R115
#[test]
fn a_list_delivers_deletions_first_and_then_the_objects_in_list_order() {
    let mut pipeline = Pipeline::new();
    pipeline.list([pod("a").version(1), pod("b").version(2), pod("c").version(3)], 3);
    assert_eq!(pipeline.apply_all(), ["+a@1 initial", "+b@2 initial", "+c@3 initial"]);
    pipeline.list([pod("d").version(5), pod("c").version(4), pod("b").version(2)], 5);
    assert_eq!(pipeline.apply_all(), ["-a@1 inferred", "+d@5", "c@3 -> c@4", "=b@2"]);
    pipeline.list([], 6);
    let events: BTreeSet<_> = pipeline.apply_all().into_iter().collect();
    assert_eq!(events, ["-b@2 inferred", "-c@4 inferred", "-d@5 inferred"].map(String::from).into());
}

// R77, R115, R118
#[test]
fn the_store_has_the_final_state_before_events_are_delivered() {
    let mut pipeline = Pipeline::new();
    pipeline.list([pod("a").version(1), pod("b").version(2)], 2);
    pipeline.apply_all();
    pipeline.list([pod("b").version(4), pod("c").version(5)], 5).update(pod("b").version(6));
    let batch = now(pipeline.fifo.pop_batch(NonZeroUsize::MAX)).unwrap();
    let mut events = Vec::new();
    let applied = apply(batch, &mut pipeline.writer, &mut events);
    for event in &events {
        let stored = pipeline.store.get(event.key());
        match event {
            Event::Deleted { .. } | Event::Released { .. } => assert_eq!(stored, None),
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
fn an_object_that_was_queued_and_is_missing_in_the_list_is_added_and_deleted() {
    let mut pipeline = Pipeline::new();
    pipeline.add(pod("a").version(1)).list([], 2);
    assert_eq!(pipeline.apply_all(), ["+a@1", "-a@1 inferred"]);
}

// R81
#[test]
fn has_synced_only_after_the_first_list_was_applied() {
    let mut pipeline = Pipeline::new();
    pipeline.list([pod("a").version(1)], 1);
    let batch = now(pipeline.fifo.pop()).unwrap();
    let mut events = Vec::new();
    let applied = apply(batch, &mut pipeline.writer, &mut events);
    assert_eq!(events.len(), 1);
    assert!(!pipeline.fifo.has_synced());
    applied.done();
    assert!(pipeline.fifo.has_synced());
}

// R84, R118
#[test]
fn a_batch_delivers_events_in_queue_order() {
    let mut pipeline = Pipeline::new();
    pipeline
        .add(pod("b").version(1))
        .add(pod("a").version(2))
        .add(pod("b").version(3))
        .delete(pod("a").version(4));
    assert_eq!(pipeline.apply_all(), ["+b@1", "b@1 -> b@3", "+a@2", "-a@4"]);
}

// R118
#[test]
fn a_panic_in_an_index_function_does_not_affect_other_objects_of_a_batch() {
    let mut pipeline = Pipeline::new();
    let fragile = |pod: &Pod| pod.metadata.uid.as_ref().map(|_| -> String { panic!("has a uid") });
    pipeline.store.add_index("fragile", fragile).unwrap();
    pipeline.add(pod("a").version(1)).add(pod("b").version(2).uid("u")).add(pod("c").version(3));
    assert_eq!(pipeline.apply_all(), ["+a@1", "+b@2", "+c@3"]);
    assert_eq!(pipeline.store.len(), 3);
}

// R116
#[test]
fn a_resync_delivers_all_objects_again() {
    let mut pipeline = Pipeline::new();
    pipeline.list([pod("a").version(1), pod("b").version(2)], 2);
    pipeline.apply_all();
    now(pipeline.fifo.resync()).unwrap();
    let events: BTreeSet<_> = pipeline.apply_all().into_iter().collect();
    assert_eq!(events, ["=a@1", "=b@2"].map(String::from).into());
}

// R76, R117
#[test]
fn a_bookmark_changes_the_version_without_an_event() {
    let mut pipeline = Pipeline::new();
    pipeline.list([pod("a").version(1)], 1);
    pipeline.apply_all();
    now(pipeline.fifo.bookmark(rv(9))).unwrap();
    assert_eq!(pipeline.apply_all(), [""; 0]);
    assert_eq!(pipeline.store.version(), Some(rv(9)));
}

// R119
#[test]
fn a_relist_after_lost_events_delivers_only_the_missed_changes() {
    let mut pipeline = Pipeline::new();
    pipeline.list([pod("pod-1").version(1)], 1);
    assert_eq!(pipeline.apply_all(), ["+pod-1@1 initial"]);
    pipeline.list([pod("pod-1").version(2), pod("pod-2").version(3)], 3);
    assert_eq!(pipeline.apply_all(), ["pod-1@1 -> pod-1@2", "+pod-2@3"]);
}

// R120
#[test]
fn each_event_updates_the_version() {
    let mut pipeline = Pipeline::new();
    let mut after = |step: &dyn Fn(&Pipeline)| {
        step(&pipeline);
        pipeline.apply_all();
        pipeline.store.version().and_then(|version| version.to_number())
    };
    assert_eq!(after(&|pipeline| _ = pipeline.list([pod("a").version(1)], 2)), Some(2));
    assert_eq!(after(&|pipeline| _ = pipeline.add(pod("b").version(3))), Some(3));
    assert_eq!(after(&|pipeline| _ = pipeline.update(pod("b").version(4))), Some(4));
    assert_eq!(after(&|pipeline| _ = pipeline.delete(pod("b").version(5))), Some(5));
    assert_eq!(
        after(&|pipeline| _ = pipeline.update(pod("a"))),
        Some(5),
        "an object without a version does not change it"
    );
    assert_eq!(after(&|pipeline| _ = pipeline.list([], 7)), Some(7));
}

// R122
#[test]
fn the_store_and_handlers_receive_transformed_objects() {
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
    assert_eq!(pipeline.apply_all(), ["+A@1 initial", "A@1 -> A@3", "-A@5"]);
    assert_eq!(pipeline.fifo.rejected(), 2);
}

#[test]
fn an_object_whose_transform_fails_in_a_relist_is_not_deleted() {
    let mut pipeline = Pipeline::new();
    pipeline.fifo = DeltaFifo::builder()
        .transform(|pod: Pod| if pod.metadata.uid.is_some() { Err("has a uid".into()) } else { Ok(pod) })
        .on_rejected(drop)
        .build();
    pipeline.list([pod("a").version(1)], 1).list([pod("a").version(2).uid("u")], 2);
    assert_eq!(pipeline.apply_all(), ["+a@1 initial"]);
    assert_eq!(pipeline.store.get("a").as_deref().map(version_of), Some(1));
}

/// A filter must deliver the deletion even if earlier updates were skipped or merged.
#[test]
fn a_filter_delivers_the_deletion_of_every_object_that_it_delivered() {
    let mut pipeline = Pipeline::new();
    pipeline.fifo = DeltaFifo::builder()
        .transform(|pod: Pod| if pod.metadata.uid.is_some() { Err("skipped".into()) } else { Ok(pod) })
        .on_rejected(drop)
        .build();
    pipeline
        .add(pod("skipped").version(2))
        .update(pod("skipped").version(3).uid("u"))
        .delete(pod("skipped").version(5));
    for version in 1..=65 {
        pipeline.update(pod("merged").version(2 * version));
    }
    pipeline.update(pod("merged").version(131)).delete(pod("merged").version(133));
    let mut known = BTreeMap::new();
    for event in pipeline.events() {
        if let Some(event) = event.filtered(|pod| version_of(pod).is_multiple_of(2)) {
            fold(&mut known, &event).unwrap();
        }
    }
    assert_eq!(known, BTreeMap::new());
}

/// Changes of a server that does not change its versions are not lost.
#[test]
fn a_change_with_the_same_version_is_applied() {
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
        assert_eq!(
            events[1].is_resync(),
            version == "7",
            "an update with the same valid version is a resync"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_version_of_a_skipped_object_is_reached() {
    let mut pipeline = Pipeline::new();
    pipeline.fifo = DeltaFifo::builder()
        .transform(|pod: Pod| if pod.metadata.uid.is_some() { panic!("has a uid") } else { Ok(pod) })
        .on_rejected(drop)
        .build();
    pipeline.add(pod("a").version(1)).update(pod("a").version(2).uid("u"));
    assert_eq!(pipeline.apply_all(), ["+a@1"]);
    pipeline.store.wait_for(&rv(2)).await.unwrap();
    assert_eq!(pipeline.fifo.rejected(), 1);
}

#[test]
fn a_dropped_batch_is_not_applied() {
    let pipeline = Pipeline::new();
    pipeline.list([pod("a").version(1)], 1);
    drop(now(pipeline.fifo.pop()));
    assert!(!pipeline.fifo.has_synced());
}

// R120
#[test]
fn the_version_is_read_before_the_transform() {
    let mut pipeline = Pipeline::new();
    pipeline.fifo = DeltaFifo::builder()
        .transform(|mut pod: Pod| {
            pod.metadata.resource_version = None;
            Ok(pod)
        })
        .build();
    pipeline.list([pod("a").version(1)], 5).update(pod("a").version(6));
    pipeline.apply_all();
    assert_eq!(pipeline.store.version(), Some(rv(6)));
}

// R123
#[test]
fn a_filter_turns_updates_that_cross_it_into_additions_and_deletions() {
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
    assert_eq!(even(deleted(2, 3)).as_deref(), Some("-a@3"), "the old state matched");
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

/// Applies an event to the state of a handler, and checks that it is consistent with that state.
fn fold(known: &mut BTreeMap<String, u64>, event: &Event<Pod>) -> Result<(), TestCaseError> {
    let name = event.object().get().metadata.name.clone().unwrap();
    let version = version_of(event.object().get());
    match event {
        Event::Added { .. } => prop_assert_eq!(known.insert(name, version), None, "added twice"),
        Event::Updated { old, .. } => {
            prop_assert_eq!(known.insert(name, version), Some(version_of(old.get())))
        }
        Event::Deleted { .. } | Event::Released { .. } => {
            prop_assert!(known.remove(&name).is_some(), "deleted an unknown object")
        }
    }
    Ok(())
}

proptest! {
    /// The watch loses events. Applying all events always results in the state of the cache, and after a relist the cache
    /// equals the server. R77, R78, R79, R113, R115
    #[test]
    fn events_add_up_to_the_cache_and_a_relist_restores_lost_events(ops in ops()) {
        let mut pipeline = Pipeline::new();
        let mut server = BTreeMap::new();
        let mut known = BTreeMap::new();
        let mut even = BTreeMap::new();
        let mut clock = 0;
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
                    prop_assert_eq!(&passing, &even, "a filtering handler has exactly the matching objects");
                }
            }
        }
        prop_assert_eq!(known, server);
    }
}
