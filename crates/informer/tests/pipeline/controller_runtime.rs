//! The runtime of controllers: handle, retries, triggers, gate, shutdown and misuse.

use crate::cluster::{Cluster, named};
use futures_util::{StreamExt, stream};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, PostParams};
use kube_devserver::Fault;
use kube_informer::{
    Event, Informer,
    controller::{
        Action, Controller, ControllerEnded, ControllerError, ControllerHandle, ErrorPolicy, Gate, Reason,
        ReconcileResult, RunState, controller_owner_ref, predicates,
    },
    wire::Key,
};
use serde_json::json;
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{sync::mpsc, task::JoinHandle, time::Instant};

type Running = JoinHandle<Result<(), ControllerError>>;

fn key(name: &str) -> Key {
    format!("default/{name}").parse().unwrap()
}

async fn informer(cluster: &Cluster) -> Informer<ConfigMap> {
    let maps = Informer::<ConfigMap>::builder(cluster.server.client()).start().unwrap();
    maps.synced().await.unwrap();
    maps
}

/// Counts the reconciles of each key, and fails while `is_failing`.
#[derive(Default)]
struct Context {
    counts: Mutex<BTreeMap<String, usize>>,
    times: Mutex<Vec<Instant>>,
    is_failing: AtomicBool,
}

impl Context {
    fn count(&self, name: &str) -> usize {
        self.counts.lock().unwrap().get(name).copied().unwrap_or_default()
    }
}

#[derive(Debug, thiserror::Error)]
#[error("cannot apply the deployment")]
struct ApplyError(#[source] std::io::Error);

async fn reconcile(map: Arc<ConfigMap>, context: Arc<Context>) -> Result<Action, ApplyError> {
    let name = map.metadata.name.clone().unwrap();
    *context.counts.lock().unwrap().entry(name).or_default() += 1;
    context.times.lock().unwrap().push(Instant::now());
    if context.is_failing.load(Ordering::Relaxed) {
        return Err(ApplyError(std::io::Error::other("403 forbidden")));
    }
    Ok(Action::await_change())
}

/// Runs a controller with [`reconcile`] in a task.
fn spawn(controller: Controller<ConfigMap>) -> (ControllerHandle, Arc<Context>, Running) {
    let (handle, context) = (controller.handle(), Arc::new(Context::default()));
    let running = tokio::spawn(controller.run(reconcile, ErrorPolicy::default(), Arc::clone(&context)));
    (handle, context, running)
}

async fn stop(handle: &ControllerHandle, running: Running) {
    handle.stop();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_failing_server_is_not_flooded_and_all_objects_recover_quickly() {
    const OBJECTS: usize = 2000;
    let cluster = Cluster::new();
    for number in 0..OBJECTS {
        cluster.create(&format!("m{number}")).await;
    }
    let maps = informer(&cluster).await;
    let controller = Controller::new(&maps).concurrency(8);
    let (handle, context) = (controller.handle(), Arc::new(Context::default()));
    context.is_failing.store(true, Ordering::Relaxed);
    let start = Instant::now();
    let running = tokio::spawn(controller.run(reconcile, ErrorPolicy::default(), Arc::clone(&context)));
    tokio::time::sleep(Duration::from_secs(15 * 60)).await;
    let times = context.times.lock().unwrap().clone();
    let within = |from: u64, to: u64| {
        let range = start + Duration::from_secs(from)..start + Duration::from_secs(to);
        times.iter().filter(|time| range.contains(time)).count()
    };
    assert!(within(0, 1) <= OBJECTS + 112, "{} in the first second", within(0, 1));
    for second in 1..900 {
        assert!(within(second, second + 1) <= 11, "{} in second {second}", within(second, second + 1));
    }
    assert!(within(100, 900) > 800 * 9, "the rate is used");

    context.is_failing.store(false, Ordering::Relaxed);
    let recovered = Instant::now();
    let mut outcomes = handle.outcomes();
    let mut succeeded = std::collections::BTreeSet::new();
    while succeeded.len() < OBJECTS {
        let outcome = outcomes.next().await.unwrap();
        assert!(outcome.is_success());
        succeeded.insert(outcome.key);
    }
    // max(cap, objects / rate): the cap is 300 s, and 2,000 / 10 is 200 s.
    assert!(recovered.elapsed() <= Duration::from_secs(300), "{:?}", recovered.elapsed());
    assert_eq!((handle.depth(), handle.scheduled()), (0, 0));
    stop(&handle, running).await;
}

#[tokio::test(start_paused = true)]
async fn outcomes_and_reports_explain_each_reconcile() {
    let cluster = Cluster::new();
    cluster.create("a").await;
    let maps = informer(&cluster).await;
    let controller = Controller::new(&maps).named("labels").filter(predicates::resource_version);
    let (handle, mut outcomes) = (controller.handle(), controller.handle().outcomes());
    let context = Arc::new(Context::default());
    context.is_failing.store(true, Ordering::Relaxed);
    let running = tokio::spawn(controller.run(reconcile, ErrorPolicy::default(), Arc::clone(&context)));

    let first = outcomes.next().await.unwrap();
    assert_eq!((first.key.as_str(), &first.reason, first.attempt), ("default/a", &Reason::Initial, 1));
    let chain = "cannot apply the deployment: 403 forbidden";
    assert_eq!(first.error(), Some(chain), "the error with its causes");
    assert!(first.next.is_some_and(|next| next <= Duration::from_millis(5)));
    let second = outcomes.next().await.unwrap();
    assert_eq!((&second.reason, second.attempt, second.is_success()), (&Reason::Retry, 2, false));
    let report = handle.explain(&key("a")).unwrap();
    assert_eq!((report.failures, report.queued.is_none(), report.outcomes.len()), (2, true, 2));
    assert!(report.to_string().starts_with("default/a: retry in"), "{report}");
    assert!(report.to_string().contains(chain), "{report}");

    context.is_failing.store(false, Ordering::Relaxed);
    let third = outcomes.next().await.unwrap();
    assert_eq!(third.result, ReconcileResult::Succeeded(Action::await_change()));
    assert_eq!(handle.explain(&key("a")).unwrap().failures, 0);
    handle.trigger(key("a")).unwrap();
    assert_eq!(outcomes.next().await.unwrap().reason, Reason::Triggered);
    assert_eq!(handle.explain(&key("unknown")).map(|report| report.to_string()), None);
    assert_eq!(handle.known_keys(), [key("a")]);
    stop(&handle, running).await;
    assert!(outcomes.next().await.is_none(), "the stream ends with the controller");
    assert_eq!(handle.trigger(key("a")), Err(ControllerEnded));
    assert_eq!(handle.state(), RunState::Ended);
    handle.idle().await;
}

#[tokio::test(start_paused = true)]
async fn a_rejected_event_is_visible_in_the_report() {
    let cluster = Cluster::new();
    cluster.create("a").await;
    let maps = informer(&cluster).await;
    let (handle, context, running) = spawn(Controller::new(&maps).filter(|event: &Event<ConfigMap>| {
        event.object().get().data.is_none() // no change of the data
    }));
    handle.idle().await;
    let version = cluster.change("a", "1").await.metadata.resource_version.unwrap();
    maps.wait_for(&version.parse().unwrap()).await.unwrap();
    handle.idle().await;
    let report = handle.explain(&key("a")).unwrap();
    assert_eq!((context.count("a"), report.rejected_events), (1, 1));
    assert!(report.last_event.as_ref().is_some_and(|event| !event.is_accepted));
    assert!(
        report.to_string().contains("waits for a change; last event: object changed, rejected"),
        "{report}"
    );
    stop(&handle, running).await;
}

#[tokio::test(start_paused = true)]
async fn idle_waits_for_everything_that_is_in_the_cache() {
    let cluster = Cluster::new();
    let maps = informer(&cluster).await;
    let (handle, context, running) = spawn(Controller::new(&maps).debounce(Duration::from_secs(5)));
    handle.idle().await;
    for number in 0..50 {
        let map = cluster.create(&format!("m{number}")).await;
        maps.wait_for(&map.metadata.resource_version.unwrap().parse().unwrap()).await.unwrap();
        if number % 10 == 9 {
            handle.idle().await;
            assert_eq!(context.counts.lock().unwrap().len(), number + 1);
        }
    }
    stop(&handle, running).await;
}

#[tokio::test(start_paused = true)]
async fn debounced_events_cause_one_reconcile_even_if_they_do_not_end() {
    let cluster = Cluster::new();
    let maps = informer(&cluster).await;
    let (handle, context, running) = spawn(Controller::new(&maps).debounce(Duration::from_secs(10)));
    handle.idle().await;
    cluster.create("a").await;
    let start = Instant::now();
    for second in 0..30 {
        cluster.change("a", &second.to_string()).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    handle.idle().await;
    let count = context.count("a");
    assert!((3..=4).contains(&count), "{count} reconciles in {:?}", start.elapsed());
    stop(&handle, running).await;
}

#[tokio::test(start_paused = true)]
async fn streams_trigger_single_keys_and_all_keys() {
    let cluster = Cluster::new();
    for name in ["a", "b"] {
        cluster.create(name).await;
    }
    let maps = informer(&cluster).await;
    let (keys, from_keys) = mpsc::channel::<Key>(4);
    let (all, from_all) = mpsc::channel::<()>(4);
    let receive = |receiver| {
        stream::unfold(receiver, |mut receiver: mpsc::Receiver<Key>| async {
            receiver.recv().await.map(|key| (key, receiver))
        })
    };
    let receive_all =
        stream::unfold(from_all, |mut receiver| async { receiver.recv().await.map(|all| (all, receiver)) });
    let controller = Controller::new(&maps)
        .reconcile_on(receive(from_keys))
        .reconcile_on(stream::iter([key("a")]))
        .reconcile_all_on(receive_all);
    let mut outcomes = controller.handle().outcomes().into_stream().boxed();
    let (handle, context, running) = spawn(controller);
    handle.idle().await;
    let before = (context.count("a"), context.count("b"));
    keys.send(key("b")).await.unwrap();
    while outcomes.next().await.unwrap().reason != Reason::Stream {}
    all.send(()).await.unwrap();
    for _ in 0..2 {
        while outcomes.next().await.unwrap().reason != Reason::All {}
    }
    handle.idle().await;
    assert!(context.count("b") >= before.1 + 2 && context.count("a") > before.0);
    stop(&handle, running).await;
    assert!(keys.is_closed() && all.is_closed(), "the streams were dropped");
}

#[tokio::test(start_paused = true)]
async fn owners_of_typed_and_dynamic_kinds_are_reconciled() {
    let cluster = Cluster::new();
    let owner = cluster.create("owner").await;
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "ConfigMap"));
    let dynamic = Informer::<DynamicObject>::dynamic(cluster.server.client(), kind).start().unwrap();
    let typed = informer(&cluster).await;
    let pods = Informer::<Pod>::builder(cluster.server.client()).start().unwrap();
    let log = Arc::new(Mutex::new(Vec::new()));
    let write = |list: &'static str| {
        let log = Arc::clone(&log);
        move |key: Key, _: Arc<()>| {
            log.lock().unwrap().push(format!("{list} {key}"));
            std::future::ready(Ok::<_, String>(Action::await_change()))
        }
    };
    let (one, other) = (Controller::new(&typed).owns(&pods), Controller::new(&dynamic).owns(&pods));
    let handles = [one.handle(), other.handle()];
    let tasks = [
        tokio::spawn(one.run_by_key(write("typed"), ErrorPolicy::default(), Arc::new(()))),
        tokio::spawn(other.run_by_key(write("dynamic"), ErrorPolicy::default(), Arc::new(()))),
    ];
    for handle in &handles {
        handle.idle().await;
    }
    log.lock().unwrap().clear();
    let reference = json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.metadata.uid, "controller": true });
    let pod = json!({
        "metadata": { "name": "owned", "ownerReferences": [reference] },
        "spec": { "containers": [{ "name": "c", "image": "i" }] },
    });
    let pod: Pod = serde_json::from_value(pod).unwrap();
    let api = Api::<Pod>::default_namespaced(cluster.server.client());
    let made = api.create(&PostParams::default(), &pod).await.unwrap();
    pods.wait_for(&made.metadata.resource_version.unwrap().parse().unwrap()).await.unwrap();
    for handle in &handles {
        handle.idle().await;
    }
    let mut log = log.lock().unwrap().clone();
    log.sort();
    assert_eq!(log, ["dynamic default/owner", "typed default/owner"]);
    let outcome = handles[0].explain(&key("owner")).unwrap().outcomes.pop().unwrap();
    assert_eq!(outcome.reason.to_string(), "v1 Pod default/owned changed");
    for (handle, task) in handles.iter().zip(tasks) {
        stop(handle, task).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_owner_in_another_namespace_is_not_reconciled() {
    let cluster = Cluster::new();
    let owner = cluster.create("owner").await;
    let maps = informer(&cluster).await;
    let others =
        Informer::<ConfigMap>::builder(cluster.server.client()).namespace("kube-system").start().unwrap();
    let (handle, context, running) = spawn(Controller::new(&maps).owns(&others));
    handle.idle().await;
    let mut owned = named("owned");
    owned.metadata.owner_references = Some(vec![controller_owner_ref(&owner, &()).unwrap()]);
    let system = cluster.namespace("kube-system").await;
    let owned = system.create(&PostParams::default(), &owned).await.unwrap();
    others.written(&owned).await.unwrap();
    handle.idle().await;
    assert_eq!(context.count("owner"), 1, "only because of the initial list");
    // The owner has to be in the namespace of the owned object, where it does not exist.
    let report = handle.explain(&"kube-system/owner".parse().unwrap()).unwrap();
    assert_eq!(report.outcomes.last().unwrap().result, ReconcileResult::Gone);
    stop(&handle, running).await;
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_deleted_before_its_reconcile_has_the_outcome_gone() {
    let cluster = Cluster::new();
    cluster.create("a").await;
    let maps = informer(&cluster).await;
    let gate = Gate::closed();
    let controller = Controller::new(&maps).gate(&gate);
    let mut outcomes = controller.handle().outcomes();
    let (handle, context, running) = spawn(controller);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!((context.count("a"), handle.depth()), (0, 1), "the gate is closed");
    cluster.delete("a").await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    gate.open();
    assert_eq!(outcomes.next().await.unwrap().result, ReconcileResult::Gone);
    handle.idle().await;
    assert_eq!(context.count("a"), 0, "reconcile was not called");
    stop(&handle, running).await;
}

#[tokio::test(start_paused = true)]
async fn closing_the_gate_drops_reconciles_and_opening_it_repeats_them() {
    let cluster = Cluster::new();
    cluster.create("a").await;
    let maps = informer(&cluster).await;
    let (gate, started, finished) =
        (Gate::opened(), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counts = Arc::new((Arc::clone(&started), Arc::clone(&finished)));
    let slow = |_: Arc<ConfigMap>, counts: Arc<(Arc<AtomicUsize>, Arc<AtomicUsize>)>| async move {
        counts.0.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_secs(60)).await;
        counts.1.fetch_add(1, Ordering::Relaxed);
        Ok::<_, String>(Action::await_change())
    };
    let controller = Controller::new(&maps).gate(&gate);
    let handle = controller.handle();
    let running = tokio::spawn(controller.run(slow, ErrorPolicy::default(), counts));
    let count = || (started.load(Ordering::Relaxed), finished.load(Ordering::Relaxed));
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!((count(), handle.running().len()), ((1, 0), 1));
    gate.close();
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!((count(), handle.running().len(), handle.depth()), ((1, 0), 0, 1), "it was dropped");
    gate.open();
    handle.idle().await;
    assert_eq!(count(), (2, 1));
    stop(&handle, running).await;
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_waits_for_running_reconciles_until_its_deadline() {
    let cluster = Cluster::new();
    cluster.create("a").await;
    let maps = informer(&cluster).await;
    for (length, is_dropped) in [(5, false), (3600, true)] {
        let slow = move |_: Arc<ConfigMap>, _: Arc<()>| async move {
            tokio::time::sleep(Duration::from_secs(length)).await;
            Ok::<_, String>(Action::await_change())
        };
        let controller = Controller::new(&maps).shutdown_deadline(Duration::from_secs(30));
        let handle = controller.handle();
        let running = tokio::spawn(controller.run(slow, ErrorPolicy::default(), Arc::new(())));
        tokio::time::sleep(Duration::from_secs(1)).await;
        let start = Instant::now();
        handle.stop();
        let result = running.await.unwrap();
        let taken = start.elapsed().as_secs();
        match result {
            Ok(()) => assert!(!is_dropped && taken == 4, "{taken}"),
            Err(ControllerError::ShutdownDeadline { keys, .. }) => {
                assert!(is_dropped && taken == 30 && keys == [key("a")], "{taken} {keys:?}");
            }
            Err(error) => panic!("{error}"),
        }
    }
    while maps.tasks() > 2 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_policy_function_decides_on_the_delay() {
    let cluster = Cluster::new();
    for name in ["a", "b"] {
        cluster.create(name).await;
    }
    let maps = informer(&cluster).await;
    let policy = |map: Arc<ConfigMap>, _: &ApplyError, _: Arc<Context>| match map.metadata.name.as_deref() {
        Some("a") => Action::requeue(Duration::from_secs(60)),
        _ => Action::await_change(),
    };
    let controller = Controller::new(&maps);
    let (handle, context) = (controller.handle(), Arc::new(Context::default()));
    context.is_failing.store(true, Ordering::Relaxed);
    let running = tokio::spawn(controller.run(reconcile, policy, Arc::clone(&context)));
    tokio::time::sleep(Duration::from_secs(60 * 60 + 1)).await;
    assert_eq!((context.count("a"), context.count("b")), (61, 1));
    stop(&handle, running).await;
}

#[tokio::test(start_paused = true)]
async fn panics_of_all_functions_are_contained() {
    let cluster = Cluster::new();
    for name in ["a", "b"] {
        cluster.create(name).await;
    }
    let maps = informer(&cluster).await;
    let others =
        Informer::<ConfigMap>::builder(cluster.server.client()).namespace("kube-system").start().unwrap();
    let attempts = Arc::new(AtomicUsize::new(0));
    let reconcile = |_: Arc<ConfigMap>, attempts: Arc<AtomicUsize>| async move {
        match attempts.fetch_add(1, Ordering::Relaxed) {
            0 => panic!("in reconcile"),
            1..4 => Err("failed"),
            _ => Ok(Action::await_change()),
        }
    };
    let policy = |_: Arc<ConfigMap>, _: &&str, _: Arc<AtomicUsize>| -> Action { panic!("in the policy") };
    let controller = Controller::new(&maps)
        .filter(|_: &Event<ConfigMap>| -> bool { panic!("in the predicate") })
        .watches(&others, |map: &ConfigMap| -> Option<Key> {
            assert!(map.metadata.name.as_deref() != Some("bad"), "in the mapper");
            Some(key("a"))
        });
    let (handle, mut outcomes) = (controller.handle(), controller.handle().outcomes());
    let running = tokio::spawn(controller.run(reconcile, policy, attempts));
    let first = outcomes.next().await.unwrap();
    assert_eq!(first.result, ReconcileResult::Panicked("in reconcile".into()));
    let mut succeeded = 0;
    while succeeded < 2 {
        let outcome = outcomes.next().await.unwrap();
        succeeded += usize::from(outcome.is_success());
        assert!(
            outcome.is_success() || outcome.next.is_some(),
            "a policy that panics is replaced by a backoff"
        );
    }
    let system = cluster.namespace("kube-system").await;
    for name in ["bad", "good"] {
        system.create(&PostParams::default(), &named(name)).await.unwrap();
    }
    let related = outcomes.next().await.unwrap();
    assert!(matches!(related.reason, Reason::RelatedChanged(_)), "{related:?}");
    stop(&handle, running).await;
}

#[tokio::test(start_paused = true)]
async fn misuse_is_an_error_at_once() {
    let cluster = Cluster::new();
    let maps = informer(&cluster).await;
    let idle = Informer::<Pod>::builder(cluster.server.client()).build().unwrap();
    let run = |controller: Controller<ConfigMap>| {
        controller.run(reconcile, ErrorPolicy::default(), Arc::new(Context::default()))
    };
    let not_started = run(Controller::new(&maps).owns(&idle)).await.unwrap_err();
    assert_eq!(
        not_started.to_string(),
        "informer v1 Pod was not started; call `start` before the controller runs"
    );
    let no_workers = run(Controller::new(&maps).concurrency(0)).await.unwrap_err();
    assert_eq!(no_workers.to_string(), "invalid concurrency 0: a controller needs at least one worker");
    assert_eq!(maps.tasks(), 2, "no handler remains");
}

#[tokio::test(start_paused = true)]
async fn initial_errors_are_retried_if_configured() {
    let cluster = Cluster::new();
    cluster.create("a").await;
    cluster.server.faults().inject(Fault::answer(403).of("configmaps").times(3));
    let maps = Informer::<ConfigMap>::builder(cluster.server.client()).start().unwrap();
    let (handle, context, running) = spawn(Controller::new(&maps).retry_initial_errors());
    handle.idle().await;
    assert_eq!(context.count("a"), 1);
    stop(&handle, running).await;
}

#[tokio::test(start_paused = true)]
async fn a_requeue_is_replaced_by_the_one_of_a_later_reconcile() {
    let cluster = Cluster::new();
    cluster.create("a").await;
    let maps = informer(&cluster).await;
    let times = Arc::new(Mutex::new(Vec::new()));
    let start = Instant::now();
    let reconcile = move |_: Arc<ConfigMap>, times: Arc<Mutex<Vec<u64>>>| async move {
        times.lock().unwrap().push(start.elapsed().as_secs());
        Ok::<_, String>(Action::requeue(Duration::from_secs(60)))
    };
    let controller = Controller::new(&maps);
    let handle = controller.handle();
    let running = tokio::spawn(controller.run(reconcile, ErrorPolicy::default(), Arc::clone(&times)));
    tokio::time::sleep(Duration::from_secs(30)).await;
    handle.trigger(key("a")).unwrap();
    tokio::time::sleep(Duration::from_secs(150)).await;
    assert_eq!(*times.lock().unwrap(), [0, 30, 90, 150]);
    stop(&handle, running).await;
}
