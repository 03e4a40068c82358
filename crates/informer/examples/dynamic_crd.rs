//! Watches a custom resource whose kind is known at run time, and which is defined only after the informer was started.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    api::{Api, PostParams},
    core::{ApiResource, DynamicObject, GroupVersionKind},
};
use kube_devserver::DevServer;
use kube_informer::Informers;
use serde_json::json;
use std::time::Duration;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = DevServer::start();
    let kind =
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("example.com", "v1", "Widget"), "widgets");
    let informers = Informers::new(server.client());
    let widgets = informers.with::<DynamicObject>(kind.clone(), |builder| builder.named("widgets"))?;
    informers.start();
    // `synced` returns the reason instead of waiting forever. The informer keeps retrying.
    println!("{}", informers.synced(Duration::from_secs(5)).await.expect_err("widgets are not defined yet"));

    let schema =
        json!({ "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } });
    let version = json!({ "name": "v1", "served": true, "storage": true, "schema": schema });
    let definition: CustomResourceDefinition = serde_json::from_value(json!({
        "metadata": { "name": "widgets.example.com" },
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": { "plural": "widgets", "kind": "Widget" },
            "versions": [version],
        },
    }))?;
    Api::all(server.client()).create(&PostParams::default(), &definition).await?;
    widgets.watch_status().wait_for(|status| status.times.synced.is_some()).await;

    let mut events = widgets.subscribe();
    let widget = DynamicObject::new("first", &kind).data(json!({ "spec": { "size": 3 } }));
    Api::default_namespaced_with(server.client(), &kind).create(&PostParams::default(), &widget).await?;
    if let Some(event) = events.next().await {
        println!("{} has size {}", event.key(), event.object().get().data["spec"]["size"]);
    }
    informers.stop();
    informers.stopped().await;
    Ok(())
}
