//! Creates the pods of the corpus.

use futures_util::{StreamExt, TryStreamExt, stream};
use hyper::Method;
use kube_client::Client;
use kube_devserver::corpus::Pods;
use kube_informer_bench_client::seen::SENT;
use serde_json::{Value, json};

use super::write::{Pod, send};

/// So many requests are under way at most.
const AT_ONCE: usize = 16;

/// Creates namespaces and pods, and says where each pod is.
pub(super) async fn load(client: &Client, count: u64, seed: u64) -> Result<Vec<Pod>, String> {
    for namespace in Pods::namespaces() {
        let object = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } });
        send(client, (Method::POST, "/api/v1/namespaces"), &object).await?;
    }
    let pods = Pods::new(seed);
    let create = |index: u64| {
        let object = pods.pod(index);
        async move { create(client, object).await }
    };
    stream::iter(0..count).map(create).buffered(AT_ONCE).try_collect().await
}

async fn create(client: &Client, mut object: Value) -> Result<Pod, String> {
    let word = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    let pod = Pod { namespace: word("/metadata/namespace"), name: word("/metadata/name") };
    let status = json!({ "status": object["status"].take() });
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for name in ["uid", "resourceVersion", "managedFields", "creationTimestamp", "generation"] {
            metadata.remove(name);
        }
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
        annotations[SENT] = "00000000000000000000".into();
    }
    if let Some(spec) = object["spec"].as_object_mut() {
        // The classes are not in an empty cluster, and the numbers are theirs.
        for name in ["priorityClassName", "priority", "preemptionPolicy"] {
            spec.remove(name);
        }
    }
    let all = format!("/api/v1/namespaces/{}/pods?fieldManager=kube-controller-manager", pod.namespace);
    send(client, (Method::POST, &all), &object).await?;
    // A server starts a pod with a status of its own.
    let path = format!("{}/status?fieldManager=kubelet", pod.path());
    send(client, (Method::PATCH, &path), &status).await?;
    Ok(pod)
}
