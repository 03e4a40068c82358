//! Programs of other projects and of their libraries, unmodified: the sample controller of client-go, a controller of controller-runtime, and
//! the SDK of Helm.

use crate::{child::Running, cluster::Cluster, folder::Folder};
use kube_devserver::{Controllers, DevServer};
use serde_json::{Value, json};
use std::{
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

/// Far more than any step takes on a slow machine.
const LIMIT: Duration = Duration::from_secs(60);

/// The interval in which an object is read.
const POLL: Duration = Duration::from_millis(20);

/// A server with one program.
struct Scene {
    cluster: Cluster,
    program: Running,
    _folder: Folder,
}

impl Scene {
    /// Starts a server, prepares it, and starts a program with arguments before those for the kubeconfig.
    fn start(name: &str, arguments: &[&str], prepare: impl FnOnce(&Cluster)) -> Self {
        let cluster = Cluster::start_as(DevServer::builder().controllers(Controllers::BuiltIn));
        prepare(&cluster);
        let folder = Folder::new();
        let kubeconfig = folder.write("kubeconfig", &cluster.kubeconfig());
        let programs = PathBuf::from(std::env::var_os("INTEROP_PROGRAMS").expect("xtask sets it"));
        let mut command = Command::new(programs.join(format!("{name}{}", std::env::consts::EXE_SUFFIX)));
        command.args(arguments).env("KUBECONFIG", &kubeconfig).env("HOME", folder.path());
        if name == "sample-controller" {
            command.arg(format!("--kubeconfig={}", kubeconfig.display()));
        }
        let program = Running::start(&mut command, folder.path().join(format!("{name}.log")));
        Self { cluster, program, _folder: folder }
    }

    /// Waits until the object at a path is as expected; `Null` is one that does not exist.
    fn until(&self, path: &str, is_expected: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + LIMIT;
        let mut pace = self.cluster.wait(async { tokio::time::interval(POLL) });
        loop {
            let object = get(&self.cluster, path);
            if is_expected(&object) {
                return object;
            }
            assert!(Instant::now() < deadline, "{path} is {object:#}; {}", self.program.errors());
            self.cluster.wait(pace.tick());
        }
    }
}

fn send(cluster: &Cluster, method: &str, media: &str, (path, body): (&str, &Value)) -> Value {
    let request = http::Request::builder().method(method).uri(path).header("content-type", media);
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    match cluster.wait(cluster.client.clone().request::<Value>(request.body(body).unwrap())) {
        Ok(answer) => answer,
        Err(kube::Error::Api(status)) if status.code == 404 => Value::Null,
        Err(error) => panic!("{method} {path}: {error:?}"),
    }
}

fn get(cluster: &Cluster, path: &str) -> Value {
    send(cluster, "GET", "application/json", (path, &Value::Null))
}

fn create(cluster: &Cluster, path: &str, object: &Value) -> Value {
    send(cluster, "POST", "application/json", (path, object))
}

fn merge(cluster: &Cluster, path: &str, patch: &Value) -> Value {
    send(cluster, "PATCH", "application/merge-patch+json", (path, patch))
}

fn delete(cluster: &Cluster, path: &str) -> Value {
    send(cluster, "DELETE", "application/json", (path, &Value::Null))
}

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

/// The definition among the examples of the sample controller, as JSON.
fn foos() -> Value {
    let spec = json!({ "type": "object", "properties": {
        "deploymentName": { "type": "string" },
        "replicas": { "type": "integer", "minimum": 1, "maximum": 10 },
    } });
    let status = json!({ "type": "object", "properties": { "availableReplicas": { "type": "integer" } } });
    let schema = json!({ "type": "object", "properties": { "spec": spec, "status": status } });
    json!({
        "metadata": {
            "name": "foos.samplecontroller.k8s.io",
            "annotations": { "api-approved.kubernetes.io": "unapproved, an example" },
        },
        "spec": {
            "group": "samplecontroller.k8s.io", "scope": "Namespaced",
            "names": { "kind": "Foo", "plural": "foos" },
            "versions": [{
                "name": "v1alpha1", "served": true, "storage": true, "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": schema },
            }],
        },
    })
}

#[test]
fn the_sample_controller_reconciles() {
    const FOOS: &str = "/apis/samplecontroller.k8s.io/v1alpha1/namespaces/default/foos";
    let scene = Scene::start("sample-controller", &["-v=4"], |cluster| {
        create(cluster, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &foos());
    });
    let foo = json!({
        "apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo",
        "metadata": { "name": "example" }, "spec": { "deploymentName": "web", "replicas": 2 },
    });
    let foo = create(&scene.cluster, FOOS, &foo);
    let (path, deployment) = (format!("{FOOS}/example"), format!("{DEPLOYMENTS}/web"));
    let created = scene.until(&deployment, |found| found["spec"]["replicas"] == 2);
    assert_eq!(created["metadata"]["ownerReferences"][0]["uid"], foo["metadata"]["uid"]);
    assert_eq!(created["metadata"]["ownerReferences"][0]["controller"], true);
    // The controller updates the deployment with its own field manager.
    merge(&scene.cluster, &path, &json!({ "spec": { "replicas": 3 } }));
    scene.until(&deployment, |found| found["spec"]["replicas"] == 3);
    merge(
        &scene.cluster,
        &format!("{deployment}/status"),
        &json!({ "status": { "availableReplicas": 1, "readyReplicas": 1, "replicas": 1 } }),
    );
    scene.until(&path, |found| found["status"]["availableReplicas"] == 1);
    let is_synced = |list: &Value| {
        let events = list["items"].as_array().into_iter().flatten();
        events
            .filter(|event| event["involvedObject"]["name"] == "example")
            .any(|event| event["reason"] == "Synced")
    };
    scene.until("/api/v1/namespaces/default/events", is_synced);
    // The garbage collector deletes the deployment with its owner.
    delete(&scene.cluster, &path);
    scene.until(&deployment, Value::is_null);
}

#[test]
fn a_controller_of_controller_runtime_reconciles() {
    let scene = Scene::start("replicas", &[], |_| {});
    let deployment = json!({
        "metadata": { "name": "web" },
        "spec": {
            "replicas": 2, "selector": { "matchLabels": { "app": "web" } },
            "template": {
                "metadata": { "labels": { "app": "web" } },
                "spec": { "containers": [{ "name": "web", "image": "web:1" }] },
            },
        },
    });
    let created = create(&scene.cluster, DEPLOYMENTS, &deployment);
    let (path, set) = (format!("{DEPLOYMENTS}/web"), "/apis/apps/v1/namespaces/default/replicasets/web");
    let config = "/api/v1/namespaces/default/configmaps/web";
    let found = scene.until(set, |found| found["spec"]["replicas"] == 2);
    assert_eq!(found["metadata"]["ownerReferences"][0]["uid"], created["metadata"]["uid"]);
    let found = scene.until(config, |found| found["data"]["replicas"] == "2");
    let manager = &found["metadata"]["managedFields"][0];
    assert_eq!((&manager["manager"], &manager["operation"]), (&json!("replicas"), &json!("Apply")));
    let is_observed =
        |found: &Value| found["status"]["observedGeneration"] == found["metadata"]["generation"];
    scene.until(&path, |found| found["status"]["replicas"] == 2 && is_observed(found));
    let lease =
        get(&scene.cluster, "/apis/coordination.k8s.io/v1/namespaces/default/leases/replicas.example.com");
    assert!(lease["spec"]["holderIdentity"].is_string(), "{lease}");

    merge(&scene.cluster, &path, &json!({ "spec": { "replicas": 4 } }));
    scene.until(set, |found| found["spec"]["replicas"] == 4);
    scene.until(config, |found| found["data"]["replicas"] == "4");
    scene.until(&path, |found| found["status"]["replicas"] == 4 && is_observed(found));
    // A deleted replica set is created again.
    let first = delete(&scene.cluster, set);
    assert!(!first.is_null());
    scene.until(set, |found| found["spec"]["replicas"] == 4);
    // The finalizer removes the config map, and the garbage collector the replica set.
    delete(&scene.cluster, &path);
    scene.until(&path, Value::is_null);
    assert_eq!(get(&scene.cluster, config), Value::Null);
    scene.until(set, Value::is_null);
}

#[test]
fn helm_installs_upgrades_rolls_back_and_uninstalls_a_chart() {
    let chart = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../interop/programs/release/chart");
    let mut scene = Scene::start("release", &[chart.to_str().unwrap()], |_| {});
    let line = |scene: &Scene| scene.program.line().unwrap_or_else(|| panic!("{}", scene.program.errors()));
    let color = |scene: &Scene, expected: &str| {
        let deployment = get(&scene.cluster, "/apis/apps/v1/namespaces/shops/deployments/shop");
        assert_eq!(deployment["spec"]["template"]["spec"]["containers"][0]["env"][0]["value"], expected);
        let banner = get(&scene.cluster, "/apis/shop.example.com/v1/namespaces/shops/banners/shop");
        assert_eq!((&banner["spec"]["color"], &banner["spec"]["size"]), (&json!(expected), &json!(3)));
        deployment
    };
    let service = "/api/v1/namespaces/shops/services/shop";

    assert_eq!(line(&scene), "revision 1: deployed");
    let deployment = color(&scene, "red");
    assert_eq!(deployment["metadata"]["annotations"]["meta.helm.sh/release-name"], "shop");
    let address = get(&scene.cluster, service)["spec"]["clusterIP"].clone();
    assert!(address.is_string(), "{address}");
    let hook = get(&scene.cluster, "/api/v1/namespaces/shops/configmaps/shop-last-release");
    assert_eq!(hook["data"]["revision"], "1");

    scene.program.send("next");
    assert_eq!(line(&scene), "revision 2: deployed");
    let upgraded = color(&scene, "blue");
    assert_eq!(upgraded["metadata"]["uid"], deployment["metadata"]["uid"]);
    assert_eq!(upgraded["metadata"]["generation"], 2);
    assert_eq!(get(&scene.cluster, service), Value::Null);
    let hook = get(&scene.cluster, "/api/v1/namespaces/shops/configmaps/shop-last-release");
    assert_eq!(hook["data"]["revision"], "2");

    scene.program.send("next");
    assert_eq!(line(&scene), "rolled back");
    color(&scene, "red");
    assert!(get(&scene.cluster, service)["spec"]["clusterIP"].is_string());

    scene.program.send("next");
    assert_eq!(line(&scene), "uninstalled");
    for path in [
        service,
        "/apis/apps/v1/namespaces/shops/deployments/shop",
        "/api/v1/namespaces/shops/secrets/shop-color",
    ] {
        assert_eq!(get(&scene.cluster, path), Value::Null, "{path}");
    }
    let releases = get(&scene.cluster, "/api/v1/namespaces/shops/secrets?labelSelector=owner%3Dhelm");
    assert_eq!(releases["items"], json!([]));
    // Helm does not remove definitions.
    assert!(
        !get(
            &scene.cluster,
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/banners.shop.example.com"
        )
        .is_null()
    );
    let (status, _) = scene.program.end();
    assert!(status.success());
}
