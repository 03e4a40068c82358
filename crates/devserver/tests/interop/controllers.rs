//! kube-controller-manager and kube-scheduler, unmodified, run against the server with the built-in kubelet.

use crate::{child::Running, cluster::Cluster, folder::Folder};
use futures_util::TryStreamExt;
use kube::{Client, core::WatchEvent};
use kube_devserver::{Controllers, DevServer, Kubelet};
use serde_json::{Value, json};
use std::{path::PathBuf, pin::pin, process::Command, time::Duration};
use tokio::time::timeout;

/// Far more than any step takes on a slow machine.
const LIMIT: Duration = Duration::from_secs(120);

/// A server with controllers, a scheduler and nodes.
struct Workload {
    cluster: Cluster,
    programs: Vec<Running>,
    _folder: Folder,
}

impl Workload {
    fn start() -> Self {
        let builder = DevServer::builder().controllers(Controllers::None).kubelet(Kubelet::nodes(2));
        let cluster = Cluster::start_as(builder);
        let folder = Folder::new();
        let kubeconfig = folder.write("kubeconfig", &cluster.kubeconfig());
        let program = PathBuf::from(std::env::var_os("INTEROP_CONTROLLERS").expect("xtask sets it"));
        let start = |name: &str, more: &[&str]| {
            let mut command = Command::new(&program);
            command.arg(name).arg(format!("--kubeconfig={}", kubeconfig.display()));
            command.args([
                "--leader-elect=false",
                "--secure-port=0",
                "--kube-api-qps=500",
                "--kube-api-burst=500",
            ]);
            Running::start(command.args(more), folder.path().join(format!("{name}.log")))
        };
        let programs = vec![
            start("kube-controller-manager", &["--controllers=*,-node-ipam-controller"]),
            start("kube-scheduler", &[]),
        ];
        Self { cluster, programs, _folder: folder }
    }

    fn client(&self) -> Client {
        self.cluster.client.clone()
    }

    fn ask(&self, request: http::Request<Vec<u8>>) -> Value {
        match self.cluster.wait(self.client().request::<Value>(request)) {
            Ok(answer) => answer,
            Err(kube::Error::Api(status)) => {
                json!({ "kind": "Status", "code": status.code, "message": status.message })
            }
            Err(error) => panic!("{error:?}"),
        }
    }

    fn get(&self, path: &str) -> Value {
        self.ask(http::Request::get(path).body(Vec::new()).unwrap())
    }

    fn delete(&self, path: &str) -> Value {
        self.ask(http::Request::delete(path).body(Vec::new()).unwrap())
    }

    fn create(&self, path: &str, object: &Value) {
        let request = http::Request::post(path).header("content-type", "application/json");
        let answer = self.ask(request.body(object.to_string().into_bytes()).unwrap());
        assert_ne!(answer["kind"], "Status", "{answer}");
    }

    fn patch(&self, path: &str, patch: &Value) {
        let request = http::Request::patch(path).header("content-type", "application/merge-patch+json");
        let answer = self.ask(request.body(patch.to_string().into_bytes()).unwrap());
        assert_ne!(answer["kind"], "Status", "{answer}");
    }

    /// Waits until what is at a path is as wanted.
    fn until(&self, path: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let found = self.cluster.wait(async { timeout(LIMIT, self.follow(path, is_wanted)).await });
        found.unwrap_or_else(|_| {
            let logs = self.programs.iter().map(Running::errors);
            let tail = |log: String| log.lines().rev().take(30).collect::<Vec<_>>().join("\n");
            panic!("{path} is not as wanted: {:#}\n{:#?}", self.get(path), logs.map(tail).collect::<Vec<_>>())
        })
    }

    /// Watches what is at a path; a deleted object is a status with the code 404.
    async fn follow(&self, path: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let (folder, name) = path.rsplit_once('/').unwrap();
        let watch = format!("{folder}?watch=1&fieldSelector=metadata.name%3D{name}");
        let request = http::Request::get(watch).body(Vec::new()).unwrap();
        let mut events = pin!(self.client().request_events::<Value>(request).await.unwrap());
        // The object may have been deleted before the watch began.
        let present =
            self.client().request::<Value>(http::Request::get(path).body(Vec::new()).unwrap()).await;
        let missing = json!({ "kind": "Status", "code": 404 });
        if present.is_err() && is_wanted(&missing) {
            return missing;
        }
        while let Some(event) = events.try_next().await.unwrap() {
            let object = match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => object,
                WatchEvent::Deleted(_) => missing.clone(),
                WatchEvent::Bookmark(_) => continue,
                WatchEvent::Error(status) => panic!("{path}: {status:?}"),
            };
            if is_wanted(&object) {
                return object;
            }
        }
        panic!("the watch of {path} has ended")
    }
}

fn template(app: &str, image: &str) -> Value {
    json!({
        "metadata": { "labels": { "app": app } },
        "spec": { "containers": [{ "name": "main", "image": image }] },
    })
}

fn selector(app: &str) -> Value {
    json!({ "matchLabels": { "app": app } })
}

fn items(list: &Value) -> Vec<Value> {
    list["items"].as_array().cloned().unwrap_or_default()
}

const APPS: &str = "/apis/apps/v1/namespaces/work";
const PODS: &str = "/api/v1/namespaces/work/pods";

#[test]
fn the_controllers_of_kubernetes_run_on_the_server() {
    let work = Workload::start();
    work.create("/api/v1/namespaces", &json!({ "metadata": { "name": "work" } }));
    rolls_out_scales_and_rolls_back(&work);
    completes_a_job(&work);
    starts_a_stateful_set_in_order(&work);
    follows_nodes_with_a_daemon_set(&work);
    deletes_the_namespace_with_everything(&work);
}

fn rolls_out_scales_and_rolls_back(work: &Workload) {
    let web = format!("{APPS}/deployments/web");
    let spec = json!({ "replicas": 3, "selector": selector("web"), "template": template("web", "web:1") });
    work.create(&format!("{APPS}/deployments"), &json!({ "metadata": { "name": "web" }, "spec": spec }));
    let is_complete = |count: u64| {
        move |deployment: &Value| {
            let status = &deployment["status"];
            status["observedGeneration"] == deployment["metadata"]["generation"]
                && ["replicas", "updatedReplicas", "availableReplicas"]
                    .iter()
                    .all(|field| status[*field] == count)
        }
    };
    work.until(&web, is_complete(3));
    let images = || {
        let pods = items(&work.get(&format!("{PODS}?labelSelector=app%3Dweb")));
        let live = pods.iter().filter(|pod| pod["metadata"]["deletionTimestamp"].is_null());
        live.map(|pod| pod["spec"]["containers"][0]["image"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(images(), ["web:1"; 3]);
    work.patch(&web, &json!({ "spec": { "replicas": 5 } }));
    work.until(&web, is_complete(5));
    work.patch(&web, &json!({ "spec": { "template": template("web", "web:2") } }));
    work.until(&web, is_complete(5));
    assert_eq!(images(), ["web:2"; 5]);
    // A rollback is an update to the template of an older replica set, as kubectl rollout undo does.
    work.patch(&web, &json!({ "spec": { "template": template("web", "web:1") } }));
    work.until(&web, is_complete(5));
    assert_eq!(images(), ["web:1"; 5]);
    let sets = items(&work.get(&format!("{APPS}/replicasets")));
    assert_eq!(sets.len(), 2, "the rollback uses the first replica set again");
    work.patch(&web, &json!({ "spec": { "replicas": 1 } }));
    work.until(&web, is_complete(1));
}

fn completes_a_job(work: &Workload) {
    let jobs = "/apis/batch/v1/namespaces/work/jobs";
    let mut template = template("sum", "sum:1");
    template["spec"]["restartPolicy"] = "Never".into();
    let spec = json!({ "completions": 3, "parallelism": 2, "template": template });
    work.create(jobs, &json!({ "metadata": { "name": "sum" }, "spec": spec }));
    let job = work.until(&format!("{jobs}/sum"), |job| {
        let conditions = job["status"]["conditions"].as_array();
        conditions.into_iter().flatten().any(|one| one["type"] == "Complete" && one["status"] == "True")
    });
    assert_eq!(job["status"]["succeeded"], 3, "{job}");
}

fn starts_a_stateful_set_in_order(work: &Workload) {
    let spec = json!({
        "replicas": 3, "serviceName": "db", "selector": selector("db"), "template": template("db", "db:1"),
    });
    work.create(&format!("{APPS}/statefulsets"), &json!({ "metadata": { "name": "db" }, "spec": spec }));
    work.until(&format!("{APPS}/statefulsets/db"), |set| set["status"]["readyReplicas"] == 3);
    let mut pods = items(&work.get(&format!("{PODS}?labelSelector=app%3Ddb")));
    let number = |pod: &Value, pointer: &str| pod.pointer(pointer).unwrap().as_str().unwrap().to_owned();
    pods.sort_by_key(|pod| number(pod, "/metadata/name"));
    let names: Vec<_> = pods.iter().map(|pod| number(pod, "/metadata/name")).collect();
    assert_eq!(names, ["db-0", "db-1", "db-2"]);
    let created: Vec<_> = pods.iter().map(|pod| number(pod, "/metadata/creationTimestamp")).collect();
    assert!(created.is_sorted(), "{created:?}");
}

fn follows_nodes_with_a_daemon_set(work: &Workload) {
    let spec = json!({ "selector": selector("log"), "template": template("log", "log:1") });
    work.create(&format!("{APPS}/daemonsets"), &json!({ "metadata": { "name": "log" }, "spec": spec }));
    let is_on = |count: u64| {
        move |set: &Value| {
            set["status"]["numberReady"] == count && set["status"]["desiredNumberScheduled"] == count
        }
    };
    let set = format!("{APPS}/daemonsets/log");
    work.until(&set, is_on(2));
    work.create("/api/v1/nodes", &json!({ "metadata": { "name": "extra" } }));
    work.until(&set, is_on(3));
    work.delete("/api/v1/nodes/extra");
    work.until(&set, |set| set["status"]["desiredNumberScheduled"] == 2);
}

fn deletes_the_namespace_with_everything(work: &Workload) {
    work.delete("/api/v1/namespaces/work");
    work.until("/api/v1/namespaces/work", |namespace| namespace["code"] == 404);
    for path in
        ["/api/v1/pods", "/apis/apps/v1/deployments", "/apis/apps/v1/replicasets", "/apis/batch/v1/jobs"]
    {
        assert_eq!(items(&work.get(path)), [] as [Value; 0], "{path}");
    }
}
