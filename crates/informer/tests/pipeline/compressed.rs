//! A compressed cache returns the same objects as a decoded one, and decodes only when needed.

use crate::{cluster::Cluster, restart::Folder};
use k8s_openapi::{
    api::core::v1::{ConfigMap, Pod},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{
    Resource,
    api::{Api, ListParams, Patch, PatchParams},
};
use kube_devserver::{Churn, DevServer, Fault, Verb};
use kube_informer::{
    Event, Informer, Storage,
    event::Phase,
    reflector::Strategy,
    source::{Encoding, FromFns, Page, Watch},
    subscription::{Replay, SubscribeOptions},
    wire::{Key, ManagedFields, ResourceVersion},
};
use serde::{Deserialize, Deserializer};
use serde_json::json;
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

const STRATEGIES: [Strategy; 2] = [Strategy::Stream, Strategy::List];
const STORAGES: [Storage; 2] = [Storage::Decoded, Storage::Compressed];

/// Returns the objects by key.
fn by_key(pods: Vec<Arc<Pod>>) -> BTreeMap<Key, Arc<Pod>> {
    pods.into_iter().map(|pod| (Key::of(&*pod).unwrap(), pod)).collect()
}

/// Closes the watch, and makes the informer relist.
pub(crate) async fn relist<K: Resource + Send + Sync + 'static>(server: &DevServer, informer: &Informer<K>) {
    let mut status = informer.watch_status();
    let before = status.now().counts.replaces;
    server.faults().inject(Fault::answer(410).on(Verb::Watch).times(1));
    server.cut_watches();
    status.wait_for(|status| status.counts.replaces > before).await;
}

pub(crate) async fn label(server: &DevServer, pods: &[Key], value: &str) -> ResourceVersion {
    let patch = Patch::Merge(json!({ "metadata": { "labels": { "round": value } } }));
    let mut version = None;
    for key in pods {
        let api: Api<Pod> = Api::namespaced(server.client(), key.namespace().unwrap());
        let pod = api.patch(key.name(), &PatchParams::default(), &patch).await.unwrap();
        version = pod.metadata.resource_version;
    }
    version.unwrap().parse().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_compressed_cache_returns_the_same_objects_as_a_decoded_one() {
    let server = DevServer::start();
    server.churn(Churn::pods(320));
    let node = |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
    for strategy in STRATEGIES {
        for managed_fields in [ManagedFields::Keep, ManagedFields::Drop] {
            let drops = managed_fields == ManagedFields::Drop;
            let encoding =
                if drops == (strategy == Strategy::List) { Encoding::Protobuf } else { Encoding::Json };
            let [decoded_cache, compressed] =
                [(Storage::Decoded, Encoding::Json), (Storage::Compressed, encoding)].map(
                    |(storage, encoding)| {
                        let builder = Informer::<Pod>::builder(server.client())
                            .storage(storage)
                            .encoding(encoding)
                            .strategy(strategy);
                        builder.managed_fields(managed_fields).index("node", node).start().unwrap()
                    },
                );
            for pods in [&decoded_cache, &compressed] {
                pods.synced().await.unwrap();
            }
            check_equal(&decoded_cache, &compressed);
            let keys = compressed.store().keys();
            let each = compressed.snapshot().compact_bytes() / keys.len();
            // Without a dictionary it is 530 and 690. The number of objects received before there is a dictionary varies.
            assert!(each < if drops { 450 } else { 560 }, "{each} bytes per pod");
            assert_eq!(decoded_cache.snapshot().compact_bytes(), 0);
            let version = label(&server, &keys[..20], &format!("{strategy:?}-{managed_fields:?}")).await;
            for pods in [&decoded_cache, &compressed] {
                pods.wait_for(&version).await.unwrap();
            }
            check_equal(&decoded_cache, &compressed);
            // A stopped informer keeps its cache. From here on, the only watch is that of the other informer.
            decoded_cache.stop();
            decoded_cache.stopped().await;
            relist(&server, &compressed).await;
            check_equal(&decoded_cache, &compressed);
            compressed.stop();
            compressed.stopped().await;
        }
    }
}

fn check_equal(decoded_cache: &Informer<Pod>, compressed: &Informer<Pod>) {
    let expected = by_key(decoded_cache.list());
    assert_eq!(expected.len(), 320);
    assert_eq!(by_key(compressed.list()), expected);
    for (key, pod) in &expected {
        let version = compressed.snapshot().entry(key).and_then(|entry| entry.version());
        assert_eq!(version.map(|version| version.to_string()), pod.metadata.resource_version);
        assert_eq!(compressed.get(key).as_ref(), Some(pod));
        assert_eq!(compressed.get(key).as_ref(), Some(pod), "second read");
    }
    for node in decoded_cache.store().index_values("node").unwrap() {
        let [expected, found] =
            [decoded_cache, compressed].map(|pods| by_key(pods.by_index("node", &node).unwrap()));
        assert_eq!(found, expected);
    }
}

/// A config map type that counts how often it is decoded.
#[derive(Clone, Debug, PartialEq, Resource)]
#[resource(inherit = "ConfigMap")]
struct Counted {
    metadata: ObjectMeta,
    data: BTreeMap<String, String>,
}

static DECODED: AtomicU64 = AtomicU64::new(0);
/// Serializes the tests of this file that use the counter.
static LOCK: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

fn decoded() -> u64 {
    DECODED.swap(0, Ordering::Relaxed)
}

impl<'de> Deserialize<'de> for Counted {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Fields {
            metadata: ObjectMeta,
            data: BTreeMap<String, String>,
        }
        DECODED.fetch_add(1, Ordering::Relaxed);
        Fields::deserialize(deserializer).map(|Fields { metadata, data }| Self { metadata, data })
    }
}

async fn seeded(count: u64) -> Cluster {
    let cluster = Cluster::new();
    for number in 0..count {
        cluster.create(&format!("m{number}")).await;
        cluster.change(&format!("m{number}"), "first").await;
    }
    cluster
}

async fn counted(cluster: &Cluster, storage: Storage, strategy: Strategy) -> Informer<Counted> {
    let maps = Informer::<Counted>::builder(cluster.server.client()).namespace("default");
    let maps = maps.storage(storage).strategy(strategy).on_error(|_| {}).start().unwrap();
    maps.synced().await.unwrap();
    maps
}

#[tokio::test(start_paused = true)]
async fn a_relist_decodes_only_changed_objects() {
    let _guard = LOCK.lock().await;
    let cluster = seeded(40).await;
    for (storage, strategy) in
        STORAGES.into_iter().flat_map(|storage| STRATEGIES.map(|strategy| (storage, strategy)))
    {
        decoded();
        let maps = counted(&cluster, storage, strategy).await;
        assert_eq!(decoded(), 40, "{storage:?} {strategy:?}");
        relist(&cluster.server, &maps).await;
        assert_eq!(decoded(), 0, "{storage:?} {strategy:?}");
        let fault = cluster.server.faults().inject(Fault::answer(503).on(Verb::Watch));
        cluster.server.cut_watches();
        let changed = cluster.change("m7", &format!("{storage:?} {strategy:?}")).await;
        cluster.server.compact();
        fault.withdraw();
        maps.wait_for(&changed.metadata.resource_version.unwrap().parse().unwrap()).await.unwrap();
        assert_eq!(decoded(), 1, "{storage:?} {strategy:?}");
        assert_eq!(maps.get("default/m7").unwrap().data["value"], format!("{storage:?} {strategy:?}"));
        maps.stop();
        maps.stopped().await;
    }
}

#[tokio::test(start_paused = true)]
async fn restored_objects_are_decoded_on_read_and_changed_ones_by_a_relist() {
    let _guard = LOCK.lock().await;
    let cluster = seeded(40).await;
    for (storage, strategy) in
        STORAGES.into_iter().flat_map(|storage| STRATEGIES.map(|strategy| (storage, strategy)))
    {
        let folder = Folder::new();
        let build = || {
            let maps = Informer::<Counted>::builder(cluster.server.client()).namespace("default");
            maps.storage(storage).strategy(strategy).on_error(|_| {}).save_to(&folder).build().unwrap()
        };
        let first = build();
        first.start();
        first.synced().await.unwrap();
        first.stop();
        first.stopped().await;
        cluster.change("m7", &format!("{storage:?} {strategy:?}")).await;
        cluster.server.compact();
        decoded();
        let maps = build();
        assert_eq!((maps.len(), decoded()), (40, 0), "{storage:?} {strategy:?}");
        let mut changes = maps.subscribe_with(SubscribeOptions::new().replay(Replay::Differences));
        maps.start();
        maps.synced().await.unwrap();
        assert_eq!((maps.status().counts.replaces, decoded()), (1, 1), "{storage:?} {strategy:?}");
        let Some(Event::Updated { old, new, .. }) = changes.next().await else {
            panic!("one object has changed")
        };
        assert!(old.get().data["value"] != new.get().data["value"] && changes.registration().depth() == 0);
        decoded();
        for expected in [1, 0] {
            assert_eq!(maps.get("default/m3").unwrap().data["value"], "first");
            assert_eq!(decoded(), expected, "{storage:?} {strategy:?}");
        }
        maps.stop();
        maps.stopped().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_live_event_is_decoded_once_and_its_old_object_only_on_read() {
    let _guard = LOCK.lock().await;
    let cluster = seeded(3).await;
    let maps = counted(&cluster, Storage::Compressed, Strategy::Stream).await;
    let mut two = [maps.subscribe(), maps.subscribe()];
    decoded();
    for events in &mut two {
        for _ in 0..3 {
            let Some(Event::Added { object, phase: Phase::Initial, .. }) = events.next().await else {
                panic!()
            };
            assert_eq!(object.get().data["value"], "first");
        }
    }
    assert_eq!(decoded(), 6, "existing objects are decoded for each subscriber");
    cluster.change("m1", "second").await;
    for events in &mut two {
        let Some(event @ Event::Updated { .. }) = events.next().await else { panic!() };
        assert_eq!(event.object().get().data["value"], "second");
    }
    assert_eq!(decoded(), 1, "changes are decoded when they are received");
    cluster.change("m1", "third").await;
    let mut olds = Vec::new();
    for events in &mut two {
        let Some(Event::Updated { old, .. }) = events.next().await else { panic!() };
        olds.push(old);
    }
    assert_eq!(decoded(), 1);
    assert!(olds.iter().all(|old| old.get().data["value"] == "second"));
    assert_eq!(decoded(), 1, "both subscribers share it");
    for expected in [1, 0, 0] {
        assert_eq!(maps.get("default/m1").unwrap().data["value"], "third");
        assert_eq!(decoded(), expected, "a repeated read does not decode");
    }
    maps.stop();
    maps.stopped().await;
}

#[tokio::test(start_paused = true)]
async fn indexes_use_the_object_that_was_decoded_for_validation() {
    let _guard = LOCK.lock().await;
    let cluster = seeded(150).await;
    for strategy in STRATEGIES {
        let maps = Informer::<Counted>::builder(cluster.server.client()).namespace("default");
        let maps = maps
            .storage(Storage::Compressed)
            .strategy(strategy)
            .index("value", |map| map.data.get("value").cloned());
        decoded();
        let maps = maps.start().unwrap();
        maps.synced().await.unwrap();
        assert_eq!(decoded(), 150, "{strategy:?}");
        assert_eq!(maps.snapshot().index_keys("value", "first").unwrap().len(), 150);
        maps.store().add_index("again", |map: &Counted| map.data.get("value").cloned()).unwrap();
        assert_eq!(decoded(), 150, "a new index decodes every object once");
        let changed = cluster.change("m3", "second").await;
        maps.wait_for(&changed.metadata.resource_version.unwrap().parse().unwrap()).await.unwrap();
        assert_eq!(decoded(), 1);
        for index in ["value", "again"] {
            assert_eq!(maps.snapshot().index_keys(index, "second").unwrap().len(), 1);
        }
        cluster.change("m3", "first").await;
        maps.stop();
        maps.stopped().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_decodes_only_the_objects_that_it_reads() {
    let _guard = LOCK.lock().await;
    let cluster = seeded(150).await;
    let maps = counted(&cluster, Storage::Compressed, Strategy::List).await;
    for looks in [false, true] {
        decoded();
        let seen = Arc::new(Mutex::new(BTreeMap::new()));
        let received = Arc::clone(&seen);
        let handler = move |event: &Event<Counted>| {
            let value = looks.then(|| event.object().get().data["value"].clone());
            *received.lock().unwrap().entry((event.key().clone(), value)).or_insert(0) += 1;
        };
        let handled = maps.add_handler(handler).unwrap();
        handled.caught_up().await;
        let seen = std::mem::take(&mut *seen.lock().unwrap());
        assert!(seen.len() == 150 && seen.values().all(|times| *times == 1));
        assert_eq!(decoded(), if looks { 150 } else { 0 }, "including decoding ahead");
        handled.remove();
        handled.removed().await;
    }
    maps.stop();
    maps.stopped().await;
}

#[tokio::test(start_paused = true)]
async fn undecodable_objects_are_reported_when_they_are_received() {
    let _guard = LOCK.lock().await;
    let cluster = seeded(2).await;
    cluster.create("no-data").await;
    for storage in STORAGES {
        let reports = Arc::<Mutex<Vec<String>>>::default();
        let recorded = Arc::clone(&reports);
        let maps =
            Informer::<Counted>::builder(cluster.server.client()).namespace("default").storage(storage);
        let maps = maps.on_error(move |report| recorded.lock().unwrap().push(report.cause.to_string()));
        let maps = maps.start().unwrap();
        // The cache never syncs without the skipped object, but has the others.
        maps.watch_status().wait_for(|status| status.counts.replaces > 0).await;
        assert!(reports.lock().unwrap().iter().any(|report| report.contains("default/no-data")));
        let name = format!("later-{}", storage == Storage::Compressed);
        cluster.create(&name).await;
        let last = cluster.change("m0", &name).await.metadata.resource_version.unwrap();
        maps.wait_for(&last.parse().unwrap()).await.unwrap();
        assert!(reports.lock().unwrap().iter().any(|report| report.contains(&name)));
        assert_eq!(maps.get("default/m0").unwrap().data["value"], name);
        assert!(maps.get("default/no-data").is_none());
        maps.stop();
        maps.stopped().await;
    }
}

#[tokio::test(start_paused = true)]
async fn objects_of_a_custom_source_are_stored_decoded() {
    let mut map = ConfigMap::default();
    map.metadata.name = Some("a".into());
    map.metadata.resource_version = Some("1".into());
    let page = move || Page { items: vec![map.clone()], version: "1".parse().ok(), continue_token: None };
    let source = FromFns::new(
        move |_| std::future::ready(Ok(page())),
        |_| async { Ok(Watch::new(futures_util::stream::pending())) },
    );
    let maps = Informer::from_source(source).storage(Storage::Compressed).start().unwrap();
    maps.synced().await.unwrap();
    let [one, other] = [(); 2].map(|()| maps.get("a").unwrap());
    assert!(Arc::ptr_eq(&one, &other));
    assert_eq!(maps.snapshot().compact_bytes(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_relist_recompresses_objects_that_were_stored_without_a_dictionary() {
    let cluster = Cluster::new();
    let maps = Informer::<ConfigMap>::builder(cluster.server.client())
        .namespace("default")
        .storage(Storage::Compressed);
    let maps = maps.managed_fields(ManagedFields::Keep).start().unwrap();
    maps.synced().await.unwrap();
    let mut version = String::new();
    for number in 0..300_u64 {
        let mut map = crate::cluster::named(&format!("m{number}"));
        let line =
            |line: u64| (format!("line-{line}"), format!("{} is {}", line * 7919, line * line * 104_729));
        map.data = Some((0..24).map(line).chain([("number".into(), number.to_string())]).collect());
        version =
            cluster.maps.create(&<_>::default(), &map).await.unwrap().metadata.resource_version.unwrap();
    }
    maps.wait_for(&version.parse().unwrap()).await.unwrap();
    let each = || maps.snapshot().compact_bytes() / 300;
    let before = each();
    relist(&cluster.server, &maps).await;
    assert!(each() < before / 2, "{before} bytes per object, then {}", each());
    for map in cluster.maps.list(&ListParams::default()).await.unwrap() {
        assert_eq!(maps.get(&Key::of(&map).unwrap()).as_deref(), Some(&map));
    }
    maps.stop();
    maps.stopped().await;
}

/// Sets the label `app` of a map.
async fn mark(cluster: &Cluster, name: &str, app: &str) -> ResourceVersion {
    let patch = Patch::Merge(json!({ "metadata": { "labels": { "app": app } } }));
    let map = cluster.maps.patch(name, &PatchParams::default(), &patch).await.unwrap();
    map.metadata.resource_version.unwrap().parse().unwrap()
}

#[tokio::test(start_paused = true)]
async fn with_cached_labels_only_matching_objects_are_decoded() {
    let _guard = LOCK.lock().await;
    for strategy in STRATEGIES {
        let (cluster, folder) = (seeded(150).await, Folder::new());
        for number in 0..3 {
            mark(&cluster, &format!("m{number}"), "shop").await;
        }
        let build = || {
            let maps =
                Informer::<Counted>::builder(cluster.server.client()).namespace("default").on_error(|_| {});
            maps.storage(Storage::Compressed).cache_labels().strategy(strategy)
        };
        let check = |maps: &Informer<Counted>, expected: &[&str]| {
            decoded();
            let shop = "app=shop".parse().unwrap();
            let mut keys = maps.store().matching_keys(&shop);
            keys.sort_unstable();
            assert_eq!(keys.iter().map(Key::name).collect::<Vec<_>>(), expected);
            assert_eq!(decoded(), 0, "{strategy:?}");
            let found = maps.store().matching(&shop);
            assert_eq!((found.len(), decoded()), (expected.len(), expected.len() as u64), "{strategy:?}");
            assert!(found.iter().all(|map| map.metadata.labels.as_ref().unwrap()["app"] == "shop"));
            assert_eq!(maps.lister().namespace("default").list(&shop).len(), expected.len());
            assert_eq!(decoded(), expected.len() as u64, "{strategy:?}");
        };
        for saved in [false, true] {
            decoded();
            let maps = if saved { build().save_to(&folder) } else { build() }.start().unwrap();
            maps.synced().await.unwrap();
            assert_eq!(decoded(), 150, "labels are cached during validation");
            check(&maps, &["m0", "m1", "m2"]);
            mark(&cluster, "m1", "other").await;
            maps.wait_for(&mark(&cluster, "m7", "shop").await).await.unwrap();
            check(&maps, &["m0", "m2", "m7"]);
            relist(&cluster.server, &maps).await;
            check(&maps, &["m0", "m2", "m7"]);
            maps.stop();
            maps.stopped().await;
            if saved {
                let maps = build().save_to(&folder).build().unwrap();
                assert_eq!(maps.status().restored.unwrap().objects, 150);
                check(&maps, &["m0", "m2", "m7"]);
            }
            mark(&cluster, "m1", "shop").await;
            mark(&cluster, "m7", "other").await;
        }
    }
}
