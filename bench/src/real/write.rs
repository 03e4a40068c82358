//! Requests that change something.

use hyper::{Method, Request, header::CONTENT_TYPE};
use kube_client::Client;
use kube_informer_bench_client::seen::{SENT, now};
use serde_json::{Value, json};

/// Where a pod is.
#[derive(Clone, Debug)]
pub(super) struct Pod {
    pub(super) namespace: String,
    pub(super) name: String,
}

impl Pod {
    pub(super) fn path(&self) -> String {
        format!("/api/v1/namespaces/{}/pods/{}", self.namespace, self.name)
    }
}

/// Sends an object; what is there already is fine.
pub(super) async fn send(
    client: &Client,
    (method, path): (Method, &str),
    object: &Value,
) -> Result<(), String> {
    let content = match method {
        Method::PATCH => "application/merge-patch+json",
        _ => "application/json",
    };
    let request = Request::builder().method(method).uri(path).header(CONTENT_TYPE, content);
    let request = request.body(object.to_string().into_bytes()).map_err(|error| error.to_string())?;
    match client.request::<Value>(request).await {
        Ok(_) => Ok(()),
        Err(kube_client::Error::Api(status)) if status.code == 409 => Ok(()),
        Err(error) => Err(format!("{path}: {error}")),
    }
}

/// Writes into a pod when it was written.
pub(super) async fn touch(client: &Client, pod: &Pod) -> Result<(), String> {
    let change = json!({ "metadata": { "annotations": { SENT: now().to_string() } } });
    send(client, (Method::PATCH, &pod.path()), &change).await
}
