//! Objects that are saved in a directory.

use crate::probe::{MAPS, Probe, named, names, refusal};
use kube_devserver::{DataError, DevServer, StartError, Versions};
use kube_informer_folder::FolderError;
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
};
use testkit::TempFolder;

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const CARS: &str = "/apis/example.com/v1/namespaces/default/cars";

/// The directory of a server.
struct Directory(TempFolder);

impl Directory {
    fn new() -> Self {
        Self(TempFolder::new("kube-devserver"))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    async fn start(&self) -> Probe {
        Probe::of(DevServer::builder().data(self.path()).start().await.unwrap())
    }

    fn log(&self) -> PathBuf {
        self.path().join("objects.log")
    }
}

fn cars() -> Value {
    let spec = json!({ "type": "object", "properties": { "doors": { "type": "integer", "maximum": 5 } } });
    let schema = json!({ "type": "object", "properties": { "spec": spec } });
    json!({ "metadata": { "name": "cars.example.com" }, "spec": {
        "group": "example.com", "scope": "Namespaced", "names": { "plural": "cars", "kind": "Car" },
        "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
    } })
}

#[tokio::test]
async fn a_server_starts_with_the_objects_of_the_last_one() {
    let directory = Directory::new();
    let probe = directory.start().await;
    probe.make_maps(["a", "b"]).await;
    probe.delete(&format!("{MAPS}/b")).await;
    probe.make(CRDS, cars()).await;
    probe.make(CARS, json!({ "metadata": { "name": "one" }, "spec": { "doors": 3 } })).await;
    let before = probe.get(&format!("{MAPS}/a")).await.1;
    let version = probe.server.version();
    probe.server.stop().await;
    let probe = directory.start().await;
    assert_eq!(probe.server.version(), version);
    assert_eq!(probe.get(&format!("{MAPS}/a")).await.1, before);
    assert_eq!(names(&probe.get(MAPS).await.1), ["a"]);
    assert_eq!(names(&probe.get(CARS).await.1), ["one"]);
    let invalid = json!({ "metadata": { "name": "two" }, "spec": { "doors": 9 } });
    assert_eq!(refusal(&probe.post(CARS, invalid).await), (422, "Invalid"));
    assert_eq!(names(&probe.get("/api/v1/namespaces").await.1).len(), 4);
    // The history from before the restart is lost.
    let mut old = probe.watch(&format!("{MAPS}?watch=1&resourceVersion={}", version - 3)).await;
    assert_eq!(old.event().await.1["code"], 410);
    probe.make_maps(["c"]).await;
    assert!(probe.server.version() > version);
}

#[tokio::test]
async fn a_log_that_ends_anywhere_is_read_up_to_the_last_complete_change() {
    let directory = Directory::new();
    let probe = directory.start().await;
    probe.make_maps(["a"]).await;
    let complete = fs::read(directory.log()).unwrap();
    probe.make_maps(["b"]).await;
    probe.server.stop().await;
    let whole = fs::read(directory.log()).unwrap();
    assert!(whole.starts_with(&complete));
    // As if the process was killed while it wrote.
    for end in [complete.len(), complete.len() + 1, complete.len() + 40, whole.len() - 1] {
        fs::write(directory.log(), &whole[..end]).unwrap();
        let probe = directory.start().await;
        assert_eq!(names(&probe.get(MAPS).await.1), ["a"], "cut at {end}");
        probe.server.stop().await;
    }
    fs::write(directory.log(), &whole).unwrap();
    let probe = directory.start().await;
    assert_eq!(names(&probe.get(MAPS).await.1), ["a", "b"]);
    // A log that was being replaced is ignored.
    probe.server.stop().await;
    fs::write(directory.path().join("objects.log.new"), &whole[..10]).unwrap();
    assert_eq!(names(&directory.start().await.get(MAPS).await.1), ["a", "b"]);
}

#[tokio::test]
async fn a_damaged_log_and_a_directory_that_is_in_use_are_refused() {
    let directory = Directory::new();
    let probe = directory.start().await;
    probe.make_maps(["a"]).await;
    let error = DevServer::builder().data(directory.path()).start().await.unwrap_err();
    assert!(is_refused(&error, |cause| matches!(cause, FolderError::Locked { .. })), "{error:?}");
    probe.server.stop().await;
    let mut damaged = fs::read(directory.log()).unwrap();
    damaged[30] ^= 1;
    fs::write(directory.log(), damaged).unwrap();
    let error = DevServer::builder().data(directory.path()).start().await.unwrap_err();
    assert!(matches!(error, StartError::Data { cause: DataError::Damaged { offset: 0 }, .. }), "{error:?}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(directory.path()), mode(&directory.log())), (0o700, 0o600));
        // The path may be a mistake.
        fs::write(directory.path().join("other"), "").unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let error = DevServer::builder().data(directory.path()).start().await.unwrap_err();
        let is_insecure =
            |cause: &FolderError| matches!(cause, FolderError::InsecurePermissions { mode: 0o755, .. });
        assert!(is_refused(&error, is_insecure), "{error:?}");
    }
}

fn is_refused(error: &StartError, is_expected: impl Fn(&FolderError) -> bool) -> bool {
    matches!(error, StartError::Data { cause: DataError::Folder(cause), .. } if is_expected(cause))
}

#[tokio::test]
async fn restored_snapshots_and_reset_versions_are_saved() {
    let directory = Directory::new();
    let probe = directory.start().await;
    probe.make_maps(["a"]).await;
    let snapshot = probe.server.snapshot();
    probe.make("/api/v1/namespaces", named("gone")).await;
    probe.make_maps(["b"]).await;
    probe.server.restore(&snapshot);
    probe.make_maps(["c"]).await;
    probe.server.stop().await;
    let probe = directory.start().await;
    assert_eq!(names(&probe.get(MAPS).await.1), ["a", "c"]);
    assert_eq!(refusal(&probe.get("/api/v1/namespaces/gone").await), (404, "NotFound"));
    probe.server.restart(Versions::Reset);
    let version = probe.server.version();
    probe.server.stop().await;
    assert_eq!(directory.start().await.server.version(), version);
}
