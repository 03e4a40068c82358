//! Objects that a server begins with.

use crate::advice;
use crate::route::Route;
use kube_client::{Api, Client, api::PostParams};
use kube_core::{ApiResource, DynamicObject, GroupVersionKind};
use kube_devserver::corpus::Widgets;
use serde_json::{Value, json};

/// Creates `count` objects of a kind, by its plural. Existing objects are not changed.
pub(crate) async fn create_objects(client: &Client, plural: &str, count: u64) -> anyhow::Result<()> {
    let widgets = Widgets::new(1);
    if plural == "widgets" {
        create(client, Widgets::definition()).await?;
    }
    for index in 0..count {
        let object = match plural {
            "configmaps" => config_map(index),
            "deployments" => deployment(index, 3),
            "nodes" => node(index),
            "services" => service(index),
            "widgets" => widgets.widget(index),
            other => anyhow::bail!("there is no seed of {other}"),
        };
        create(client, object).await?;
    }
    Ok(())
}

/// Returns the API of an object.
pub(crate) fn api(client: &Client, object: &DynamicObject) -> anyhow::Result<Api<DynamicObject>> {
    let types = object.types.clone().unwrap_or_default();
    let resource = ApiResource::from_gvk(&GroupVersionKind::try_from(&types)?);
    Ok(match &object.metadata.namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    })
}

async fn create(client: &Client, object: Value) -> anyhow::Result<()> {
    let mut object: DynamicObject = serde_json::from_value(object)?;
    // The corpus is of objects as they are read.
    object.metadata.resource_version = None;
    object.metadata.uid = None;
    if let Some(namespace) = &object.metadata.namespace {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        put(client, &serde_json::from_value(namespace)?).await?;
    }
    put(client, &object).await
}

async fn put(client: &Client, object: &DynamicObject) -> anyhow::Result<()> {
    match api(client, object)?.create(&PostParams::default(), object).await {
        Ok(_) => Ok(()),
        Err(kube_client::Error::Api(status)) if status.code == 409 => Ok(()),
        Err(error) => Err(advice::of_client(&error, &Route::direct("the devserver")).into()),
    }
}

/// The applications that objects belong to.
const APPLICATIONS: [&str; 12] = [
    "front", "cart", "search", "payments", "mail", "stock", "ledger", "login", "images", "reports", "queue",
    "gateway",
];

/// The namespaces.
const NAMESPACES: [&str; 4] = ["shop", "billing", "platform", "default"];

fn application(index: u64) -> (String, &'static str) {
    let name = APPLICATIONS[index as usize % APPLICATIONS.len()];
    let round = index / APPLICATIONS.len() as u64;
    let name = if round == 0 { name.to_owned() } else { format!("{name}-{round}") };
    (name, NAMESPACES[index as usize % NAMESPACES.len()])
}

/// Returns a deployment with this number of replicas, all of them ready.
pub(crate) fn deployment(index: u64, replicas: u64) -> Value {
    let (name, namespace) = application(index);
    let labels = json!({"app": name});
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": name, "image": format!("registry.example/{name}:1.0.0")}]},
            },
        },
        "status": {"replicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas},
    })
}

fn config_map(index: u64) -> Value {
    let (name, namespace) = application(index);
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": format!("{name}-settings"), "namespace": namespace},
        "data": {"log.level": "info", "workers": "8"},
    })
}

fn service(index: u64) -> Value {
    let (name, namespace) = application(index);
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": {"app": name}, "type": "ClusterIP", "ports": [{"name": "http", "port": 80}]},
    })
}

fn node(index: u64) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": format!("node-{index}")},
        "spec": {"podCIDR": format!("10.{}.0.0/24", index % 256)},
        "status": {"conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]},
    })
}
