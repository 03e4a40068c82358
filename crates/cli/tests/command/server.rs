//! A server on loopback, with objects that a test makes.

use crate::folder::folder;
use kube_client::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use kube_core::{ApiResource, DynamicObject, GroupVersionKind};
use kube_devserver::{Builder, DevServer};
use serde_json::{Value, json};
use std::path::PathBuf;

/// A server, and the kubeconfig that leads to it.
pub(crate) struct Cluster {
    pub(crate) server: DevServer,
    pub(crate) kubeconfig: PathBuf,
}

impl Cluster {
    pub(crate) async fn start() -> Self {
        Self::of(DevServer::builder()).await
    }

    pub(crate) async fn of(builder: Builder) -> Self {
        let server = builder.listen("127.0.0.1:0").start().await.unwrap();
        let kubeconfig = folder().join("kubeconfig");
        std::fs::write(&kubeconfig, server.kubeconfig().unwrap()).unwrap();
        Self { server, kubeconfig }
    }

    pub(crate) fn url(&self) -> String {
        self.server.url().unwrap()
    }

    /// The path of the kubeconfig, as an argument.
    pub(crate) fn config(&self) -> &str {
        self.kubeconfig.to_str().unwrap()
    }

    fn client(&self) -> Client {
        self.server.client()
    }

    pub(crate) async fn create(&self, object: Value) {
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        if let Some(name) = object.metadata.namespace.clone().filter(|name| name != "default") {
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            let namespace: DynamicObject = serde_json::from_value(namespace).unwrap();
            // It may be there already.
            let _ = self.api(&namespace).create(&PostParams::default(), &namespace).await;
        }
        self.api(&object).create(&PostParams::default(), &object).await.unwrap();
    }

    pub(crate) async fn patch(&self, object: &Value, change: Value) {
        let object: DynamicObject = serde_json::from_value(object.clone()).unwrap();
        let (name, params) = (object.metadata.name.clone().unwrap(), PatchParams::default());
        if change.get("status").is_some() {
            self.api(&object).patch_status(&name, &params, &Patch::Merge(&change)).await.unwrap();
        } else {
            self.api(&object).patch(&name, &params, &Patch::Merge(&change)).await.unwrap();
        }
    }

    pub(crate) async fn delete(&self, object: &Value) {
        let object: DynamicObject = serde_json::from_value(object.clone()).unwrap();
        let name = object.metadata.name.clone().unwrap();
        self.api(&object).delete(&name, &DeleteParams::default().grace_period(0)).await.unwrap();
    }

    fn api(&self, object: &DynamicObject) -> Api<DynamicObject> {
        let gvk = GroupVersionKind::try_from(object.types.as_ref().unwrap()).unwrap();
        let resource = ApiResource::from_gvk(&gvk);
        match &object.metadata.namespace {
            Some(namespace) => Api::namespaced_with(self.client(), namespace, &resource),
            None => Api::all_with(self.client(), &resource),
        }
    }
}

pub(crate) fn pod(namespace: &str, name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"namespace": namespace, "name": name, "labels": {"app": name}},
        "spec": {"nodeName": "node-7", "containers": [{"name": "main", "image": "example/main:1"}]},
        "status": {"phase": "Pending"},
    })
}

pub(crate) fn deployment(namespace: &str, name: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": name}}, "template": {
            "metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "main", "image": "example/main:1"}]},
        }},
    })
}
