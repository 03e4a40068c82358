//! Tests of the queue: its rules, and a comparison with a simple model.

use super::{ClosedError, DeltaFifo, Deltas, Entry};
use crate::{
    delta::Delta,
    ingest::RejectedError,
    testing::{PodBuilder, now, pod, poll_once, rv, version_of},
};
use k8s_openapi::api::core::v1::Pod;
use proptest::prelude::*;
use std::{
    collections::BTreeMap,
    num::NonZeroUsize,
    pin::pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

fn fifo() -> DeltaFifo<Pod> {
    DeltaFifo::builder().build()
}

fn add(fifo: &DeltaFifo<Pod>, key: &str, version: u64) {
    now(fifo.add(pod(key).version(version))).unwrap();
}

/// Pops one entry and formats it: `foo[+10 ~12 -15]`, `first list[a b]`, `resync`, `bookmark`.
fn pop(fifo: &DeltaFifo<Pod>) -> String {
    now(fifo.pop()).map_or_else(|| "closed".into(), |batch| describe(&batch.entries[0]))
}

fn describe(entry: &Entry<Pod>) -> String {
    match entry {
        Entry::Deltas(deltas) => {
            let described: Vec<_> = deltas.iter().map(describe_delta).collect();
            format!("{}[{}]", deltas.key(), described.join(" "))
        }
        Entry::Replaced { listing, initial } => {
            let names: Vec<_> = listing.objects.iter().map(|(key, _)| key.as_str()).collect();
            format!("{}list[{}]", if *initial { "first " } else { "" }, names.join(" "))
        }
        Entry::Resync => "resync".into(),
        Entry::Bookmark => "bookmark".into(),
        Entry::Resumed => "resumed".into(),
    }
}

fn describe_delta(delta: &Delta<Pod>) -> String {
    match delta {
        Delta::Added(_, pod) => format!("+{}", version_of(pod.get())),
        Delta::Updated(_, pod) => format!("~{}", version_of(pod.get())),
        Delta::Deleted(_, Some(pod)) => format!("-{}", version_of(pod.get())),
        Delta::Deleted(_, None) => "-?".into(),
        Delta::Skipped(_) => panic!("skipped objects are not queued"),
    }
}

// R71
#[test]
fn pops_all_deltas_of_a_key_together_and_in_order() {
    let fifo = fifo();
    now(fifo.add(pod("foo").version(10))).unwrap();
    now(fifo.update(pod("foo").version(12))).unwrap();
    now(fifo.delete(pod("foo").version(15))).unwrap();
    assert_eq!(pop(&fifo), "foo[+10 ~12 -15]");
    assert!(fifo.is_empty());
}

// R72
#[test]
fn pops_keys_in_the_order_of_their_first_delta() {
    let fifo = fifo();
    for (key, version) in [("foo", 10), ("bar", 1), ("foo", 11), ("foo", 13), ("zab", 30)] {
        add(&fifo, key, version);
    }
    assert_eq!(pop(&fifo), "foo[+10 +11 +13]");
    add(&fifo, "foo", 14);
    assert_eq!([pop(&fifo), pop(&fifo), pop(&fifo)], ["bar[+1]", "zab[+30]", "foo[+14]"]);
}

// R73
#[test]
fn merges_deletions_and_keeps_the_observed_final_state() {
    let fifo = fifo();
    now(fifo.delete(pod("seen").version(1))).unwrap();
    now(fifo.delete_unobserved("seen".parse().unwrap())).unwrap();
    now(fifo.delete(pod("seen").version(2))).unwrap();
    now(fifo.delete_unobserved("unseen".parse().unwrap())).unwrap();
    now(fifo.delete_unobserved("unseen".parse().unwrap())).unwrap();
    now(fifo.delete_unobserved("later".parse().unwrap())).unwrap();
    now(fifo.delete(pod("later").version(3))).unwrap();
    assert_eq!([pop(&fifo), pop(&fifo), pop(&fifo)], ["seen[-1]", "unseen[-?]", "later[-3]"]);
}

// R74
#[test]
fn deltas_are_not_grouped_across_a_list() {
    let fifo = fifo();
    add(&fifo, "foo", 1);
    now(fifo.replace([pod("foo").version(2)], Some(rv(2)))).unwrap();
    add(&fifo, "foo", 3);
    add(&fifo, "bar", 4);
    add(&fifo, "foo", 5);
    let popped = [pop(&fifo), pop(&fifo), pop(&fifo), pop(&fifo)];
    assert_eq!(popped, ["foo[+1]", "first list[foo]", "foo[+3 +5]", "bar[+4]"]);
}

// R74
#[test]
fn deltas_are_not_grouped_across_a_resync() {
    let fifo = fifo();
    add(&fifo, "foo", 1);
    now(fifo.resync()).unwrap();
    add(&fifo, "foo", 2);
    assert_eq!([pop(&fifo), pop(&fifo), pop(&fifo)], ["foo[+1]", "resync", "foo[+2]"]);
}

// R75
#[test]
fn lists_are_not_merged() {
    let fifo = fifo();
    now(fifo.replace([pod("a")], Some(rv(1)))).unwrap();
    now(fifo.replace([], Some(rv(2)))).unwrap();
    now(fifo.replace([pod("b")], Some(rv(3)))).unwrap();
    assert_eq!([pop(&fifo), pop(&fifo), pop(&fifo)], ["first list[a]", "list[]", "list[b]"]);
}

// R75
#[test]
fn consecutive_resyncs_are_merged() {
    let fifo = fifo();
    now(fifo.resync()).unwrap();
    now(fifo.resync()).unwrap();
    add(&fifo, "a", 1);
    now(fifo.resync()).unwrap();
    assert_eq!([pop(&fifo), pop(&fifo), pop(&fifo)], ["resync", "a[+1]", "resync"]);
    assert!(fifo.is_empty());
}

/// Pops all entries one at a time, and returns the version of each batch.
fn versions(fifo: &DeltaFifo<Pod>) -> Vec<Option<u64>> {
    let pop = || match poll_once(fifo.pop()) {
        Poll::Ready(batch) => batch.map(|batch| batch.version.and_then(|version| version.to_number())),
        Poll::Pending => None,
    };
    std::iter::from_fn(pop).collect()
}

// R76
#[test]
fn a_bookmark_changes_the_version_in_queue_order() {
    let fifo = fifo();
    add(&fifo, "a", 1);
    now(fifo.bookmark(rv(5))).unwrap();
    add(&fifo, "b", 6);
    assert_eq!(versions(&fifo), [Some(1), Some(5), Some(6)]);
    now(fifo.bookmark(rv(7))).unwrap();
    now(fifo.bookmark(rv(8))).unwrap();
    assert_eq!(versions(&fifo), [Some(8)]);
}

// R76
#[test]
fn a_batch_has_a_version_only_if_all_earlier_changes_were_popped() {
    let fifo = fifo();
    add(&fifo, "foo", 10);
    add(&fifo, "bar", 11);
    add(&fifo, "foo", 12);
    add(&fifo, "zab", 13);
    // Popping foo removes 10 and 12, but 11 is still queued.
    assert_eq!(versions(&fifo), [Some(10), Some(12), Some(13)]);
}

// R80
#[test]
fn transforms_each_object_once_before_it_is_queued() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let fifo = DeltaFifo::builder()
        .transform(move |pod: Pod| {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(pod.label("first", "yes"))
        })
        .transform(
            |pod| if pod.metadata.labels.is_some() { Ok(pod.node("n")) } else { Err("no label".into()) },
        )
        .build();
    now(fifo.add(pod("a"))).unwrap();
    now(fifo.update(pod("a"))).unwrap();
    now(fifo.delete(pod("a"))).unwrap();
    now(fifo.replace([pod("b"), pod("c")], None)).unwrap();
    now(fifo.resync()).unwrap();
    let batch = now(fifo.pop_batch(NonZeroUsize::MAX)).unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), 5);
    let Entry::Deltas(deltas) = &batch.entries[0] else { panic!("{batch:?}") };
    let Delta::Added(_, added) = deltas.iter().next().unwrap() else { panic!("{deltas:?}") };
    assert_eq!(added.get().spec.as_ref().unwrap().node_name.as_deref(), Some("n"));
}

// R80
#[test]
fn a_failing_transform_is_reported_and_skips_only_that_object() {
    let reports = Arc::new(Mutex::new(Vec::new()));
    let received = Arc::clone(&reports);
    let fifo = DeltaFifo::builder()
        .transform(|pod: Pod| if pod.metadata.uid.is_some() { Err("has a uid".into()) } else { Ok(pod) })
        .on_rejected(move |rejected| {
            let RejectedError::Transform { key, cause } = rejected else { panic!("{rejected}") };
            received.lock().unwrap().push(format!("{key}: {cause}"));
        })
        .build();
    now(fifo.add(pod("bad").uid("u"))).unwrap();
    now(fifo.replace([pod("good"), pod("bad").uid("u")], None)).unwrap();
    now(fifo.add(pod("good"))).unwrap();
    // A deletion is never skipped: it is queued without its final state.
    now(fifo.delete(pod("bad").uid("u"))).unwrap();
    let batch = now(fifo.pop()).unwrap();
    let Entry::Replaced { listing, .. } = &batch.entries[0] else { panic!("{batch:?}") };
    assert_eq!(listing.skipped, ["bad".parse().unwrap()]);
    assert_eq!(
        [describe(&batch.entries[0]), pop(&fifo), pop(&fifo)],
        ["first list[good]", "good[+0]", "bad[-?]"]
    );
    assert_eq!(*reports.lock().unwrap(), ["bad: has a uid"; 3]);
    assert_eq!(fifo.rejected(), 3);
}

#[test]
fn an_object_without_a_name_is_reported_and_skipped() {
    let fifo = fifo();
    let nameless = Pod::default;
    now(fifo.add(nameless())).unwrap();
    now(fifo.delete(nameless())).unwrap();
    now(fifo.replace([nameless()], None)).unwrap();
    assert_eq!(fifo.rejected(), 3);
    assert_eq!(pop(&fifo), "first list[]");
    assert!(fifo.is_empty());
}

// R81
#[test]
fn has_synced_when_the_first_list_has_been_applied() {
    for objects in [vec![], vec![pod("a")]] {
        let fifo = fifo();
        add(&fifo, "early", 1);
        now(fifo.pop()).unwrap().applied.done();
        assert!(!fifo.has_synced(), "a delta is not a list");
        now(fifo.replace(objects, None)).unwrap();
        assert!(!fifo.has_synced(), "only queued");
        let batch = now(fifo.pop()).unwrap();
        assert!(!fifo.has_synced(), "only popped");
        batch.applied.done();
        assert!(fifo.has_synced());
    }
}

// R82
#[tokio::test]
async fn close_wakes_all_waiting_consumers() {
    let fifo = fifo();
    let waiting: Vec<_> = (0..3)
        .map(|_| {
            let fifo = fifo.clone();
            tokio::spawn(async move { fifo.pop().await.is_none() })
        })
        .collect();
    tokio::task::yield_now().await;
    fifo.close();
    for pop in waiting {
        assert!(pop.await.unwrap());
    }
}

// R82
#[test]
fn queued_entries_can_be_popped_after_close() {
    let fifo = fifo();
    add(&fifo, "a", 1);
    fifo.close();
    assert_eq!(now(fifo.add(pod("b"))), Err(ClosedError));
    assert_eq!([pop(&fifo), pop(&fifo)], ["a[+1]", "closed"]);
}

// R83
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_changes_of_each_producer_stay_in_order() {
    let fifo = fifo();
    let producers = ["x", "y"].map(|name| {
        let fifo = fifo.clone();
        tokio::spawn(async move {
            for version in 0..500 {
                fifo.add(pod(&format!("{name}/{}", version % 50)).version(version)).await.unwrap();
            }
        })
    });
    let mut seen: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    let mut total = 0;
    while total < 1000 {
        for entry in fifo.pop().await.unwrap().entries {
            let Entry::Deltas(deltas) = entry else { panic!("only deltas were queued") };
            let key = deltas.key().clone();
            for delta in deltas {
                let Delta::Added(_, pod) = delta else { panic!("only additions were queued") };
                seen.entry(key.to_string()).or_default().push(version_of(pod.get()));
                total += 1;
            }
        }
    }
    for producer in producers {
        producer.await.unwrap();
    }
    assert_eq!(seen.len(), 100);
    assert!(seen.values().all(|versions| versions.is_sorted()), "{seen:?}");
}

// R84
#[test]
fn a_batch_is_in_queue_order() {
    let fifo = fifo();
    add(&fifo, "a", 1);
    add(&fifo, "b", 2);
    now(fifo.resync()).unwrap();
    add(&fifo, "a", 3);
    let two = now(fifo.pop_batch(NonZeroUsize::new(2).unwrap())).unwrap();
    assert_eq!(two.entries.iter().map(describe).collect::<Vec<_>>(), ["a[+1]", "b[+2]"]);
    assert_eq!(two.version, Some(rv(2)));
    let rest = now(fifo.pop_batch(NonZeroUsize::MAX)).unwrap();
    assert_eq!(rest.entries.iter().map(describe).collect::<Vec<_>>(), ["resync", "a[+3]"]);
    assert_eq!(rest.version, Some(rv(3)));
}

// R85
#[tokio::test]
async fn a_full_queue_makes_the_producer_wait() {
    let fifo = DeltaFifo::builder().capacity(NonZeroUsize::new(2).unwrap()).build();
    fifo.add(pod("a").version(1)).await.unwrap();
    fifo.add(pod("a").version(2)).await.unwrap();
    let mut third = pin!(fifo.add(pod("b").version(3)));
    assert!(poll_once(third.as_mut()).is_pending());
    assert!(poll_once(fifo.resync()).is_pending());
    assert_eq!(pop(&fifo), "a[+1 +2]");
    third.await.unwrap();
    assert_eq!(pop(&fifo), "b[+3]");
    assert!(fifo.is_empty(), "a cancelled call queued an entry");
}

// R85
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn does_not_exceed_its_capacity_with_a_slow_consumer() {
    let fifo = DeltaFifo::builder().capacity(NonZeroUsize::new(8).unwrap()).build();
    let producer = tokio::spawn({
        let fifo = fifo.clone();
        async move {
            for version in 0..2000 {
                fifo.add(pod(&format!("k{}", version % 50)).version(version)).await.unwrap();
            }
            fifo.close();
        }
    });
    let mut newest = 0;
    while let Some(batch) = fifo.pop().await {
        assert!(fifo.load() <= 8);
        newest = newest.max(batch.version.and_then(|version| version.to_number()).unwrap());
        tokio::task::yield_now().await;
    }
    producer.await.unwrap();
    assert_eq!(newest, 1999);
}

#[tokio::test]
async fn close_wakes_waiting_producers() {
    let fifo = DeltaFifo::builder().capacity(NonZeroUsize::MIN).build();
    fifo.add(pod("a")).await.unwrap();
    let mut waiting = pin!(fifo.add(pod("b")));
    assert!(poll_once(waiting.as_mut()).is_pending());
    fifo.close();
    assert_eq!(waiting.await, Err(ClosedError));
}

#[test]
fn a_cancelled_wait_drops_its_waker() {
    struct NoopWake;
    impl Wake for NoopWake {
        fn wake(self: Arc<Self>) {}
    }
    let fifo = DeltaFifo::<Pod>::builder().capacity(NonZeroUsize::MIN).build();
    let wake = Arc::new(NoopWake);
    let waker = Waker::from(Arc::clone(&wake));
    let mut context = Context::from_waker(&waker);
    for _ in 0..10 {
        assert!(pin!(fifo.pop()).poll(&mut context).is_pending());
    }
    now(fifo.add(pod("a"))).unwrap();
    for _ in 0..10 {
        assert!(pin!(fifo.add(pod("b"))).poll(&mut context).is_pending());
    }
    drop(waker);
    assert_eq!(Arc::strong_count(&wake), 1, "a waker was not dropped");
}

#[test]
fn frees_the_memory_of_a_burst() {
    let fifo = fifo();
    for number in 0..5000 {
        add(&fifo, &number.to_string(), 1);
    }
    let before = fifo.capacity();
    drop(now(fifo.pop_batch(NonZeroUsize::MAX)));
    assert!(before >= 5000 && fifo.capacity() < 1024, "{before} {}", fifo.capacity());
    add(&fifo, "1", 2);
    assert_eq!(pop(&fifo), "1[+2]");
}

#[test]
fn debug_output_does_not_contain_objects() {
    let fifo = fifo();
    now(fifo.add(pod("a").label("password", "hunter2"))).unwrap();
    assert!(!format!("{fifo:?}").contains("hunter2"));
}

#[test]
fn the_number_of_deltas_of_one_key_is_limited() {
    let fifo = fifo();
    for version in 0..10_000 {
        now(fifo.update(pod("hot").version(version))).unwrap();
    }
    let Entry::Deltas(deltas) = now(fifo.pop()).unwrap().entries.remove(0) else { panic!("only deltas") };
    assert_eq!(deltas.len(), Deltas::<Pod>::LIMIT);
    assert_eq!(describe_delta(deltas.newest()), "~9999");
}

/// Applies deltas to the version of an object, which is `None` if the object does not exist.
fn fold(version: Option<u64>, deltas: &Deltas<Pod>) -> Option<u64> {
    deltas.iter().fold(version, |_, delta| match delta {
        Delta::Added(_, pod) | Delta::Updated(_, pod) => Some(version_of(pod.get())),
        Delta::Deleted(..) | Delta::Skipped(_) => None,
    })
}

#[derive(Clone, Debug)]
enum Op {
    Add(u8),
    Update(u8),
    Delete(u8),
    Replace(Vec<u8>),
    Resync,
    Bookmark,
    Pop(u8),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let key = 0..4_u8;
    let op = prop_oneof![
        4 => key.clone().prop_map(Op::Add),
        6 => key.clone().prop_map(Op::Update),
        3 => key.clone().prop_map(Op::Delete),
        1 => proptest::collection::btree_set(key, 0..4).prop_map(|keys| Op::Replace(keys.into_iter().collect())),
        1 => Just(Op::Resync),
        1 => Just(Op::Bookmark),
        3 => (1..5_u8).prop_map(Op::Pop),
    ];
    proptest::collection::vec(op, 0..400)
}

/// An element of the model, which is the list of all queued changes, ungrouped and in order of arrival.
#[derive(Debug, Clone, PartialEq)]
enum Arrival {
    Delta(u8, char, u64),
    Barrier(&'static str),
    Bookmark,
}

/// Removes the elements that one pop must return: the first one, and if that is a delta, all deltas of its key before the
/// next barrier.
fn model_pop(model: &mut Vec<(Arrival, u64)>) -> Vec<Arrival> {
    let (front, _) = model.remove(0);
    let mut popped = vec![front.clone()];
    match front {
        Arrival::Barrier(_) => {}
        Arrival::Bookmark => {
            while matches!(model.first(), Some((Arrival::Bookmark, _))) {
                model.remove(0);
            }
        }
        Arrival::Delta(key, ..) => {
            let barrier = model.iter().position(|(arrival, _)| matches!(arrival, Arrival::Barrier(_)));
            let of_key =
                |element: &mut (Arrival, u64)| matches!(element.0, Arrival::Delta(other, ..) if other == key);
            let end = barrier.unwrap_or(model.len());
            popped.extend(model.extract_if(..end, of_key).map(|(arrival, _)| arrival));
        }
    }
    popped
}

proptest! {
    // R71, R72, R73, R74, R75, R76, R84
    #[test]
    fn behaves_like_a_simple_model(ops in ops()) {
        let fifo = fifo();
        let mut model: Vec<(Arrival, u64)> = Vec::new();
        let mut clock = 0;
        // The versions of all changes. The version of a change is the time of its arrival.
        let mut versions = Vec::new();
        for op in ops {
            clock += 1;
            if !matches!(op, Op::Resync | Op::Pop(_)) {
                versions.push(clock);
            }
            match op {
                Op::Add(key) => {
                    add(&fifo, &key.to_string(), clock);
                    model.push((Arrival::Delta(key, '+', clock), clock));
                }
                Op::Update(key) => {
                    now(fifo.update(pod(&key.to_string()).version(clock))).unwrap();
                    model.push((Arrival::Delta(key, '~', clock), clock));
                }
                Op::Delete(key) => {
                    now(fifo.delete(pod(&key.to_string()).version(clock))).unwrap();
                    model.push((Arrival::Delta(key, '-', clock), clock));
                }
                Op::Replace(keys) => {
                    let pods = keys.iter().map(|key| pod(&key.to_string()));
                    now(fifo.replace(pods, Some(rv(clock)))).unwrap();
                    model.push((Arrival::Barrier("list"), clock));
                }
                Op::Resync => {
                    now(fifo.resync()).unwrap();
                    if !matches!(model.last(), Some((Arrival::Barrier("resync"), _))) {
                        model.push((Arrival::Barrier("resync"), clock));
                    }
                }
                Op::Bookmark => {
                    now(fifo.bookmark(rv(clock))).unwrap();
                    model.push((Arrival::Bookmark, clock));
                }
                Op::Pop(count) => {
                    for _ in 0..count {
                        check_pop(&fifo, &mut model, &versions)?;
                    }
                }
            }
        }
        while !model.is_empty() {
            check_pop(&fifo, &mut model, &versions)?;
        }
        prop_assert!(fifo.is_empty());
    }

    #[test]
    fn merging_deltas_keeps_the_last_state_and_the_limit(deletes in proptest::collection::vec(any::<bool>(), 1..400)) {
        let fifo = fifo();
        let mut last = None;
        for (version, is_delete) in (1_u64..).zip(&deletes) {
            let pod = pod("k").version(version);
            if *is_delete {
                now(fifo.delete(pod)).unwrap();
            } else {
                now(fifo.update(pod)).unwrap();
            }
            last = (!is_delete).then_some(version);
        }
        let Entry::Deltas(deltas) = now(fifo.pop()).unwrap().entries.remove(0) else { panic!("only deltas") };
        prop_assert!(deltas.len() <= Deltas::<Pod>::LIMIT + 1);
        prop_assert_eq!(fold(Some(0), &deltas), last);
        // A consumer that has the object receives its deletion, if there was one.
        let has_deletion = deltas.iter().any(|delta| matches!(delta, Delta::Deleted(..)));
        prop_assert_eq!(has_deletion, deletes.contains(&true));
    }
}

fn check_pop(
    fifo: &DeltaFifo<Pod>,
    model: &mut Vec<(Arrival, u64)>,
    versions: &[u64],
) -> Result<(), TestCaseError> {
    if model.is_empty() {
        prop_assert!(poll_once(fifo.pop()).is_pending());
        return Ok(());
    }
    let mut expected = model_pop(model);
    expected
        .dedup_by(|new, old| matches!((old, new), (Arrival::Delta(_, '-', _), Arrival::Delta(_, '-', _))));
    let batch = now(fifo.pop()).unwrap();
    let popped = match &batch.entries[0] {
        Entry::Deltas(deltas) => {
            let key: u8 = deltas.key().as_str().parse().unwrap();
            let described = deltas.iter().map(describe_delta);
            described
                .map(|text| Arrival::Delta(key, text.chars().next().unwrap(), text[1..].parse().unwrap()))
                .collect()
        }
        Entry::Replaced { .. } => vec![Arrival::Barrier("list")],
        Entry::Resync => vec![Arrival::Barrier("resync")],
        Entry::Bookmark => vec![Arrival::Bookmark],
        Entry::Resumed => Vec::new(),
    };
    if popped.len() < Deltas::<Pod>::LIMIT {
        prop_assert_eq!(popped, expected);
    }
    // The version of the batch is the newest one that is older than all queued changes.
    let oldest_queued = model.first().map_or(u64::MAX, |(_, arrived)| *arrived);
    let expected = versions.iter().rev().find(|version| **version < oldest_queued);
    prop_assert_eq!(batch.version.and_then(|version| version.to_number()), expected.copied());
    Ok(())
}
