//! Compares a controller with a plain model under random operations and paused time.

use crate::cluster::Cluster;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{
    Informer,
    controller::{Action, Controller, ErrorPolicy, Gate},
    wire::Key,
};
use proptest::prelude::*;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::Duration,
};

#[derive(Clone, Copy, Debug)]
enum Op {
    Create(u8),
    Change(u8),
    Delete(u8),
    Trigger(u8),
    Fail(bool),
    Open(bool),
    Cut,
    Compact,
    Advance(u16),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (0..6u8).prop_map(Op::Create),
        6 => (0..6u8).prop_map(Op::Change),
        3 => (0..6u8).prop_map(Op::Delete),
        2 => (0..6u8).prop_map(Op::Trigger),
        1 => any::<bool>().prop_map(Op::Fail),
        1 => any::<bool>().prop_map(Op::Open),
        1 => Just(Op::Cut),
        1 => Just(Op::Compact),
        5 => (0..2000u16).prop_map(Op::Advance),
    ]
}

/// The calls of the reconcile function, with its checks.
#[derive(Default)]
struct Observed {
    running: BTreeSet<Key>,
    most_running: usize,
    /// The version of each key at its last successful reconcile; `None` if it was deleted.
    seen: BTreeMap<Key, Option<String>>,
    violations: Vec<String>,
    is_failing: bool,
}

struct Context {
    observed: Mutex<Observed>,
    maps: Informer<ConfigMap>,
}

/// Ends the run of a key, also if the future is dropped.
struct RunningKey(Arc<Context>, Key);

impl Drop for RunningKey {
    fn drop(&mut self) {
        self.0.observed.lock().unwrap().running.remove(&self.1);
    }
}

async fn reconcile(key: Key, context: Arc<Context>) -> Result<Action, &'static str> {
    let _running = {
        let mut observed = context.observed.lock().unwrap();
        if !observed.running.insert(key.clone()) {
            observed.violations.push(format!("{key} is reconciled twice at the same time"));
        }
        observed.most_running = observed.most_running.max(observed.running.len());
        RunningKey(Arc::clone(&context), key.clone())
    };
    let version = context.maps.get(&key).and_then(|map| map.metadata.resource_version.clone());
    tokio::time::sleep(Duration::from_millis(300)).await;
    let mut observed = context.observed.lock().unwrap();
    if observed.is_failing {
        return Err("failing");
    }
    observed.seen.insert(key, version);
    Ok(Action::await_change())
}

/// Applies the operations, waits until the controller is idle, and checks the result.
async fn check(ops: Vec<Op>, concurrency: usize) -> Result<(), TestCaseError> {
    let cluster = Cluster::new();
    let maps = Informer::<ConfigMap>::builder(cluster.server.client()).start().unwrap();
    let gate = Gate::opened();
    let context = Arc::new(Context { observed: Mutex::default(), maps: maps.clone() });
    let controller = Controller::new(&maps).concurrency(concurrency).gate(&gate);
    let handle = controller.handle();
    let running =
        tokio::spawn(controller.run_by_key(reconcile, ErrorPolicy::default(), Arc::clone(&context)));
    let mut exists = BTreeSet::new();
    let mut deleted = BTreeSet::new();
    for op in ops {
        match op {
            Op::Create(number) if exists.insert(number) => {
                deleted.remove(&number);
                cluster.create(&format!("m{number}")).await;
            }
            Op::Change(number) if exists.contains(&number) => {
                cluster.change(&format!("m{number}"), &format!("{:?}", tokio::time::Instant::now())).await;
            }
            Op::Delete(number) if exists.remove(&number) => {
                deleted.insert(number);
                cluster.delete(&format!("m{number}")).await;
            }
            Op::Trigger(number) => {
                handle.trigger(format!("default/m{number}").parse().unwrap()).unwrap();
            }
            Op::Fail(is_failing) => context.observed.lock().unwrap().is_failing = is_failing,
            Op::Open(true) => gate.open(),
            Op::Open(false) => gate.close(),
            Op::Cut => cluster.server.cut_watches(),
            Op::Compact => cluster.server.compact(),
            Op::Advance(millis) => tokio::time::sleep(Duration::from_millis(millis.into())).await,
            Op::Create(_) | Op::Change(_) | Op::Delete(_) => {}
        }
    }
    gate.open();
    context.observed.lock().unwrap().is_failing = false;
    // The longest backoff, and time for the reflector to reconnect.
    tokio::time::sleep(Duration::from_secs(400)).await;
    handle.idle().await;
    prop_assert_eq!((handle.depth(), handle.scheduled(), handle.running().len()), (0, 0, 0));
    {
        let observed = context.observed.lock().unwrap();
        prop_assert!(observed.violations.is_empty(), "{:?}", observed.violations);
        prop_assert!(observed.most_running <= concurrency, "{}", observed.most_running);
        for map in maps.list() {
            let key = Key::of(&*map).unwrap();
            prop_assert_eq!(observed.seen.get(&key), Some(&map.metadata.resource_version.clone()), "{}", key);
        }
        // An object that is created and deleted while the watch is cut is unknown to the controller.
        let was_missed = |key: &Key| !matches!(observed.seen.get(key), None | Some(None));
        let missed: Vec<Key> = deleted
            .iter()
            .map(|number| format!("default/m{number}").parse().unwrap())
            .filter(was_missed)
            .collect();
        prop_assert!(missed.is_empty(), "the deletion was not reconciled: {missed:?}");
    }
    prop_assert_eq!(maps.len(), exists.len());
    handle.stop();
    running.await.unwrap().unwrap();
    prop_assert_eq!(maps.tasks(), 2, "no task of the controller remains");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_key_is_reconciled_in_its_last_state_by_one_worker_at_a_time(
        ops in proptest::collection::vec(op(), 1..60),
        concurrency in 1usize..5,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(check(ops, concurrency))?;
    }
}
