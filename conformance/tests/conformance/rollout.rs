//! A rollout by kube-controller-manager is recorded; its past is served to kubectl, and replayed into a controller.

use crate::programs::{CONTROLLERS, Home, INFORMER, KUBECTL, Running};
use jiff::Timestamp;
use k8s_openapi::api::{
    apps::v1::{Deployment, ReplicaSet},
    core::v1::Pod,
};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube_conformance::{Server, eventually, on_both};
use kube_history::{Event, History};
use kube_informer::{
    Informer, Key, Store,
    controller::{Action, Controller, ErrorPolicy},
};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    convert::Infallible,
    path::Path,
    sync::{Arc, Mutex},
};

on_both! {
    shared: [],
    // kube-controller-manager would act on the objects of other tests.
    alone: [the_past_of_a_rollout_is_served_and_replayed],
}

/// The namespace of the test with its recorder.
struct Rollout<'a> {
    server: &'a Server,
    home: &'a Home,
    namespace: String,
}

/// Moments of the recording, with the pods of the server at that time.
struct Moments {
    start: Timestamp,
    /// The first rollout is complete.
    old: Moment,
    /// The second rollout is complete and scaled.
    new: Moment,
    /// All objects are deleted.
    end: Timestamp,
}

struct Moment {
    time: Timestamp,
    pods: BTreeSet<String>,
    replica_set: String,
}

async fn the_past_of_a_rollout_is_served_and_replayed(server: &Server) {
    let home = Home::new(server, "rollout");
    let rollout = Rollout { server, home: &home, namespace: server.namespace().await };
    let dir = home.path().join("history");
    let moments = rollout.record(&dir).await;
    assert!(moments.old.pods.is_disjoint(&moments.new.pods), "the rollout replaces all pods");
    rollout.serve(&dir, &moments).await;
    let (first, second) = (replayed(&dir, &moments).await, replayed(&dir, &moments).await);
    let key = |moment: &Moment| format!("{}/{}", rollout.namespace, moment.replica_set);
    let decisions = |key: &str| -> Vec<&str> {
        first.iter().filter(|(of, _)| of == key).map(|(_, decision)| decision.as_str()).collect()
    };
    // The controller decides as kube-controller-manager did.
    assert_eq!(decisions(&key(&moments.old))[0], "create 3", "{first:#?}");
    assert!(
        decisions(&key(&moments.old)).iter().any(|decision| decision.starts_with("delete")),
        "{first:#?}"
    );
    assert!(
        decisions(&key(&moments.new)).iter().any(|decision| decision.starts_with("create")),
        "{first:#?}"
    );
    for moment in [&moments.old, &moments.new] {
        assert_eq!(decisions(&key(moment)).last(), Some(&"forget"), "{first:#?}");
    }
    assert_eq!(first, second, "a replay makes the same decisions twice");
}

impl Rollout<'_> {
    /// Records while kube-controller-manager rolls out, updates, scales and deletes a Deployment.
    async fn record(&self, dir: &Path) -> Moments {
        let kubeconfig = format!("--kubeconfig={}", self.home.kubeconfig().display());
        let _controllers = self.home.start(
            CONTROLLERS,
            &[
                "kube-controller-manager",
                &kubeconfig,
                "--leader-elect=false",
                "--secure-port=0",
                "--controllers=deployment-controller,replicaset-controller,garbage-collector-controller",
            ],
        );
        let mut recorder = self.home.start(
            INFORMER,
            &[
                "record",
                "pods,deployments,replicasets",
                "-n",
                &self.namespace,
                "--dir",
                dir.to_str().unwrap(),
            ],
        );
        recorder.line("recording 3 resources to ").await;
        self.recorded(dir, "three listed kinds", |history| {
            let gaps = history.gaps().unwrap();
            history.kinds().unwrap().len() == 3 && gaps.iter().all(|gap| gap.to.is_some())
        })
        .await;
        let start = Timestamp::now();
        let kubelet = Kubelet::start(self);
        let deployments: Api<Deployment> = Api::namespaced(self.server.client(), &self.namespace);
        let template = |image: &str| {
            json!({"metadata": {"labels": {"app": "web"}},
                   "spec": {"containers": [{"name": "main", "image": image}]}})
        };
        let spec = json!({"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": template("web:1")});
        let web: Deployment =
            serde_json::from_value(json!({"metadata": {"name": "web"}, "spec": spec})).unwrap();
        deployments.create(&PostParams::default(), &web).await.unwrap();
        let old = self.complete(dir, 3).await;
        let patch = async |patch: Value| {
            deployments.patch("web", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap()
        };
        patch(json!({"spec": {"template": template("web:2")}})).await;
        self.complete(dir, 3).await;
        patch(json!({"spec": {"replicas": 5}})).await;
        let new = self.complete(dir, 5).await;
        deployments.delete("web", &DeleteParams::background()).await.unwrap();
        self.recorded(dir, "the end of all objects", |history| {
            let snapshot = history.at(history.span().unwrap().end).unwrap();
            let kinds = ["pods", "replicasets", "deployments"].map(|name| history.kind(name).unwrap());
            kinds.iter().all(|kind| snapshot.len(*kind) == 0)
        })
        .await;
        let end = Timestamp::now();
        kubelet.stop().await;
        recorder.interrupt().await;
        Moments { start, old, new, end }
    }

    /// Waits until the recording meets a condition.
    async fn recorded(&self, dir: &Path, what: &str, condition: impl Fn(&History) -> bool) {
        eventually(what, async || match History::open(dir) {
            Ok(history) if condition(&history) => Ok(()),
            Ok(_) => Err([CONTROLLERS, INFORMER].map(|program| self.home.errors(program)).concat()),
            Err(error) => Err(error.to_string()),
        })
        .await;
    }

    /// Waits until the rollout is complete and recorded, and returns this moment.
    async fn complete(&self, dir: &Path, replicas: i32) -> Moment {
        let deployments: Api<Deployment> = Api::namespaced(self.server.client(), &self.namespace);
        let version = eventually("a complete rollout", async || {
            let web = deployments.get("web").await.unwrap();
            let status = web.status.unwrap_or_default();
            let is_observed = status.observed_generation == web.metadata.generation;
            let counts = [status.replicas, status.updated_replicas, status.available_replicas];
            if is_observed && counts == [Some(replicas); 3] {
                return Ok(web.metadata.resource_version.unwrap());
            }
            Err(format!("{status:?}\n{}", self.home.errors(CONTROLLERS)))
        })
        .await;
        let pods: Api<Pod> = Api::namespaced(self.server.client(), &self.namespace);
        let pods = pods.list(&ListParams::default().labels("app=web")).await.unwrap().items;
        let names: BTreeSet<String> = pods.iter().filter_map(|pod| pod.metadata.name.clone()).collect();
        assert_eq!(names.len(), usize::try_from(replicas).unwrap(), "{names:?}");
        let owner = pods[0].metadata.owner_references.as_ref().unwrap()[0].name.clone();
        self.recorded(dir, "the recorded rollout", |history| {
            let snapshot = history.at(history.span().unwrap().end).unwrap();
            let key = Key::new(Some(&self.namespace), "web").unwrap();
            let web = snapshot.get(history.kind("deployments").unwrap(), &key).unwrap();
            let recorded = snapshot.keys(history.kind("pods").unwrap());
            web.is_some_and(|web| web.version().unwrap().to_string() == version)
                && recorded.map(|key| key.name().to_owned()).collect::<BTreeSet<_>>() == names
        })
        .await;
        Moment { time: Timestamp::now(), pods: names, replica_set: owner }
    }

    /// Serves three moments, and compares the output of kubectl with the pods of the server at that time.
    async fn serve(&self, dir: &Path, moments: &Moments) {
        for (number, moment) in [&moments.old, &moments.new].into_iter().enumerate() {
            let (server, config) = self.past(dir, moment.time, number).await;
            let kubectl = async |arguments: &[&str]| {
                let past = ["--kubeconfig", &config, "-n", &self.namespace];
                self.home.said(KUBECTL, &[&past[..], arguments].concat()).await
            };
            let pods = kubectl(&["get", "pods", "-l", "app=web", "-o", "name"]).await;
            let shown: BTreeSet<String> =
                pods.lines().map(|line| line.trim_start_matches("pod/").to_owned()).collect();
            assert_eq!(shown, moment.pods);
            let count = moment.pods.len().to_string();
            let table = kubectl(&["get", "replicasets", &moment.replica_set, "--no-headers"]).await;
            let columns: Vec<&str> = table.split_whitespace().collect();
            assert_eq!(columns[..4], [moment.replica_set.as_str(), &count, &count, &count], "{table}");
            let pod = moment.pods.first().unwrap();
            let described = kubectl(&["describe", "pod", pod]).await;
            let image = format!("web:{}", number + 1);
            let images = described.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
            assert!(images.into_iter().any(|words| words == ["Image:", &image]), "{described}");
            assert!(described.contains(&format!("ReplicaSet/{}", moment.replica_set)), "{described}");
            server.interrupt().await;
        }
        let (server, config) = self.past(dir, moments.end, 2).await;
        let none = ["--kubeconfig", &config, "get", "pods,replicasets,deployments", "-A", "-o", "name"];
        assert_eq!(self.home.said(KUBECTL, &none).await, "");
        server.interrupt().await;
    }

    /// Starts `informer devserver` with a moment of the recording; returns it with its kubeconfig.
    async fn past(&self, dir: &Path, time: Timestamp, number: usize) -> (Running, String) {
        let config = self.home.path().join(format!("past-{number}")).to_str().unwrap().to_owned();
        let time = time.to_string();
        let arguments =
            ["devserver", "--listen", "127.0.0.1:0", "--history", dir.to_str().unwrap(), "--at", &time];
        let mut server =
            self.home.start(INFORMER, &[&arguments[..], &["--write-kubeconfig", &config]].concat());
        server.line("listening on ").await;
        (server, config)
    }
}

/// Makes pods ready, as a kubelet does.
struct Kubelet {
    pods: Informer<Pod>,
    handle: kube_informer::controller::ControllerHandle,
    task: tokio::task::JoinHandle<()>,
}

impl Kubelet {
    fn start(rollout: &Rollout<'_>) -> Self {
        let client = rollout.server.client();
        let pods = Informer::<Pod>::builder(client.clone()).namespace(&rollout.namespace).start().unwrap();
        let controller = Controller::new(&pods);
        let handle = controller.handle();
        let api: Arc<Api<Pod>> = Arc::new(Api::namespaced(client, &rollout.namespace));
        let make_ready = async |pod: Arc<Pod>, api: Arc<Api<Pod>>| -> Result<Action, kube::Error> {
            let is_ready = pod.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Running");
            if !is_ready && let Some(name) = &pod.metadata.name {
                let ready = ["Initialized", "Ready", "ContainersReady", "PodScheduled"];
                let conditions = ready.map(|name| json!({"type": name, "status": "True"}));
                let patch = json!({"status": {"phase": "Running", "conditions": conditions}});
                let patched = api.patch_status(name, &PatchParams::default(), &Patch::Merge(patch)).await;
                match patched {
                    Err(kube::Error::Api(status)) if status.code == 404 => {}
                    other => drop(other?),
                }
            }
            Ok(Action::await_change())
        };
        let running = controller.run(make_ready, ErrorPolicy::default(), api);
        let task = tokio::spawn(async { running.await.unwrap() });
        Self { pods, handle, task }
    }

    async fn stop(self) {
        self.handle.stop();
        self.task.await.unwrap();
        self.pods.stop();
        self.pods.stopped().await;
    }
}

/// The key of a ReplicaSet, and the decision of a controller.
type Decision = (String, String);

/// Runs a controller of ReplicaSets on a replay of the recording in paused time, and returns its decisions.
async fn replayed(dir: &Path, moments: &Moments) -> Vec<Decision> {
    let history = History::open(dir).unwrap();
    let range = moments.start..moments.end;
    let pods = history.kind("pods").unwrap();
    let deletions = history.changes(range.clone(), kube_history::Filter::new().kind(pods)).unwrap();
    assert!(deletions.filter(|change| change.as_ref().unwrap().event() == Event::Deleted).count() >= 8);
    // Paused time needs a runtime with one thread.
    tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        runtime.unwrap().block_on(decisions(&history, range))
    })
    .await
    .unwrap()
}

async fn decisions(history: &History, range: std::ops::Range<Timestamp>) -> Vec<Decision> {
    let replay = || history.replay(range.clone());
    let last = |group: &str, plural: &str| {
        let kind = replay().kind(group, "v1", plural).unwrap();
        replay().last_version(kind).unwrap().unwrap()
    };
    let sets = Informer::<ReplicaSet>::from_source(replay()).start().unwrap();
    let pods = Informer::<Pod>::from_source(replay()).start().unwrap();
    let made = Arc::new(Mutex::new(Vec::new()));
    let controller = Controller::new(&sets).owns(&pods);
    let handle = controller.handle();
    let (log, caches) = (Arc::clone(&made), (sets.store().clone(), pods.store().clone()));
    let reconcile = move |key: Key, _: Arc<()>| {
        let decision = decide(&key, &caches.0, &caches.1);
        log.lock().unwrap().push((key.to_string(), decision));
        std::future::ready(Ok::<_, Infallible>(Action::await_change()))
    };
    let running = tokio::spawn(controller.run_by_key(reconcile, ErrorPolicy::default(), Arc::new(())));
    sets.wait_for(&last("apps", "replicasets")).await.unwrap();
    pods.wait_for(&last("", "pods")).await.unwrap();
    handle.idle().await;
    handle.stop();
    running.await.unwrap().unwrap();
    sets.stop();
    pods.stop();
    sets.stopped().await;
    pods.stopped().await;
    let made = made.lock().unwrap();
    made.clone()
}

/// Compares the wanted number of pods with those in the cache, as the controller of ReplicaSets does.
fn decide(key: &Key, sets: &Store<ReplicaSet>, pods: &Store<Pod>) -> String {
    let Some(set) = sets.get(key) else { return "forget".to_owned() };
    let wanted = set.spec.replicas.unwrap_or(1);
    let is_owned = |pod: &Pod| {
        let owners = pod.metadata.owner_references.iter().flatten();
        pod.metadata.deletion_timestamp.is_none()
            && owners.into_iter().any(|owner| Some(&owner.uid) == set.metadata.uid.as_ref())
    };
    let found = pods.list().iter().filter(|pod| is_owned(pod)).count();
    match wanted - i32::try_from(found).unwrap() {
        0 => "nothing".to_owned(),
        missing @ 1.. => format!("create {missing}"),
        surplus => format!("delete {}", -surplus),
    }
}
