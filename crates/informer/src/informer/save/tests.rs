//! Tests of saving and restoring.

use super::{
    cluster::Cluster,
    format_id::FormatId,
    interface::AppliedState,
    options::Save,
    saver::{FORMAT, NO_DICTIONARY, Saver, SaverInit, SourceFolder},
};
use crate::{Informer, cache::Store, informer::InformerBuilder};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube_devserver::{DevServer, Fault};
use kube_informer_saved::{
    Batch, Encoding, Enqueue, Header, Layout, Object, Options, Payload, Restored, SavedState, Snapshot,
};
use kube_informer_wire::{ManagedFields, ResourceVersion};
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use testkit::TempFolder;

/// A temporary folder with a saved cache.
struct Folder(TempFolder);

impl Folder {
    fn new() -> Self {
        Self(TempFolder::new("informer-saved"))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn open(&self) -> (SavedState, Restored) {
        let header = Header::new("", "v1", "configmaps").transform("");
        SavedState::open(self.path(), &header, Options::default()).unwrap()
    }
}

fn saver(server: &DevServer, folder: &Folder) -> Saver<ConfigMap> {
    let source = SourceFolder { namespace: None, path: folder.path().to_owned() };
    let format = FormatId::new::<ConfigMap>(ManagedFields::Drop);
    let cluster = Arc::new(Cluster::new(server.client()));
    Saver::new(source, format, cluster, SaverInit::empty(folder.open().0))
}

/// Returns the state after a list; without a version, it cannot be saved.
fn applied(version: Option<u64>) -> AppliedState<ConfigMap> {
    let (store, _) = Store::builder().build().unwrap();
    AppliedState {
        version: version.map(ResourceVersion::number),
        has_gaps: false,
        is_list: true,
        snapshot: store.snapshot(),
        position: 0,
        handled: u64::MAX,
    }
}

#[tokio::test]
async fn a_state_without_a_version_is_not_saved() {
    let server = DevServer::start();
    let folder = Folder::new();
    let early = saver(&server, &folder);
    early.applied(applied(None));
    early.close(applied(None).snapshot, u64::MAX);
    assert!(folder.open().1.is_none(), "neither when it is applied nor at the end");

    let late = saver(&server, &folder);
    late.applied(applied(None));
    late.applied(applied(Some(7)));
    late.applied(applied(None));
    late.close(applied(None).snapshot, u64::MAX);
    assert_eq!(folder.open().1.version(), Some(&ResourceVersion::number(7)));
}

#[tokio::test]
async fn a_failed_save_is_retried_at_the_end_if_the_state_has_a_version_and_was_handled() {
    let server = DevServer::start();
    for (version, handled, expected) in [(Some(9), 5, Some(9)), (None, 5, None), (Some(9), 4, None)] {
        let folder = Folder::new();
        let saver = saver(&server, &folder);
        std::fs::remove_dir_all(folder.path()).unwrap();
        saver.applied(applied(Some(7)));
        while saver.status().last_error.is_none() {
            std::thread::yield_now();
        }
        std::fs::create_dir(folder.path()).unwrap();
        saver.applied(AppliedState { position: 5, handled, ..applied(version) });
        saver.close(applied(version).snapshot, handled);
        let found = folder.open().1.version().cloned();
        assert_eq!(found, expected.map(ResourceVersion::number), "{version:?} {handled}");
    }
}

#[tokio::test]
async fn snapshots_are_released_after_saving_has_ended() {
    let server = DevServer::start();
    let folder = Folder::new();
    let saver = saver(&server, &folder);
    let unhandled = |position| AppliedState { position, handled: 4, ..applied(Some(9)) };
    let first = unhandled(5);
    let second = unhandled(6);
    let snapshots = [Arc::downgrade(&first.snapshot), Arc::downgrade(&second.snapshot)];
    saver.applied(first);
    assert!(snapshots[0].upgrade().is_some(), "waits for subscribers");
    saver.end();
    saver.applied(second);
    assert!(snapshots.iter().all(|snapshot| snapshot.upgrade().is_none()));
}

/// An object with these bytes, as it is saved.
fn object(json: &str) -> Object {
    let mut compressed = Vec::with_capacity(zstd_safe::compress_bound(json.len()));
    zstd_safe::compress(&mut compressed, json.as_bytes(), 1).unwrap();
    let payload = Payload::new(Layout::Json, Encoding(NO_DICTIONARY), compressed.into());
    Object {
        key: "default/odd".parse().unwrap(),
        uid: "u".into(),
        version: ResourceVersion::number(3),
        content: None,
        payload,
    }
}

const VALID: &str = r#"{"metadata":{"name":"odd","namespace":"default","uid":"u","resourceVersion":"3"}}"#;
const INVALID: &str = r#"{"metadata":7}"#;

#[tokio::test]
async fn a_state_of_another_program_is_validated_before_it_is_used() {
    let server = DevServer::start();
    let maps = |folder: &Folder| -> InformerBuilder<ConfigMap> {
        Informer::<ConfigMap>::builder(server.client()).save_to(folder.path())
    };
    let this = FormatId::new::<ConfigMap>(ManagedFields::Drop).to_string();
    let another = format!("{}\nanother\n", this.lines().next().unwrap());
    for (program, json, is_used) in [
        (&another, VALID, true),
        (&another, INVALID, false),
        // Objects that this program has saved are not validated again.
        (&this, INVALID, true),
    ] {
        let folder = Folder::new();
        let first = maps(&folder).start().unwrap();
        first.synced().await.unwrap();
        first.stop();
        first.stopped().await;
        let (saved, restored) = folder.open();
        assert_eq!(restored.attachment(FORMAT).map(|format| &**format), Some(this.as_bytes()));
        let mut batch = Batch::new();
        batch.attach(FORMAT, program.clone().into()).put(object(json));
        assert_eq!(saved.append(batch), Enqueue::Queued);
        saved.close().unwrap();
        let next = maps(&folder).build().unwrap();
        assert_eq!(next.status().restored.is_some(), is_used, "{program} {json}");
        assert_eq!(next.snapshot().contains(("default", "odd")), is_used);
    }
}

/// Counts the warnings of this crate.
#[derive(Clone, Default)]
struct Warnings(Arc<AtomicU64>);

impl tracing::Subscriber for Warnings {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() <= tracing::Level::WARN && metadata.target().starts_with("kube_informer")
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, _: &tracing::Event<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

/// Returns a folder with the state of an informer of version 0.1: file format 1, the type of the objects with a hash of the
/// program, and objects that are compressed without a dictionary.
fn folder_of_version_0_1(format: &str) -> Folder {
    let folder = Folder::new();
    let (saved, _) = folder.open();
    let objects = [object(VALID)].into_iter();
    let snapshot = Snapshot::new(objects).version(ResourceVersion::number(3));
    let snapshot = snapshot.attach(FORMAT, format!("{format}\n9f86d081884c7d65\n").into());
    assert_eq!(saved.replace(snapshot), Enqueue::Queued);
    saved.close().unwrap();
    let file = std::fs::read(folder.path().join("state")).unwrap();
    assert!(file.starts_with(b"kisaved\n\x01\0\0\0"), "0.1 wrote files of format 1");
    folder
}

#[tokio::test]
async fn a_folder_of_version_0_1_is_restored_or_relisted_with_one_warning() {
    let kind = std::any::type_name::<ConfigMap>();
    for (format, managed_fields, is_restored) in [
        (format!("{kind} whole"), ManagedFields::Keep, true),
        (format!("{kind} without managed fields"), ManagedFields::Drop, true),
        (format!("{kind} whole"), ManagedFields::Drop, false),
        ("form".to_owned(), ManagedFields::Drop, false),
        (String::new(), ManagedFields::Drop, false),
    ] {
        let server = DevServer::start();
        let folder = folder_of_version_0_1(&format);
        let warnings = Warnings::default();
        let _guard = tracing::subscriber::set_default(warnings.clone());
        let maps = |server: &DevServer| {
            let builder = Informer::<ConfigMap>::builder(server.client()).managed_fields(managed_fields);
            builder.save_to(folder.path()).build().unwrap()
        };
        let informer = maps(&server);
        assert_eq!(informer.status().restored.is_some(), is_restored, "{format}");
        assert_eq!(informer.snapshot().contains(("default", "odd")), is_restored, "{format}");
        assert_eq!(warnings.0.load(Ordering::Relaxed), u64::from(!is_restored), "{format}");
        // A restored informer resumes from version 3. Otherwise it relists, and the server does not have the object.
        informer.start();
        informer.synced().await.unwrap();
        let keys = informer.store().keys();
        assert_eq!(informer.snapshot().contains(("default", "odd")), is_restored, "{keys:?}");
        informer.stop();
        informer.stopped().await;
        let next = maps(&server);
        assert!(next.status().restored.is_some_and(|restored| restored.objects == keys.len()), "{format}");
    }
}

#[tokio::test]
async fn files_of_version_0_1_with_other_contents_are_relisted_with_one_warning() {
    let encoded = include_bytes!("../../../../saved/tests/saved/fixtures/encoded.state");
    let compressed = include_bytes!("../../../../saved/tests/saved/fixtures/compressed.state");
    for (file, expected) in [(&encoded[..], 1), (&compressed[..], 2)] {
        let server = DevServer::start();
        let folder = Folder::new();
        std::fs::create_dir(folder.path()).unwrap();
        std::fs::write(folder.path().join("state"), file).unwrap();
        let warnings = Warnings::default();
        let _guard = tracing::subscriber::set_default(warnings.clone());
        let save = Save::in_folder(folder.path()).cluster("5f1e");
        let pods = Informer::<Pod>::builder(server.client()).save_to(save).build().unwrap();
        assert!(pods.status().restored.is_none() && pods.is_empty());
        // A file with an incomplete end has a warning for that, too.
        assert_eq!(warnings.0.load(Ordering::Relaxed), expected);
        pods.start();
        pods.synced().await.unwrap();
        pods.stop();
        pods.stopped().await;
    }
}

#[tokio::test(start_paused = true)]
async fn retries_the_request_for_the_cluster_uid_after_a_timeout() {
    let server = DevServer::start();
    let stalled = server.faults().inject(Fault::stall_until_withdrawn().of("namespaces").times(1));
    let cluster = Cluster::new(server.client());
    let uid = tokio::time::timeout(Duration::from_secs(300), cluster.uid()).await;
    assert!(uid.is_ok_and(|uid| uid.is_some()) && stalled.hits() == 1);
}
