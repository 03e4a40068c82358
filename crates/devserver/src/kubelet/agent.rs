//! Watches nodes and pods, and reports their state.

use crate::http::Loopback;
use crate::kubelet::node::{LEASES, NODES, lease, node, report_ready};
use crate::kubelet::status::{PodContext, Step, crash_again, next};
use crate::storage::{CollectionId, End, Position, Selection, Span, head};
use crate::verb::{Cluster, now, now_micro};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::time::{MissedTickBehavior, interval};

/// The interval at which nodes renew their leases, and crashing pods are restarted.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// The number of events that are read at once.
const BATCH: usize = 256;

/// The kubelets of all nodes of a server. They run no containers: pods on a node are reported as running and ready, and pods that are
/// not restarted as completed.
///
/// The annotation `devserver.kube-informer.dev/outcome` of a pod chooses something else: `run`, `not-ready`, `succeed`, `fail`,
/// `crash-loop` or `pending`.
#[derive(Clone, Debug)]
#[must_use = "it does nothing until a server is started with it"]
pub struct Kubelet {
    nodes: usize,
}

impl Kubelet {
    /// Creates this number of nodes, `node-0` and so on, when the server starts. Nodes that are created later have a kubelet too.
    pub fn nodes(nodes: usize) -> Self {
        Self { nodes }
    }
}

/// Runs the kubelets until the task is aborted.
pub(crate) async fn run(kubelet: Kubelet, client: Loopback) {
    for number in 0..kubelet.nodes {
        let reply = client.post(NODES, &node(&format!("node-{number}"))).await;
        if let Some(error) = reply.refusal() {
            tracing::warn!(error, "cannot create a node");
        }
    }
    let cluster = Arc::clone(&client.gateway().cluster);
    let agent = Agent { client, cluster };
    let mut heartbeat = interval(HEARTBEAT);
    heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut addresses = Addresses(0);
    loop {
        // All objects, then changes, until the history is lost.
        let Some(mut reader) = Reader::open(&agent.cluster) else { return };
        agent.report_all(&mut addresses).await;
        loop {
            let changed = reader.changed();
            let Some(objects) = reader.read(&agent.cluster) else { break };
            if !objects.is_empty() {
                for object in &objects {
                    agent.report(object, &mut addresses).await;
                }
                continue;
            }
            tokio::select! {
                () = changed => {}
                _ = heartbeat.tick() => agent.beat(&mut addresses).await,
            }
        }
    }
}

/// Assigns addresses to pods.
struct Addresses(u32);

impl Addresses {
    fn next(&mut self) -> String {
        self.0 = (self.0 + 1) % (1 << 16);
        let [.., high, low] = self.0.to_be_bytes();
        format!("10.244.{high}.{low}")
    }
}

struct Agent {
    client: Loopback,
    cluster: Arc<Cluster>,
}

impl Agent {
    async fn report_all(&self, addresses: &mut Addresses) {
        for plural in ["nodes", "pods"] {
            for object in self.all(plural) {
                self.report(&object, addresses).await;
            }
        }
    }

    /// Reports the state of a node or a pod, if there is something new.
    async fn report(&self, object: &Value, addresses: &mut Addresses) {
        match object["kind"].as_str() {
            Some("Node") => self.report_node(object).await,
            _ => self.report_pod(object, addresses).await,
        }
    }

    async fn report_node(&self, node: &Value) {
        let mut next = node.clone();
        if report_ready(&mut next, &now()) {
            let path = format!("{NODES}/{}/status", text(node, "/metadata/name"));
            // After a conflict, the change of the other client is the next event.
            let _ = self.client.put(&path, &next).await;
            self.renew(node).await;
        }
    }

    async fn report_pod(&self, pod: &Value, addresses: &mut Addresses) {
        if text(pod, "/spec/nodeName").is_empty() {
            return;
        }
        let path = pod_path(pod);
        if !text(pod, "/metadata/deletionTimestamp").is_empty() {
            let uid = &pod["metadata"]["uid"];
            let options = json!({ "gracePeriodSeconds": 0, "preconditions": { "uid": uid } });
            let _ = self.client.delete(&path, &options).await;
            return;
        }
        let address = addresses.next();
        if let Step::Report(status) = next(pod, PodContext { address: &address, now: &now() }) {
            self.write(pod, status).await;
        }
    }

    async fn write(&self, pod: &Value, status: Value) {
        let mut next = pod.clone();
        next["status"] = status;
        let _ = self.client.put(&format!("{}/status", pod_path(pod)), &next).await;
    }

    /// Renews the leases of all nodes, and restarts what crashes.
    async fn beat(&self, addresses: &mut Addresses) {
        for node in self.all("nodes") {
            self.renew(&node).await;
        }
        for pod in self.all("pods") {
            let address = addresses.next();
            let status = crash_again(&pod, PodContext { address: &address, now: &now() });
            if let Some(status) = status {
                self.write(&pod, status).await;
            }
        }
    }

    async fn renew(&self, node: &Value) {
        let name = text(node, "/metadata/name");
        let lease = lease(name, text(node, "/metadata/uid"), &now_micro());
        let reply = self.client.apply(&format!("{LEASES}/{name}"), &lease).await;
        if let Some(error) = reply.refusal() {
            tracing::debug!(node = name, error, "cannot renew the lease of a node");
        }
    }

    /// Returns all objects of a resource of the core group.
    fn all(&self, plural: &str) -> Vec<Value> {
        let Some(resource) = self.cluster.registry().resource("", "v1", plural).cloned() else {
            return Vec::new();
        };
        let collection = CollectionId::from(resource.storage());
        let page = self.cluster.store.list(&collection, &Selection::everything(None), &Span::default());
        let head = head(&resource.api_version(), &resource.kind);
        page.map(|page| page.records.iter().map(|record| record.to_value(&head)).collect())
            .unwrap_or_default()
    }
}

/// Reads the changes of nodes and pods.
struct Reader {
    nodes: Position,
    pods: Position,
    nodes_changed: Arc<tokio::sync::Notify>,
    pods_changed: Arc<tokio::sync::Notify>,
}

impl Reader {
    fn open(cluster: &Cluster) -> Option<Self> {
        let (nodes, nodes_changed) = cluster.store.follow(&CollectionId::from(("", "nodes")), None).ok()?;
        let (pods, pods_changed) = cluster.store.follow(&CollectionId::from(("", "pods")), None).ok()?;
        Some(Self { nodes, pods, nodes_changed, pods_changed })
    }

    /// Waits for a change after this call.
    fn changed(&self) -> impl Future<Output = ()> + use<> {
        let nodes = Arc::clone(&self.nodes_changed).notified_owned();
        let pods = Arc::clone(&self.pods_changed).notified_owned();
        async move {
            tokio::select! {
                () = nodes => {}
                () = pods => {}
            }
        }
    }

    /// Returns the objects that have changed and still exist; `None` if the history is lost.
    fn read(&mut self, cluster: &Cluster) -> Option<Vec<Value>> {
        let mut objects = Vec::new();
        for (plural, kind, position) in [("nodes", "Node", &mut self.nodes), ("pods", "Pod", &mut self.pods)]
        {
            let batch = cluster.store.events(&CollectionId::from(("", plural)), *position, BATCH).ok()?;
            *position = batch.position;
            let head = head("v1", kind);
            let present = batch.events.iter().filter(|event| event.end == End::Present);
            objects.extend(present.map(|event| event.record.to_value(&head)));
        }
        Some(objects)
    }
}

fn pod_path(pod: &Value) -> String {
    format!("/api/v1/namespaces/{}/pods/{}", text(pod, "/metadata/namespace"), text(pod, "/metadata/name"))
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
