//! What is handed on to be saved, and what is taken in again.

use super::{
    cluster::Cluster,
    moment::Moment,
    program::Form,
    saver::{Beginning, FORM, LOOSE, Part, Saver},
};
use crate::{Informer, cache::Store, informer::InformerBuilder};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_devserver::{DevServer, Fault};
use kube_informer_saved::{
    Batch, Encoding, Enqueue, Header, Layout, Object, Options, Payload, Restored, SavedState,
};
use kube_informer_wire::ResourceVersion;
use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// A folder that is gone when the test is.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("informer-saved-{}-{number}", std::process::id())))
    }

    fn open(&self) -> (SavedState, Restored) {
        SavedState::open(&self.0, &Header::new("", "v1", "configmaps").transform(""), Options::default())
            .unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn saver(server: &DevServer, folder: &Folder) -> Saver<ConfigMap> {
    let part = Part { namespace: None, folder: folder.0.clone() };
    let begin = Beginning {
        saved: folder.open().0,
        dictionaries: [].into_iter().collect(),
        version: None,
        cluster: None,
        has_gaps: false,
        is_current: false,
    };
    Saver::new(part, Form::of::<ConfigMap>(false), Arc::new(Cluster::new(server.client())), begin)
}

/// A moment after a batch with a list in it, which leaves the cache at its version or not.
fn moment(version: u64, is_complete: bool) -> Moment<ConfigMap> {
    let (store, _) = Store::builder().build().unwrap();
    Moment {
        version: Some(ResourceVersion::number(version)),
        is_complete,
        has_gaps: false,
        is_whole: true,
        snapshot: store.snapshot(),
        position: 0,
        handled: u64::MAX,
    }
}

#[tokio::test]
async fn a_state_that_is_ahead_of_its_version_is_not_handed_on() {
    let (server, folder) = (DevServer::start(), Folder::new());
    let early = saver(&server, &folder);
    early.applied(moment(5, false));
    early.close(moment(5, false).snapshot, u64::MAX);
    assert!(folder.open().1.is_none(), "not when it comes, and not at the end");

    let late = saver(&server, &folder);
    late.applied(moment(5, false));
    late.applied(moment(7, true));
    late.applied(moment(9, false));
    late.close(moment(9, false).snapshot, u64::MAX);
    assert_eq!(folder.open().1.version(), Some(&ResourceVersion::number(7)), "one that is, is");
}

#[tokio::test]
async fn what_could_not_be_saved_is_tried_again_at_the_end_if_it_is_a_state_and_was_handled() {
    let server = DevServer::start();
    for (is_complete, handled, expected) in [(true, 5, Some(9)), (false, 5, None), (true, 4, None)] {
        let folder = Folder::new();
        let saver = saver(&server, &folder);
        std::fs::remove_dir_all(&folder.0).unwrap();
        saver.applied(moment(7, true));
        while saver.status().last_error.is_none() {
            std::thread::yield_now();
        }
        std::fs::create_dir(&folder.0).unwrap();
        saver.applied(Moment { position: 5, handled, ..moment(9, is_complete) });
        saver.close(moment(9, is_complete).snapshot, handled);
        let found = folder.open().1.version().cloned();
        assert_eq!(found, expected.map(ResourceVersion::number), "{is_complete} {handled}");
    }
}

#[tokio::test]
async fn nothing_is_kept_to_be_saved_once_nothing_will_be() {
    let (server, folder) = (DevServer::start(), Folder::new());
    let saver = saver(&server, &folder);
    let unhandled = |position| Moment { position, handled: 4, ..moment(9, true) };
    let (first, second) = (unhandled(5), unhandled(6));
    let snapshots = [Arc::downgrade(&first.snapshot), Arc::downgrade(&second.snapshot)];
    saver.applied(first);
    assert!(snapshots[0].upgrade().is_some(), "it waits to be handled");
    saver.ends();
    saver.applied(second);
    assert!(snapshots.iter().all(|snapshot| snapshot.upgrade().is_none()));
}

/// An object of these bytes, as it is saved.
fn object(json: &str) -> Object {
    let mut compressed = Vec::with_capacity(zstd_safe::compress_bound(json.len()));
    zstd_safe::compress(&mut compressed, json.as_bytes(), 1).unwrap();
    let payload = Payload::new(Layout::Json, Encoding(LOOSE), compressed.into());
    Object {
        key: "default/odd".parse().unwrap(),
        uid: "u".into(),
        version: ResourceVersion::number(3),
        payload,
    }
}

const SOUND: &str = r#"{"metadata":{"name":"odd","namespace":"default","uid":"u","resourceVersion":"3"}}"#;
const UNSOUND: &str = r#"{"metadata":7}"#;

#[tokio::test]
async fn what_another_program_saved_is_decoded_before_it_is_used() {
    let server = DevServer::start();
    let maps = |folder: &Folder| -> Builder<ConfigMap> {
        Informer::<ConfigMap>::builder(server.client()).save_to(&folder.0)
    };
    let this = Form::of::<ConfigMap>(false).to_string();
    let another = format!("{}\nanother\n", this.lines().next().unwrap());
    for (program, json, is_used) in [
        (&another, SOUND, true),
        (&another, UNSOUND, false),
        // What this very program has let in is known to decode, and is not decoded again.
        (&this, UNSOUND, true),
    ] {
        let folder = Folder::new();
        let first = maps(&folder).start().unwrap();
        first.synced().await.unwrap();
        first.stop();
        first.stopped().await;
        let (saved, restored) = folder.open();
        assert_eq!(restored.attachment(FORM).map(|form| &**form), Some(this.as_bytes()));
        let mut batch = Batch::new();
        batch.attach(FORM, program.clone().into()).put(object(json));
        assert_eq!(saved.append(batch), Enqueue::Queued);
        saved.close().unwrap();
        let next = maps(&folder).build().unwrap();
        assert_eq!(next.status().restored.is_some(), is_used, "{program} {json}");
        assert_eq!(next.snapshot().contains(("default", "odd")), is_used);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_takes_a_question_and_says_nothing_is_asked_again() {
    let server = DevServer::start();
    let stalled = server.faults().inject(Fault::stall_until_withdrawn().of("namespaces").times(1));
    let cluster = Cluster::new(server.client());
    let answer = tokio::time::timeout(Duration::from_secs(300), cluster.uid()).await;
    assert!(answer.is_ok_and(|uid| uid.is_some()) && stalled.hits() == 1);
}
