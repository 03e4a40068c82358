//! Informers and controllers that follow leases.

use crate::cluster::{Cluster, named};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube_devserver::{Fault, Verb};
use kube_informer::{
    Event, Informer, Key,
    controller::{Action, Controller, ControllerHandle, ErrorPolicy, RunState, set_controller_owner},
    informer::InformerBuilder,
};
use kube_leases::{Leases, LeasesBuilder, ShardKey, TokioClock};
use serde_json::json;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::Semaphore,
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};

const SECOND: Duration = Duration::from_secs(1);
/// Each of four shards has one or two of them.
const NAMESPACES: [&str; 6] = ["alpha", "beta", "gamma", "delta", "eta", "theta"];

fn start(builder: LeasesBuilder, identity: &str, cluster: &Cluster) -> Leases {
    let builder = builder.namespace("default").identity(identity).clock(TokioClock::new());
    builder.start(cluster.server.client()).unwrap()
}

fn keys(maps: &Informer<ConfigMap>) -> BTreeSet<String> {
    maps.store().keys().iter().map(ToString::to_string).collect()
}

/// Waits until a condition holds.
async fn until(what: &str, condition: impl Fn() -> bool) {
    let wait = async {
        while !condition() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    assert!(timeout(120 * SECOND, wait).await.is_ok(), "{what}");
}

/// A cluster with three config maps in each of several namespaces.
async fn cluster() -> (Cluster, BTreeSet<String>) {
    let cluster = Cluster::new();
    let mut all = BTreeSet::new();
    for namespace in NAMESPACES {
        let maps = cluster.namespace(namespace).await;
        for name in ["a", "b", "c"] {
            maps.create(&PostParams::default(), &named(name)).await.unwrap();
            all.insert(format!("{namespace}/{name}"));
        }
    }
    (cluster, all)
}

fn informer(cluster: &Cluster, leases: &Leases) -> InformerBuilder<ConfigMap> {
    Informer::builder(cluster.server.client()).labels("!system").shards(leases)
}

// A11
#[tokio::test(start_paused = true)]
async fn informers_divide_all_objects_and_release_those_of_lost_shards() {
    for key in [ShardKey::Namespace, ShardKey::Uid] {
        let (cluster, all) = cluster().await;
        let group = || Leases::shards("maps", 4).shard_by(key);
        let first = start(group(), "first", &cluster);
        let one = informer(&cluster, &first).start().unwrap();
        assert!(one.has_synced() && one.is_empty(), "without a shard there is nothing to list");
        until("one replica caches everything", || keys(&one) == all).await;
        assert_eq!(one.status().sources.len(), 1, "shards that are gained together are one source");
        let mut events = one.subscribe();
        for _ in 0..all.len() {
            assert!(matches!(events.next().await, Some(Event::Added { .. })));
        }

        let second = start(group(), "second", &cluster);
        let two = informer(&cluster, &second).start().unwrap();
        until("the second replica has half of the shards", || second.held().len() == 2).await;
        let is_divided = || {
            let (mine, yours) = (keys(&one), keys(&two));
            mine.is_disjoint(&yours) && mine.union(&yours).cloned().collect::<BTreeSet<_>>() == all
        };
        until("both replicas cache everything together", is_divided).await;
        assert!(!two.is_empty());
        let mut released = BTreeSet::new();
        while released.len() < two.len() {
            match events.next().await.unwrap() {
                Event::Released { key, .. } => assert!(released.insert(key.to_string())),
                event => panic!("{event:?}"),
            }
        }
        assert_eq!(released, keys(&two));

        // Changes reach the holder only, also if an object is created again and has another uid.
        for namespace in NAMESPACES {
            let maps: Api<ConfigMap> = Api::namespaced(cluster.server.client(), namespace);
            maps.delete("a", &DeleteParams::default()).await.unwrap();
            maps.create(&PostParams::default(), &named("a")).await.unwrap();
        }
        sleep(SECOND).await;
        until("re-created objects are cached once", is_divided).await;

        second.stop();
        second.stopped().await;
        until("the first replica caches everything again", || keys(&one) == all).await;
        until("a replica that has stopped caches nothing", || two.is_empty()).await;
        first.stop();
        first.stopped().await;
    }
}

// A11
#[tokio::test(start_paused = true)]
async fn a_server_without_sharding_gives_the_same_result() {
    let (cluster, all) = cluster().await;
    let group = || Leases::shards("maps", 4).shard_by(ShardKey::Uid);
    let [first, second] = ["first", "second"].map(|identity| start(group(), identity, &cluster));
    let build = |leases| {
        informer(&cluster, leases)
            .modify_list(|options| options.shard_selector = None)
            .modify_watch(|options| options.shard_selector = None)
            .start()
            .unwrap()
    };
    let informers = [build(&first), build(&second)];
    let is_divided = || {
        let [mine, yours] = informers.each_ref().map(keys);
        mine.is_disjoint(&yours) && mine.union(&yours).cloned().collect::<BTreeSet<_>>() == all
    };
    until("both replicas cache everything together", is_divided).await;
    assert!(informers.iter().all(|informer| !informer.is_empty()));
}

// A11
#[tokio::test(start_paused = true)]
async fn owned_objects_follow_the_shard_of_their_owner() {
    let cluster = Cluster::new();
    let owned: Api<k8s_openapi::api::core::v1::Secret> = Api::default_namespaced(cluster.server.client());
    let mut owners = BTreeMap::new();
    for number in 0..24 {
        let owner = cluster.create(&format!("owner-{number}")).await;
        let mut secret = k8s_openapi::api::core::v1::Secret::default();
        secret.metadata.name = Some(format!("owned-{number}"));
        secret.metadata.namespace = Some("default".into());
        set_controller_owner(&mut secret, &owner, &()).unwrap();
        owned.create(&PostParams::default(), &secret).await.unwrap();
        owners.insert(format!("owned-{number}"), format!("owner-{number}"));
    }
    let group = || Leases::shards("maps", 8).shard_by(ShardKey::Uid);
    let [first, second] = ["first", "second"].map(|identity| start(group(), identity, &cluster));
    for leases in [&first, &second] {
        let maps = Informer::<ConfigMap>::builder(cluster.server.client())
            .labels("!system")
            .shards(leases)
            .start()
            .unwrap();
        let secrets = Informer::<k8s_openapi::api::core::v1::Secret>::builder(cluster.server.client())
            .owned_by(&maps)
            .start()
            .unwrap();
        until("all shards are held", || first.held().len() == 4 && second.held().len() == 4).await;
        until("the owned objects of the own shards are cached", || {
            let names: BTreeSet<_> = secrets
                .list()
                .iter()
                .filter_map(|secret| owners.get(secret.metadata.name.as_ref()?))
                .cloned()
                .collect();
            let own: BTreeSet<_> = maps
                .list()
                .iter()
                .filter_map(|map| map.metadata.name.clone())
                .filter(|name| name.starts_with("owner"))
                .collect();
            !own.is_empty() && own.len() < 24 && names == own
        })
        .await;
        // An object whose owner changes leaves the cache.
        let name = secrets.list()[0].metadata.name.clone().unwrap();
        let patch = Patch::Merge(json!({ "metadata": { "ownerReferences": null } }));
        owned.patch(&name, &PatchParams::default(), &patch).await.unwrap();
        until("an object without an owner is not cached", || secrets.get(("default", &*name)).is_none())
            .await;
        owners.remove(&name);
        cluster.delete(&format!("owner-{}", name.trim_start_matches("owned-"))).await;
    }
}

#[tokio::test(start_paused = true)]
async fn invalid_combinations_with_shards_are_refused() {
    let cluster = Cluster::new();
    let leases = start(Leases::shards("maps", 4), "first", &cluster);
    let error = informer(&cluster, &leases).shard(0, 2).start().unwrap_err();
    assert!(error.to_string().starts_with("`shard` cannot be combined with `shards`"), "{error}");
}

/// The reconciles of all replicas of a controller.
#[derive(Default)]
struct Reconciles {
    running: Mutex<BTreeMap<String, &'static str>>,
    overlaps: AtomicUsize,
    log: Mutex<Vec<(String, &'static str)>>,
}

impl Reconciles {
    fn by(&self, replica: &str) -> BTreeSet<String> {
        let log = self.log.lock().unwrap();
        log.iter().filter(|(_, by)| *by == replica).map(|(key, _)| key.clone()).collect()
    }

    fn clear(&self) {
        self.log.lock().unwrap().clear();
    }
}

struct Replica {
    name: &'static str,
    reconciles: Arc<Reconciles>,
    /// Each reconcile takes a permit.
    permits: Semaphore,
    duration: Duration,
}

/// Removes the key also if the reconcile is dropped.
struct Running<'a>(&'a Replica, String);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.reconciles.running.lock().unwrap().remove(&self.1);
    }
}

async fn reconcile(key: Key, replica: Arc<Replica>) -> Result<Action, std::io::Error> {
    let key = key.to_string();
    if replica.reconciles.running.lock().unwrap().insert(key.clone(), replica.name).is_some() {
        replica.reconciles.overlaps.fetch_add(1, Ordering::SeqCst);
    }
    let running = Running(&replica, key.clone());
    replica.permits.acquire().await.unwrap().forget();
    sleep(replica.duration).await;
    drop(running);
    replica.reconciles.log.lock().unwrap().push((key, replica.name));
    Ok(Action::await_change())
}

struct Controlled {
    leases: Leases,
    informer: Informer<ConfigMap>,
    replica: Arc<Replica>,
    handle: ControllerHandle,
    task: JoinHandle<()>,
}

impl Controlled {
    fn start(cluster: &Cluster, leases: Leases, name: &'static str, reconciles: &Arc<Reconciles>) -> Self {
        let informer = informer(cluster, &leases).start().unwrap();
        Self::with_informer(leases, informer, name, reconciles)
    }

    fn with_informer(
        leases: Leases,
        informer: Informer<ConfigMap>,
        name: &'static str,
        reconciles: &Arc<Reconciles>,
    ) -> Self {
        let replica = Arc::new(Replica {
            name,
            reconciles: Arc::clone(reconciles),
            permits: Semaphore::new(1_000_000),
            duration: Duration::from_millis(50),
        });
        let controller = Controller::new(&informer).leases(&leases).concurrency(4);
        let handle = controller.handle();
        let run = controller.run_by_key(reconcile, ErrorPolicy::default(), Arc::clone(&replica));
        let task = tokio::spawn(async move { run.await.unwrap() });
        Self { leases, informer, replica, handle, task }
    }

    async fn stop(self) {
        self.handle.stop();
        self.task.await.unwrap();
        self.leases.stop();
        self.leases.stopped().await;
    }
}

// A12
#[tokio::test(start_paused = true)]
async fn controllers_divide_the_keys_and_take_over_from_each_other() {
    for key in [ShardKey::Namespace, ShardKey::Uid] {
        let (cluster, all) = cluster().await;
        let reconciles = Arc::new(Reconciles::default());
        let group = || Leases::shards("maps", 4).shard_by(key);
        let first = Controlled::start(&cluster, start(group(), "first", &cluster), "first", &reconciles);
        until("one replica reconciles everything", || reconciles.by("first") == all).await;
        assert_eq!(first.handle.shards().len(), 4);
        assert!(first.handle.shards().iter().all(|shard| shard.holder.as_deref() == Some("first")));

        let second = Controlled::start(&cluster, start(group(), "second", &cluster), "second", &reconciles);
        until("the second replica has half of the shards", || second.leases.held().len() == 2).await;
        until("the second replica reconciles its objects", || {
            !second.informer.is_empty() && reconciles.by("second") == keys(&second.informer)
        })
        .await;
        sleep(SECOND).await;
        reconciles.clear();
        for namespace in NAMESPACES {
            let maps: Api<ConfigMap> = Api::namespaced(cluster.server.client(), namespace);
            let patch = Patch::Merge(json!({ "data": { "value": "changed" } }));
            maps.patch("b", &PatchParams::default(), &patch).await.unwrap();
        }
        until("each change is reconciled", || reconciles.log.lock().unwrap().len() >= NAMESPACES.len()).await;
        sleep(SECOND).await;
        assert_eq!(reconciles.log.lock().unwrap().len(), NAMESPACES.len(), "by one replica each");
        assert!(reconciles.by("first").is_subset(&keys(&first.informer)));
        assert!(reconciles.by("second").is_subset(&keys(&second.informer)));

        // A key of the other replica is ignored.
        let foreign: Key = keys(&second.informer).first().unwrap().parse().unwrap();
        reconciles.clear();
        first.handle.trigger(foreign).unwrap();
        first.handle.idle().await;
        assert!(reconciles.log.lock().unwrap().is_empty());

        // A deletion is reconciled by the holder.
        let deleted = keys(&second.informer).first().unwrap().clone();
        let (namespace, name) = deleted.split_once('/').unwrap();
        let maps: Api<ConfigMap> = Api::namespaced(cluster.server.client(), namespace);
        maps.delete(name, &DeleteParams::default()).await.unwrap();
        until("the deletion is reconciled", || !reconciles.log.lock().unwrap().is_empty()).await;
        assert_eq!(*reconciles.log.lock().unwrap(), [(deleted.clone(), "second")]);

        reconciles.clear();
        let moved = keys(&second.informer);
        second.stop().await;
        until("the first replica reconciles the objects of the second", || reconciles.by("first") == moved)
            .await;
        assert!(!reconciles.by("first").contains(&deleted), "a lost shard is no deletion");
        assert_eq!(reconciles.overlaps.load(Ordering::SeqCst), 0);
        first.stop().await;
    }
}

// A12
#[tokio::test(start_paused = true)]
async fn a_leader_reconciles_all_keys_and_its_successor_does_after_it() {
    let (cluster, all) = cluster().await;
    let reconciles = Arc::new(Reconciles::default());
    let everything =
        || Informer::<ConfigMap>::builder(cluster.server.client()).labels("!system").start().unwrap();
    let replica = |name: &'static str| {
        let leases = start(Leases::leader("maps"), name, &cluster);
        Controlled::with_informer(leases, everything(), name, &reconciles)
    };
    let expected: BTreeSet<_> = {
        let maps: Informer<ConfigMap> = everything();
        maps.synced().await.unwrap();
        keys(&maps)
    };
    assert!(expected.is_superset(&all));
    let first = replica("first");
    until("the leader reconciles everything", || reconciles.by("first") == expected).await;
    let second = replica("second");
    sleep(30 * SECOND).await;
    assert!(reconciles.by("second").is_empty() && second.informer.has_synced());
    assert_eq!(second.handle.state(), RunState::Running, "a spare is ready");
    first.stop().await;
    until("the successor reconciles everything", || reconciles.by("second") == expected).await;
    assert_eq!(reconciles.overlaps.load(Ordering::SeqCst), 0);
}

// A12
#[tokio::test(start_paused = true)]
async fn a_reconcile_in_progress_is_drained_before_its_shard_moves_and_cancelled_after_the_drain_timeout() {
    let (cluster, all) = cluster().await;
    let reconciles = Arc::new(Reconciles::default());
    let group = || Leases::shards("maps", 2).drain_timeout(10 * SECOND);
    let leases = start(group(), "first", &cluster);
    let informer = informer(&cluster, &leases).start().unwrap();
    let first = Controlled::with_informer(leases, informer, "first", &reconciles);
    until("everything is reconciled", || reconciles.by("first") == all).await;
    first.handle.idle().await;
    // No reconcile completes from now on.
    first.replica.permits.forget_permits(1_000_000);
    for namespace in NAMESPACES {
        let maps: Api<ConfigMap> = Api::namespaced(cluster.server.client(), namespace);
        let patch = Patch::Merge(json!({ "data": { "value": "changed" } }));
        maps.patch("b", &PatchParams::default(), &patch).await.unwrap();
    }
    until("four reconciles run", || first.handle.running().len() == 4).await;
    let start_of_drain = Instant::now();
    let second = Controlled::start(&cluster, start(group(), "second", &cluster), "second", &reconciles);
    until("the second replica has one of the shards", || second.leases.held().len() == 1).await;
    let shard = second.leases.held()[0].index();
    let is_of_moved = |key: &Key| {
        let hash = kube_leases::shard_hash(key.namespace().unwrap_or_default());
        kube_leases::shard_of(hash, 2) == shard
    };
    let had_work = start_of_drain.elapsed() >= 10 * SECOND;
    let had_no_work = start_of_drain.elapsed() < 5 * SECOND;
    assert!(had_work || had_no_work, "{:?}", start_of_drain.elapsed());
    assert!(!first.handle.running().iter().any(is_of_moved), "reconciles of the shard were cancelled");
    assert_eq!(reconciles.overlaps.load(Ordering::SeqCst), 0);
    until("the second replica reconciles the shard", || {
        !second.informer.is_empty() && reconciles.by("second") == keys(&second.informer)
    })
    .await;
    first.replica.permits.add_permits(1_000_000);
    first.stop().await;
    second.stop().await;
}

// A12
#[tokio::test(start_paused = true)]
async fn reconciles_are_cancelled_at_the_deadline_if_the_lease_cannot_be_renewed() {
    let (cluster, all) = cluster().await;
    let reconciles = Arc::new(Reconciles::default());
    let leases = start(Leases::shards("maps", 4), "first", &cluster);
    let first = Controlled::start(&cluster, leases, "first", &reconciles);
    until("everything is reconciled", || reconciles.by("first") == all).await;
    first.handle.idle().await;
    first.replica.permits.forget_permits(1_000_000);
    first.handle.trigger("alpha/a".parse().unwrap()).unwrap();
    until("a reconcile runs", || first.handle.running().len() == 1).await;
    let fault =
        cluster.server.faults().inject(Fault::answer(503).of("leases").on(Verb::Update).times(u32::MAX));
    let begin = Instant::now();
    until("the reconcile is cancelled", || first.handle.running().is_empty()).await;
    let elapsed = begin.elapsed();
    assert!(elapsed >= 4 * SECOND && elapsed <= 11 * SECOND, "{elapsed:?}");
    assert!(first.leases.held().is_empty());
    // No reconcile starts without a lease.
    first.replica.permits.add_permits(1_000_000);
    reconciles.clear();
    first.handle.trigger("alpha/a".parse().unwrap()).unwrap();
    sleep(3 * SECOND).await;
    assert!(reconciles.log.lock().unwrap().is_empty());
    fault.withdraw();
    until("everything is reconciled again", || reconciles.by("first") == all).await;
    first.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_replica_without_a_lease_is_ready_unless_configured_otherwise() {
    let cluster = Cluster::new();
    cluster.create("a").await;
    let holder = start(Leases::leader("maps"), "holder", &cluster);
    let leadership = holder.acquired().await.unwrap();
    let leases = start(Leases::leader("maps"), "spare", &cluster);
    let maps = Informer::<ConfigMap>::builder(cluster.server.client()).start().unwrap();
    let run = |controller: Controller<ConfigMap>| {
        let reconcile =
            |_: Arc<ConfigMap>, _: Arc<()>| async { Ok::<_, std::io::Error>(Action::await_change()) };
        let handle = controller.handle();
        tokio::spawn(controller.run(reconcile, ErrorPolicy::default(), Arc::new(())));
        handle
    };
    let ready = run(Controller::new(&maps).named("ready").leases(&leases));
    let waits = run(Controller::new(&maps).named("waits").leases(&leases).ready_when_acquired());
    until("the first controller is ready", || ready.state() == RunState::Running).await;
    sleep(20 * SECOND).await;
    assert_eq!(waits.state(), RunState::Starting);
    drop(leadership);
    holder.stop();
    holder.stopped().await;
    until("the other one is ready as a leader", || waits.state() == RunState::Running).await;
}

#[tokio::test(start_paused = true)]
async fn informers_and_their_controller_must_follow_the_same_leases() {
    let cluster = Cluster::new();
    let leases = start(Leases::shards("maps", 4), "first", &cluster);
    let other = start(Leases::shards("maps", 4), "second", &cluster);
    let maps = informer(&cluster, &leases).start().unwrap();
    let everything = Informer::<ConfigMap>::builder(cluster.server.client()).start().unwrap();
    let reconcile = |_: Arc<ConfigMap>, _: Arc<()>| async { Ok::<_, std::io::Error>(Action::await_change()) };
    let owned = Informer::<k8s_openapi::api::core::v1::Secret>::builder(cluster.server.client());
    let owned = owned.owned_by(&maps).start().unwrap();
    for (controller, has) in [
        (Controller::new(&maps), "has no leases"),
        (Controller::new(&maps).leases(&other), "has the leases maps of second"),
        (Controller::new(&everything).owns(&owned).leases(&other), "has the leases maps of second"),
    ] {
        let error = controller.run(reconcile, ErrorPolicy::default(), Arc::new(())).await.unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains(&format!("follows the leases maps of first, but the controller {has}")),
            "{text}"
        );
    }
    // A clone is the same, and informers without leases go with any.
    let controller = Controller::new(&maps).owns(&owned).owns(&everything).leases(&leases.clone());
    let handle = controller.handle();
    let run = tokio::spawn(controller.run(reconcile, ErrorPolicy::default(), Arc::new(())));
    until("the controller runs", || handle.state() == RunState::Running).await;
    handle.stop();
    run.await.unwrap().unwrap();
}

/// Creates the object again until its shard is held by `leases`, and returns the number of attempts.
async fn recreate_in_shard_of(maps: &Api<ConfigMap>, name: &str, leases: &Leases) -> u32 {
    for attempt in 1.. {
        let map = maps.create(&PostParams::default(), &named(name)).await.unwrap();
        if leases.held_shard_of(map.metadata.uid.as_deref().unwrap()).is_some() {
            return attempt;
        }
        maps.delete(name, &DeleteParams::default()).await.unwrap();
    }
    unreachable!()
}

// A12
#[tokio::test(start_paused = true)]
async fn a_key_that_is_created_again_in_another_shard_waits_for_the_reconcile_of_the_deleted_object() {
    let (cluster, all) = cluster().await;
    let reconciles = Arc::new(Reconciles::default());
    let group = || Leases::shards("maps", 4).shard_by(ShardKey::Uid);
    let first = Controlled::start(&cluster, start(group(), "first", &cluster), "first", &reconciles);
    let second = Controlled::start(&cluster, start(group(), "second", &cluster), "second", &reconciles);
    let all_reconciled = || {
        let both: BTreeSet<_> = reconciles.by("first").union(&reconciles.by("second")).cloned().collect();
        both == all && first.leases.held().len() == 2 && second.leases.held().len() == 2
    };
    until("everything is reconciled", all_reconciled).await;
    until("both replicas are idle", || first.handle.depth() == 0 && second.handle.depth() == 0).await;
    sleep(10 * SECOND).await;

    // The first replica reconciles an object, and does not end by itself.
    let key: Key = keys(&first.informer).first().unwrap().parse().unwrap();
    first.replica.permits.forget_permits(1_000_000);
    first.handle.trigger(key.clone()).unwrap();
    until("the reconcile runs", || first.handle.running() == [key.clone()]).await;
    reconciles.clear();
    let maps: Api<ConfigMap> = Api::namespaced(cluster.server.client(), key.namespace().unwrap());
    maps.delete(key.name(), &DeleteParams::default()).await.unwrap();
    recreate_in_shard_of(&maps, key.name(), &second.leases).await;
    let created = Instant::now();
    until("the new object is cached", || second.informer.get(&key).is_some()).await;
    until("the reconcile of the deleted object is dropped", || first.handle.running().is_empty()).await;
    assert!(created.elapsed() >= 2 * SECOND && created.elapsed() <= 4 * SECOND, "{:?}", created.elapsed());
    assert!(reconciles.by("second").is_empty(), "it waits");
    until("the new object is reconciled", || reconciles.by("second").contains(&key.to_string())).await;
    assert!(created.elapsed() >= 5 * SECOND && created.elapsed() <= 8 * SECOND, "{:?}", created.elapsed());
    assert_eq!(reconciles.overlaps.load(Ordering::SeqCst), 0);
    assert!(reconciles.by("first").is_empty());
    first.replica.permits.add_permits(1_000_000);

    // A change of an object that exists is not delayed, nor is an object that is created again in a shard of the same replica.
    reconciles.clear();
    let start_time = Instant::now();
    let patch = Patch::Merge(json!({ "data": { "value": "changed" } }));
    maps.patch(key.name(), &PatchParams::default(), &patch).await.unwrap();
    until("the change is reconciled", || !reconciles.by("second").is_empty()).await;
    assert!(start_time.elapsed() < SECOND, "{:?}", start_time.elapsed());
    for _ in 0..8 {
        reconciles.clear();
        let start_time = Instant::now();
        maps.delete(key.name(), &DeleteParams::default()).await.unwrap();
        if recreate_in_shard_of(&maps, key.name(), &second.leases).await > 1 {
            sleep(20 * SECOND).await;
            continue;
        }
        until("the new object is reconciled", || {
            second.informer.get(&key).is_some() && !reconciles.by("second").is_empty()
        })
        .await;
        assert!(start_time.elapsed() < SECOND, "{:?}", start_time.elapsed());
    }
    assert_eq!(reconciles.overlaps.load(Ordering::SeqCst), 0);
    first.stop().await;
    second.stop().await;
}
