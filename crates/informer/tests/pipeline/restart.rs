//! A saved cache is restored after a restart, and only the changes since are delivered.

use crate::cluster::{Cluster, ReceivedState, versions};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::core::PartialObjectMeta;
use kube_devserver::{DevServer, Fault, Verb};
use kube_informer::{
    Event, Informer, Storage,
    event::{Deletion, Phase},
    informer::{InformerBuilder, Save, StartError, SyncError},
    reflector::Strategy,
    source::{Encoding, FromFns},
    subscription::{Policy, Replay, SubscribeOptions, Subscription},
    wire::ManagedFields,
};
use std::{path::Path, time::Duration};
use testkit::TempFolder;

const STORAGES: [Storage; 2] = [Storage::Decoded, Storage::Compressed];

/// A temporary folder with saved caches.
pub(crate) struct Folder(TempFolder);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(TempFolder::new("informer-restarts"))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Copies the folder as a process would leave it that is killed now.
    pub(crate) fn killed(&self) -> Self {
        let copy = Self::new();
        copy_below(self.path(), copy.path());
        copy
    }
}

fn copy_below(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for file in std::fs::read_dir(from).unwrap() {
        let (from, to) = file.map(|file| (file.path(), to.join(file.file_name()))).unwrap();
        if from.is_dir() {
            copy_below(&from, &to);
        } else {
            // Temporary files may have been removed in the meantime.
            let _ = std::fs::copy(from, to);
        }
    }
}

impl From<&Folder> for Save {
    fn from(folder: &Folder) -> Self {
        Self::in_folder(folder.path()).interval(Duration::ZERO)
    }
}

pub(crate) fn maps(cluster: &Cluster) -> InformerBuilder<ConfigMap> {
    Informer::<ConfigMap>::builder(cluster.server.client()).namespace("default").on_error(|_| {})
}

/// Runs an informer with a folder until it has synced, and stops it.
async fn run_once(cluster: &Cluster, save: impl Into<Save>) -> Informer<ConfigMap> {
    let maps = maps(cluster).save_to(save).start().unwrap();
    maps.synced().await.unwrap();
    maps.stop();
    maps.stopped().await;
    maps
}

/// Receives the pending events as short strings.
async fn received(events: &mut Subscription<ConfigMap>) -> Vec<String> {
    let mut received = Vec::new();
    while events.registration().depth() > 0 {
        let Some(event) = events.next().await else { break };
        let what = match &event {
            Event::Added { phase: Phase::Initial, .. } => "was",
            Event::Added { .. } => "added",
            Event::Updated { .. } => "updated",
            Event::Deleted { deletion: Deletion::Observed, .. } => "deleted",
            Event::Deleted { .. } => "deleted-inferred",
            other => panic!("{other:?}"),
        };
        received.push(format!("{what} {}", event.key().name()));
    }
    received.sort();
    received
}

fn differences<K>() -> SubscribeOptions<K> {
    SubscribeOptions::new().replay(Replay::Differences)
}

pub(crate) async fn abc() -> Cluster {
    let cluster = Cluster::new();
    for name in ["a", "b", "c"] {
        cluster.create(name).await;
    }
    cluster
}

/// Makes changes while no informer runs.
async fn make_changes(cluster: &Cluster) {
    cluster.change("a", "changed").await;
    cluster.delete("b").await;
    cluster.create("d").await;
}

pub(crate) fn check_equal(maps: &Informer<ConfigMap>, server: &crate::cluster::Versions) {
    assert_eq!(&versions(maps.list().iter().map(|map| &**map)), server);
}

#[tokio::test(start_paused = true)]
async fn only_changes_are_delivered_after_a_restart() {
    for (storage, strategy) in
        STORAGES.into_iter().flat_map(|storage| [Strategy::Stream, Strategy::List].map(|s| (storage, s)))
    {
        let (cluster, folder) = (abc().await, Folder::new());
        let first = maps(&cluster).storage(storage).strategy(strategy).save_to(&folder).start().unwrap();
        first.synced().await.unwrap();
        assert!(first.status().restored.is_none());
        first.stop();
        first.stopped().await;
        let before = versions(first.list().iter().map(|map| &**map));
        make_changes(&cluster).await;

        let maps = maps(&cluster).storage(storage).strategy(strategy).save_to(&folder).build().unwrap();
        check_equal(&maps, &before);
        let restored = maps.status().restored.unwrap();
        assert!(restored.objects == 3 && restored.age < Duration::from_secs(60) && !restored.is_confirmed);
        assert!(!maps.has_synced() && maps.version().is_some());
        let [mut all, mut changes] =
            [SubscribeOptions::new(), differences()].map(|asked| maps.subscribe_with(asked));
        maps.start();
        maps.synced().await.unwrap();
        assert!(maps.status().restored.unwrap().is_confirmed);
        check_equal(&maps, &cluster.versions().await);
        assert_eq!(
            received(&mut changes).await,
            ["added d", "deleted b", "updated a"],
            "{storage:?} {strategy:?}"
        );
        let all_events = ["added d", "deleted b", "updated a", "was a", "was b", "was c"];
        assert_eq!(received(&mut all).await, all_events);
        let counts = maps.status().counts;
        assert_eq!((counts.lists, counts.streams, counts.watches), (0, 0, 1), "the watch was resumed");
        assert_eq!(maps.get("default/a").unwrap().data.as_ref().unwrap()["value"], "changed");
        assert_eq!(
            received(&mut maps.subscribe_with(differences())).await,
            ["was a", "was c", "was d"],
            "after the sync"
        );
        maps.stop();
        maps.stopped().await;
    }
}

#[tokio::test(start_paused = true)]
async fn without_changes_a_restored_cache_syncs_immediately() {
    let (cluster, folder) = (abc().await, Folder::new());
    run_once(&cluster, &folder).await;
    let began = tokio::time::Instant::now();
    let maps = maps(&cluster).save_to(&folder).build().unwrap();
    let mut changes = maps.subscribe_with(differences());
    maps.start();
    maps.synced().await.unwrap();
    assert!(began.elapsed() < Duration::from_millis(100), "{:?}", began.elapsed());
    assert_eq!(received(&mut changes).await, [""; 0]);
    assert!(changes.registration().has_synced());
    maps.stop();
    maps.stopped().await;
}

#[tokio::test(start_paused = true)]
async fn an_expired_saved_version_causes_a_list_and_only_differences_are_delivered() {
    for storage in STORAGES {
        let (cluster, folder) = (abc().await, Folder::new());
        run_once(&cluster, &folder).await;
        make_changes(&cluster).await;
        cluster.server.compact();
        let began = tokio::time::Instant::now();
        let maps = maps(&cluster).storage(storage).save_to(&folder).build().unwrap();
        let mut changes = maps.subscribe_with(differences());
        maps.start();
        maps.synced().await.unwrap();
        assert!(began.elapsed() < Duration::from_millis(100), "the relist is immediate");
        assert_eq!(received(&mut changes).await, ["added d", "deleted-inferred b", "updated a"]);
        assert_eq!(maps.status().counts.replaces, 1);
        check_equal(&maps, &cluster.versions().await);
        maps.stop();
        maps.stopped().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_saved_version_newer_than_the_server_causes_a_list() {
    let (old, folder) = (abc().await, Folder::new());
    for number in 0..50 {
        old.change("a", &number.to_string()).await;
    }
    run_once(&old, Save::from(&folder).cluster("mine")).await;
    // The same cluster, restored from an older backup.
    let cluster = abc().await;
    let maps = maps(&cluster).save_to(Save::from(&folder).cluster("mine")).build().unwrap();
    let mut changes = maps.subscribe_with(differences());
    maps.start();
    maps.synced().await.unwrap();
    check_equal(&maps, &cluster.versions().await);
    assert_eq!(received(&mut changes).await.len(), 3);
    assert_eq!(maps.status().counts.replaces, 1);
    cluster.change("b", "changed again").await;
    assert!(matches!(changes.next().await, Some(Event::Updated { .. })));
    maps.stop();
    maps.stopped().await;
}

#[tokio::test(start_paused = true)]
async fn the_saved_state_is_readable_while_the_server_is_unavailable() {
    let (cluster, folder) = (abc().await, Folder::new());
    run_once(&cluster, &folder).await;
    make_changes(&cluster).await;
    let fault = cluster.server.faults().inject(Fault::answer(503));
    let maps = maps(&cluster).save_to(&folder).start().unwrap();
    let waited = tokio::time::timeout(Duration::from_secs(300), maps.synced()).await;
    assert!(waited.is_err() && maps.len() == 3 && !maps.status().restored.unwrap().is_confirmed);
    fault.withdraw();
    maps.synced().await.unwrap();
    check_equal(&maps, &cluster.versions().await);
    maps.stop();
    maps.stopped().await;
}

#[tokio::test(start_paused = true)]
async fn a_killed_process_leaves_an_earlier_state_of_the_server() {
    for storage in STORAGES {
        let (cluster, folder) = (abc().await, Folder::new());
        let first = maps(&cluster).storage(storage).save_to(&folder).start().unwrap();
        first.synced().await.unwrap();
        let mut states = vec![crate::cluster::Versions::new(), cluster.versions().await];
        let mut found_some = 0;
        for round in 0..40 {
            match round % 4 {
                0 => drop(cluster.create(&format!("n{round}")).await),
                3 => cluster.delete(&format!("n{}", round - 3)).await,
                _ => drop(cluster.change("a", &round.to_string()).await),
            }
            states.push(cluster.versions().await);
            let left = folder.killed();
            let maps = maps(&cluster).storage(storage).save_to(&left).build().unwrap();
            let found = versions(maps.list().iter().map(|map| &**map));
            assert!(states.contains(&found), "{found:?}");
            found_some += usize::from(!found.is_empty());
            let mut received = ReceivedState { known: found, ..ReceivedState::default() };
            let mut changes = maps.subscribe_with(differences());
            maps.start();
            maps.synced().await.unwrap();
            while received.known != *states.last().unwrap() {
                received.apply(&changes.next().await.unwrap());
            }
            maps.stop();
            maps.stopped().await;
        }
        assert!(found_some > 20, "{found_some}");
        first.stop();
        first.stopped().await;
    }
}

#[tokio::test(start_paused = true)]
async fn unhandled_events_are_delivered_again_after_a_restart() {
    let (cluster, folder) = (abc().await, Folder::new());
    run_once(&cluster, &folder).await;
    let maps_of = || maps(&cluster).save_to(&folder).build().unwrap();
    let maps = maps_of();
    let mut changes = maps.subscribe_with(differences().policy(Policy::Unbounded));
    maps.start();
    maps.synced().await.unwrap();
    cluster.change("a", "handled").await;
    assert!(changes.next().await.is_some());
    let mut next = std::pin::pin!(changes.next());
    assert!(futures_util::poll!(next.as_mut()).is_pending(), "no further event");
    let version = cluster.change("b", "not handled").await.metadata.resource_version.unwrap();
    maps.wait_for(&version.parse().unwrap()).await.unwrap();
    maps.stop();
    maps.stopped().await;
    let maps = maps_of();
    let mut changes = maps.subscribe_with(differences());
    maps.start();
    maps.synced().await.unwrap();
    assert_eq!(received(&mut changes).await, ["updated b"]);
    maps.stop();
    maps.stopped().await;
}

#[tokio::test(start_paused = true)]
async fn subscribers_between_start_and_sync_receive_the_differences() {
    let (cluster, folder) = (abc().await, Folder::new());
    run_once(&cluster, &folder).await;
    make_changes(&cluster).await;
    // The server has a newer version than any object of the watch, so the sync takes longer.
    cluster.namespace("another").await;
    let maps = maps(&cluster).save_to(&folder).start().unwrap();
    while maps.get("default/d").is_none() {
        tokio::task::yield_now().await;
    }
    assert!(!maps.has_synced());
    assert_eq!(
        received(&mut maps.subscribe_with(differences())).await,
        ["added d", "deleted-inferred b", "updated a"]
    );
    maps.synced().await.unwrap();
    maps.stop();
    maps.stopped().await;
}

fn refusal(builder: InformerBuilder<ConfigMap>) -> String {
    match builder.build().unwrap_err() {
        StartError::Saved(error) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_folder_of_another_request_is_refused() {
    let (cluster, folder) = (abc().await, Folder::new());
    run_once(&cluster, Save::from(&folder).cluster("one")).await;
    let save = || Save::from(&folder).cluster("one");
    let labels = refusal(maps(&cluster).labels("a=b").save_to(save()));
    assert!(
        labels.contains("saved for labels \"\", but \"a=b\" is requested; use another folder"),
        "{labels}"
    );
    let fields = refusal(maps(&cluster).fields("metadata.name=a").save_to(save()));
    assert!(fields.contains("saved for fields"), "{fields}");
    let cluster_name = refusal(maps(&cluster).save_to(save().cluster("two")));
    assert!(cluster_name.contains("saved for cluster \"one\", but \"two\" is requested"), "{cluster_name}");
    let shard = refusal(maps(&cluster).shard(0, 2).save_to(save()));
    assert!(shard.contains("saved for shard"), "{shard}");
    let transform = refusal(maps(&cluster).transform(Ok).save_to(save().transform("v1")));
    assert!(transform.contains("saved for transform"), "{transform}");
    let over = maps(&cluster).labels("a=b").save_to(save().start_over()).build().unwrap();
    assert!(over.is_empty() && over.status().restored.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_folder_of_another_cluster_is_refused_at_the_start() {
    let (one, other, folder) = (abc().await, Cluster::new(), Folder::new());
    run_once(&one, &folder).await;
    let maps_of = |save: Save| maps(&other).save_to(save).start().unwrap();
    let maps = maps_of((&folder).into());
    let error = maps.synced().await.unwrap_err();
    assert!(matches!(error, SyncError::OtherCluster { .. }), "{error}");
    assert!(error.to_string().contains("use another folder, or `Save::start_over`") && maps.is_stopped());
    maps.stop();
    maps.stopped().await;
    let maps = maps_of(Save::from(&folder).start_over());
    assert_eq!(maps.len(), 3);
    maps.synced().await.unwrap();
    check_equal(&maps, &other.versions().await);
    maps.stop();
    maps.stopped().await;
    assert_eq!(
        run_once(&other, &folder).await.status().restored.unwrap().objects,
        other.versions().await.len()
    );
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_cannot_be_identified_is_assumed_to_be_the_same() {
    let (cluster, folder) = (abc().await, Folder::new());
    run_once(&cluster, &folder).await;
    cluster.server.faults().inject(Fault::answer(403).on(Verb::Get));
    let maps = run_once(&cluster, &folder).await;
    assert_eq!(maps.status().counts.replaces, 0);
}

#[tokio::test(start_paused = true)]
async fn a_folder_can_be_used_by_one_informer_at_a_time() {
    let (cluster, folder) = (abc().await, Folder::new());
    let first = maps(&cluster).save_to(&folder).start().unwrap();
    first.synced().await.unwrap();
    let second = maps(&cluster).save_to(&folder).start().unwrap_err();
    assert!(matches!(&second, StartError::Saved(error) if error.is_locked()), "{second}");
    first.stop();
    first.stopped().await;
    run_once(&cluster, &folder).await;
}

#[tokio::test(start_paused = true)]
async fn secrets_are_saved_only_on_request() {
    let (server, folder) = (DevServer::start(), Folder::new());
    let secrets = || Informer::<Secret>::builder(server.client());
    let error = secrets().save_to(&folder).start().unwrap_err();
    assert!(matches!(error, StartError::SecretsNotSaved) && error.to_string().contains("`Save::secrets`"));
    let metadata = Informer::<PartialObjectMeta<Secret>>::builder(server.client()).save_to(&folder).build();
    assert!(matches!(metadata, Err(StartError::SecretsNotSaved)));
    let lazy = Informer::<Secret>::builder(server.client()).lazy().save_to(&folder).build();
    assert!(matches!(lazy, Err(StartError::SecretsNotSaved)));
    assert!(!folder.path().exists());
    let saved = secrets().save_to(Save::from(&folder).secrets()).start().unwrap();
    saved.synced().await.unwrap();
    saved.stop();
    saved.stopped().await;
}

#[cfg(unix)]
#[tokio::test(start_paused = true)]
async fn saved_files_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let (cluster, folder) = (abc().await, Folder::new());
    run_once(&cluster, &folder).await;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let below = folder.path().join("default");
    assert_eq!([mode(folder.path()), mode(&below), mode(&below.join("state"))], [0o700, 0o700, 0o600]);
}

#[tokio::test(start_paused = true)]
async fn adding_an_index_delivers_no_events() {
    for storage in STORAGES {
        let (cluster, folder) = (abc().await, Folder::new());
        run_once(&cluster, &folder).await;
        let maps = maps(&cluster).storage(storage).save_to(&folder).build().unwrap();
        maps.store().add_index("names", |map: &ConfigMap| map.metadata.name.clone()).unwrap();
        let mut changes = maps.subscribe_with(differences());
        cluster.change("a", "changed").await;
        maps.start();
        maps.synced().await.unwrap();
        assert_eq!(received(&mut changes).await, ["updated a"]);
        assert_eq!(maps.store().by_index("names", "b").unwrap().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_saved_transform_has_a_name_and_restored_objects_are_transformed() {
    let (cluster, folder) = (abc().await, Folder::new());
    let transformed = |save: Save| {
        maps(&cluster).save_to(save).transform(|mut map| {
            map.data = Some([("transformed".to_owned(), "yes".to_owned())].into());
            Ok(map)
        })
    };
    let error = transformed((&folder).into()).build().unwrap_err();
    assert!(matches!(error, StartError::UnnamedTransform) && error.to_string().contains("`Save::transform`"));
    for (run, storage) in STORAGES.into_iter().chain(STORAGES).enumerate() {
        let maps = transformed(Save::from(&folder).transform("v1")).storage(storage).build().unwrap();
        assert_eq!(maps.status().restored.is_some(), run > 0);
        assert!(maps.list().iter().all(|map| map.data.as_ref().unwrap()["transformed"] == "yes"));
        maps.start();
        maps.synced().await.unwrap();
        maps.stop();
        maps.stopped().await;
    }
    let renamed = refusal(transformed(Save::from(&folder).transform("v2")));
    assert!(renamed.contains("saved for transform \"v1\", but \"v2\" is requested"), "{renamed}");
}

#[tokio::test(start_paused = true)]
async fn an_informer_runs_without_a_writable_folder() {
    let (cluster, folder) = (abc().await, Folder::new());
    std::fs::write(folder.path(), "a file").unwrap();
    let maps = maps(&cluster).save_to(folder.path().join("below")).start().unwrap();
    maps.synced().await.unwrap();
    let failing = maps.status().saving.unwrap().error.unwrap();
    assert!(failing.contains("failed to create the folder"), "{failing}");
    maps.stop();
    maps.stopped().await;
    std::fs::remove_file(folder.path()).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_corrupt_file_causes_a_cold_start() {
    let (cluster, folder) = (abc().await, Folder::new());
    run_once(&cluster, &folder).await;
    let state = folder.path().join("default/state");
    let mut bytes = std::fs::read(&state).unwrap();
    bytes[20] ^= 1;
    std::fs::write(&state, bytes).unwrap();
    let maps = maps(&cluster).save_to(&folder).build().unwrap();
    assert!(maps.is_empty() && maps.status().restored.is_none());
    maps.start();
    maps.synced().await.unwrap();
    maps.stop();
    maps.stopped().await;
    assert_eq!(
        run_once(&cluster, &folder).await.status().restored.unwrap().objects,
        cluster.versions().await.len()
    );
}

#[tokio::test(start_paused = true)]
async fn each_namespace_is_saved_separately() {
    let (cluster, folder) = (abc().await, Folder::new());
    for namespace in ["web", "db"] {
        let maps = cluster.namespace(namespace).await;
        maps.create(&Default::default(), &crate::cluster::named("x")).await.unwrap();
    }
    let of = |namespaces: &[&str]| {
        let maps =
            Informer::<ConfigMap>::builder(cluster.server.client()).namespaces(namespaces.iter().copied());
        maps.on_error(|_| {}).save_to(&folder).build().unwrap()
    };
    let first = of(&["default", "web"]);
    first.start();
    first.synced().await.unwrap();
    first.stop();
    first.stopped().await;
    make_changes(&cluster).await;
    let maps = of(&["db", "default", "web"]);
    assert_eq!(maps.status().restored.unwrap().objects, first.len());
    let status = maps.status();
    let restored = status.sources.iter().filter(|source| source.is_restored);
    let restored: Vec<_> = restored.filter_map(|source| source.namespace.as_deref()).collect();
    assert_eq!(restored, ["default", "web"], "the status lists them");
    assert!(maps.get("web/x").is_some() && maps.get("db/x").is_none() && maps.version().is_none());
    let mut changes = maps.subscribe_with(differences());
    maps.start();
    maps.synced().await.unwrap();
    let received = received(&mut changes).await;
    assert!(
        ["deleted b", "updated a", "added d"]
            .iter()
            .all(|expected| received.iter().any(|received| received == expected))
    );
    assert!(!received.iter().any(|received| received.ends_with(" c")), "{received:?}");
    assert_eq!(maps.status().counts.replaces, 1, "one namespace is new");
    maps.stop();
    maps.stopped().await;
}

#[tokio::test(start_paused = true)]
async fn a_state_of_another_type_is_not_used() {
    let (cluster, folder) = (abc().await, Folder::new());
    run_once(&cluster, &folder).await;
    let names =
        Informer::<PartialObjectMeta<ConfigMap>>::builder(cluster.server.client()).namespace("default");
    let names = names.save_to(&folder).start().unwrap();
    assert!(names.is_empty() && names.status().restored.is_none());
    names.synced().await.unwrap();
    names.stop();
    names.stopped().await;
    // Metadata is restored from its own encoding.
    let names =
        Informer::<PartialObjectMeta<ConfigMap>>::builder(cluster.server.client()).namespace("default");
    let names = names.save_to(&folder).build().unwrap();
    assert_eq!(names.status().restored.unwrap().objects, cluster.versions().await.len());
    assert!(names.get("default/a").is_some());
}

#[tokio::test(start_paused = true)]
async fn json_and_protobuf_states_are_restored() {
    let (cluster, folder) = (abc().await, Folder::new());
    let kept = |cluster| maps(cluster).managed_fields(ManagedFields::Keep);
    for (run, encoding) in [Encoding::Json, Encoding::Protobuf, Encoding::Json].into_iter().enumerate() {
        let maps = kept(&cluster).encoding(encoding).save_to(&folder).build().unwrap();
        assert_eq!(maps.status().restored.is_some(), run > 0);
        maps.start();
        maps.synced().await.unwrap();
        let changed = cluster.change("a", &run.to_string()).await.metadata.resource_version.unwrap();
        maps.wait_for(&changed.parse().unwrap()).await.unwrap();
        maps.stop();
        maps.stopped().await;
    }
    let maps = kept(&cluster).save_to(&folder).build().unwrap();
    let server = cluster.maps.list(&Default::default()).await.unwrap();
    for map in server.items {
        let name = map.metadata.name.clone().unwrap();
        assert_eq!(*maps.get(("default", &*name)).unwrap(), map);
    }
}

#[tokio::test(start_paused = true)]
async fn a_custom_source_cannot_be_saved() {
    let folder = Folder::new();
    let source = FromFns::new(|_| std::future::pending(), |_| std::future::pending());
    let error = Informer::<ConfigMap>::from_source(source).save_to(&folder).build().unwrap_err();
    assert!(matches!(error, StartError::NotForSource { option: "save_to", .. }));
}
