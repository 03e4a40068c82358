//! A cache that keeps objects in the small gives the same objects, and decodes no more than it must.

use crate::{cluster::Cluster, restarts::Folder};
use k8s_openapi::{
    NamespaceResourceScope,
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
    borrow::Cow,
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

const STRATEGIES: [Strategy; 2] = [Strategy::Stream, Strategy::List];
const KEEPS: [Storage; 2] = [Storage::Decoded, Storage::Compressed];

/// What is there, by key.
fn by_key(pods: Vec<Arc<Pod>>) -> BTreeMap<Key, Arc<Pod>> {
    pods.into_iter().map(|pod| (Key::of(&*pod).unwrap(), pod)).collect()
}

/// Cuts the watch, and makes it begin again with a list.
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
async fn reads_are_what_a_cache_of_whole_objects_gives() {
    let server = DevServer::start();
    server.churn(Churn::pods(320));
    let node = |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
    for strategy in STRATEGIES {
        for managed_fields in [ManagedFields::Keep, ManagedFields::Drop] {
            let drops = managed_fields == ManagedFields::Drop;
            let encoding =
                if drops == (strategy == Strategy::List) { Encoding::Protobuf } else { Encoding::Json };
            let [whole, compact] = [(Storage::Decoded, Encoding::Json), (Storage::Compressed, encoding)].map(
                |(keep, encoding)| {
                    let builder = Informer::<Pod>::builder(server.client())
                        .storage(keep)
                        .encoding(encoding)
                        .strategy(strategy);
                    builder.managed_fields(managed_fields).index("node", node).start().unwrap()
                },
            );
            for pods in [&whole, &compact] {
                pods.synced().await.unwrap();
            }
            check_equal(&whole, &compact);
            let keys = compact.store().keys();
            let each = compact.snapshot().compact_bytes() / keys.len();
            // Alone they would take 530 and 690; how many come before there is a dictionary is up to the threads.
            assert!(each < if drops { 450 } else { 560 }, "{each} bytes a pod");
            assert_eq!(whole.snapshot().compact_bytes(), 0);
            let version = label(&server, &keys[..20], &format!("{strategy:?}-{managed_fields:?}")).await;
            for pods in [&whole, &compact] {
                pods.wait_for(&version).await.unwrap();
            }
            check_equal(&whole, &compact);
            // A cache stays as it was when its informer is stopped; the next watch is then that of the other.
            whole.stop();
            whole.stopped().await;
            relist(&server, &compact).await;
            check_equal(&whole, &compact);
            compact.stop();
            compact.stopped().await;
        }
    }
}

fn check_equal(whole: &Informer<Pod>, compact: &Informer<Pod>) {
    let expected = by_key(whole.list());
    assert_eq!(expected.len(), 320);
    assert_eq!(by_key(compact.list()), expected);
    for (key, pod) in &expected {
        let version = compact.snapshot().entry(key).and_then(|entry| entry.version());
        assert_eq!(version.map(|version| version.to_string()), pod.metadata.resource_version);
        assert_eq!(compact.get(key).as_ref(), Some(pod));
        assert_eq!(compact.get(key).as_ref(), Some(pod), "and again");
    }
    for node in whole.store().index_values("node").unwrap() {
        let [expected, found] = [whole, compact].map(|pods| by_key(pods.by_index("node", &node).unwrap()));
        assert_eq!(found, expected);
    }
}

/// A config map that counts how often one is decoded.
#[derive(Clone, Debug, PartialEq)]
struct Counted {
    metadata: ObjectMeta,
    data: BTreeMap<String, String>,
}

static DECODED: AtomicU64 = AtomicU64::new(0);
/// The count is one for all tests of this file that use it.
static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

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

impl Resource for Counted {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        "ConfigMap".into()
    }
    fn group((): &()) -> Cow<'_, str> {
        "".into()
    }
    fn version((): &()) -> Cow<'_, str> {
        "v1".into()
    }
    fn plural((): &()) -> Cow<'_, str> {
        "configmaps".into()
    }
    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
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

async fn counted(cluster: &Cluster, keep: Storage, strategy: Strategy) -> Informer<Counted> {
    let maps = Informer::<Counted>::builder(cluster.server.client()).namespace("default");
    let maps = maps.storage(keep).strategy(strategy).on_error(|_| {}).start().unwrap();
    maps.synced().await.unwrap();
    maps
}

#[tokio::test(start_paused = true)]
async fn a_relist_decodes_only_what_has_changed() {
    let _turn = TURN.lock().await;
    let cluster = seeded(40).await;
    for (keep, strategy) in KEEPS.into_iter().flat_map(|keep| STRATEGIES.map(|strategy| (keep, strategy))) {
        decoded();
        let maps = counted(&cluster, keep, strategy).await;
        assert_eq!(decoded(), 40, "{keep:?} {strategy:?}");
        relist(&cluster.server, &maps).await;
        assert_eq!(decoded(), 0, "{keep:?} {strategy:?}");
        let away = cluster.server.faults().inject(Fault::answer(503).on(Verb::Watch));
        cluster.server.cut_watches();
        let changed = cluster.change("m7", &format!("{keep:?} {strategy:?}")).await;
        cluster.server.compact();
        away.withdraw();
        maps.wait_for(&changed.metadata.resource_version.unwrap().parse().unwrap()).await.unwrap();
        assert_eq!(decoded(), 1, "{keep:?} {strategy:?}");
        assert_eq!(maps.get("default/m7").unwrap().data["value"], format!("{keep:?} {strategy:?}"));
        maps.stop();
        maps.stopped().await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_restored_is_decoded_when_it_is_looked_at_and_only_what_changed_by_a_relist() {
    let _turn = TURN.lock().await;
    let cluster = seeded(40).await;
    for (keep, strategy) in KEEPS.into_iter().flat_map(|keep| STRATEGIES.map(|strategy| (keep, strategy))) {
        let folder = Folder::new();
        let build = || {
            let maps = Informer::<Counted>::builder(cluster.server.client()).namespace("default");
            maps.storage(keep).strategy(strategy).on_error(|_| {}).save_to(&folder).build().unwrap()
        };
        let first = build();
        first.start();
        first.synced().await.unwrap();
        first.stop();
        first.stopped().await;
        cluster.change("m7", &format!("{keep:?} {strategy:?}")).await;
        cluster.server.compact();
        decoded();
        let maps = build();
        assert_eq!((maps.len(), decoded()), (40, 0), "{keep:?} {strategy:?}");
        let mut changes = maps.subscribe_with(SubscribeOptions::new().replay(Replay::Differences));
        maps.start();
        maps.synced().await.unwrap();
        assert_eq!((maps.status().counts.replaces, decoded()), (1, 1), "{keep:?} {strategy:?}");
        let Some(Event::Updated { old, new, .. }) = changes.next().await else { panic!("one has changed") };
        assert!(old.get().data["value"] != new.get().data["value"] && changes.registration().depth() == 0);
        decoded();
        for expected in [1, 0] {
            assert_eq!(maps.get("default/m3").unwrap().data["value"], "first");
            assert_eq!(decoded(), expected, "{keep:?} {strategy:?}");
        }
        maps.stop();
        maps.stopped().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_is_decoded_once_and_what_was_only_if_it_is_looked_at() {
    let _turn = TURN.lock().await;
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
    assert_eq!(decoded(), 6, "what was there is decoded for each who comes");
    cluster.change("m1", "second").await;
    for events in &mut two {
        let Some(event @ Event::Updated { .. }) = events.next().await else { panic!() };
        assert_eq!(event.object().get().data["value"], "second");
    }
    assert_eq!(decoded(), 1, "what happens is decoded when it comes");
    cluster.change("m1", "third").await;
    let mut olds = Vec::new();
    for events in &mut two {
        let Some(Event::Updated { old, .. }) = events.next().await else { panic!() };
        olds.push(old);
    }
    assert_eq!(decoded(), 1);
    assert!(olds.iter().all(|old| old.get().data["value"] == "second"));
    assert_eq!(decoded(), 1, "both share it");
    for expected in [1, 0, 0] {
        assert_eq!(maps.get("default/m1").unwrap().data["value"], "third");
        assert_eq!(decoded(), expected, "what is read again is at hand");
    }
    maps.stop();
    maps.stopped().await;
}

#[tokio::test(start_paused = true)]
async fn an_index_looks_at_what_is_decoded_to_see_that_it_can_be() {
    let _turn = TURN.lock().await;
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
        assert_eq!(decoded(), 150, "a new index looks at everything once");
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
async fn a_handler_costs_the_decoding_of_what_it_looks_at_and_no_more() {
    let _turn = TURN.lock().await;
    let cluster = seeded(150).await;
    let maps = counted(&cluster, Storage::Compressed, Strategy::List).await;
    for looks in [false, true] {
        decoded();
        let seen = Arc::new(Mutex::new(BTreeMap::new()));
        let told = Arc::clone(&seen);
        let handler = move |event: &Event<Counted>| {
            let value = looks.then(|| event.object().get().data["value"].clone());
            *told.lock().unwrap().entry((event.key().clone(), value)).or_insert(0) += 1;
        };
        let handled = maps.add_handler(handler).unwrap();
        handled.caught_up().await;
        let seen = std::mem::take(&mut *seen.lock().unwrap());
        assert!(seen.len() == 150 && seen.values().all(|times| *times == 1));
        assert_eq!(decoded(), if looks { 150 } else { 0 }, "also by whoever decodes ahead");
        handled.remove();
        handled.removed().await;
    }
    maps.stop();
    maps.stopped().await;
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_decoded_is_reported_when_it_comes() {
    let _turn = TURN.lock().await;
    let cluster = seeded(2).await;
    cluster.create("no-data").await;
    for keep in KEEPS {
        let reports = Arc::<Mutex<Vec<String>>>::default();
        let hears = Arc::clone(&reports);
        let maps = Informer::<Counted>::builder(cluster.server.client()).namespace("default").storage(keep);
        let maps = maps.on_error(move |report| hears.lock().unwrap().push(report.cause.to_string()));
        let maps = maps.start().unwrap();
        // What cannot be read is there, so the cache is not complete; but the rest is in it.
        maps.watch_status().wait_for(|status| status.counts.replaces > 0).await;
        assert!(reports.lock().unwrap().iter().any(|report| report.contains("default/no-data")));
        let name = format!("later-{}", keep == Storage::Compressed);
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
async fn a_source_of_objects_has_them_kept_whole() {
    let mut map = ConfigMap::default();
    map.metadata.name = Some("a".into());
    map.metadata.resource_version = Some("1".into());
    let page = move || Page { items: vec![map.clone()], version: "1".parse().ok(), continue_token: None };
    let source = FromFns::new(
        move |_| std::future::ready(Ok(page())),
        |_| async { Ok(Watch::new(futures_util::stream::pending())) },
    );
    let maps =
        Informer::from_source(source.without_streaming_lists()).storage(Storage::Compressed).start().unwrap();
    maps.synced().await.unwrap();
    let [one, other] = [(); 2].map(|()| maps.get("a").unwrap());
    assert!(Arc::ptr_eq(&one, &other));
    assert_eq!(maps.snapshot().compact_bytes(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_came_before_there_was_a_dictionary_is_packed_again() {
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
    assert!(each() < before / 2, "{before} bytes each, then {}", each());
    for map in cluster.maps.list(&ListParams::default()).await.unwrap() {
        assert_eq!(maps.get(&Key::of(&map).unwrap()).as_deref(), Some(&map));
    }
    maps.stop();
    maps.stopped().await;
}

/// Gives a map the label `app`.
async fn mark(cluster: &Cluster, name: &str, app: &str) -> ResourceVersion {
    let patch = Patch::Merge(json!({ "metadata": { "labels": { "app": app } } }));
    let map = cluster.maps.patch(name, &PatchParams::default(), &patch).await.unwrap();
    map.metadata.resource_version.unwrap().parse().unwrap()
}

#[tokio::test(start_paused = true)]
async fn where_labels_are_kept_only_what_matches_is_decoded() {
    let _turn = TURN.lock().await;
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
            assert_eq!(decoded(), 150, "labels are seen when it is seen that it can be decoded");
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
