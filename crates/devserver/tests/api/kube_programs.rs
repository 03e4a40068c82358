//! Programs over the crate `kube` in the manner of its examples: one that applies a definition and its objects, and a controller that
//! applies a config map for each object.

use futures_util::StreamExt;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::wait::{await_condition, conditions};
use kube::runtime::watcher;
use kube::{Client, ResourceExt};
use kube_devserver::DevServer;
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tokio::time::timeout;

const LIMIT: Duration = Duration::from_secs(60);

fn resource(kind: &str, plural: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("example.com", "v1", kind), plural)
}

/// Applies a definition and waits until its objects are served.
async fn define(client: &Client, kind: &str, plural: &str) -> Api<DynamicObject> {
    let name = format!("{plural}.example.com");
    let schema = json!({
        "type": "object",
        "properties": {
            "spec": { "type": "object", "properties": { "content": { "type": "string" }, "replicas": { "type": "integer" } } },
            "status": { "type": "object", "properties": { "is_ok": { "type": "boolean" } } },
        },
    });
    let version = json!({
        "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema },
        "subresources": { "status": {} },
    });
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": name },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": { "plural": plural, "kind": kind },
            "versions": [version],
        },
    });
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let parameters = PatchParams::apply("crd_apply").force();
    definitions.patch(&name, &parameters, &Patch::Apply(&definition)).await.unwrap();
    let established = await_condition(definitions, &name, conditions::is_crd_established());
    timeout(LIMIT, established).await.unwrap().unwrap();
    Api::default_namespaced_with(client.clone(), &resource(kind, plural))
}

#[tokio::test(start_paused = true)]
async fn a_definition_its_objects_and_their_status_are_applied() {
    let server = DevServer::start();
    let foos = define(&server.client(), "Foo", "foos").await;
    let parameters = PatchParams::apply("crd_apply").force();
    let foo = |spec| json!({ "apiVersion": "example.com/v1", "kind": "Foo", "metadata": { "name": "baz" }, "spec": spec });
    let created = foos
        .patch("baz", &parameters, &Patch::Apply(foo(json!({ "content": "old", "replicas": 3 }))))
        .await
        .unwrap();
    assert_eq!(created.metadata.generation, Some(1));
    // A field that is not applied any more is removed.
    let applied =
        foos.patch("baz", &parameters, &Patch::Apply(foo(json!({ "content": "new" })))).await.unwrap();
    assert_eq!((&applied.data["spec"], applied.metadata.generation), (&json!({ "content": "new" }), Some(2)));
    let same = foos.patch("baz", &parameters, &Patch::Apply(foo(json!({ "content": "new" })))).await.unwrap();
    assert_eq!(same.resource_version(), applied.resource_version());
    let status = json!({ "apiVersion": "example.com/v1", "kind": "Foo", "status": { "is_ok": true } });
    let updated = foos.patch_status("baz", &parameters, &Patch::Apply(status)).await.unwrap();
    assert_eq!((&updated.data["status"], updated.metadata.generation), (&json!({ "is_ok": true }), Some(2)));
}

/// The context of the controller.
struct Context {
    client: Client,
}

/// Applies the config map of a generator.
async fn reconcile(generator: Arc<DynamicObject>, context: Arc<Context>) -> Result<Action, kube::Error> {
    let owner = json!({
        "apiVersion": "example.com/v1", "kind": "Generator", "name": generator.name_any(),
        "uid": generator.metadata.uid, "controller": true,
    });
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": generator.name_any(), "ownerReferences": [owner] },
        "data": { "content": generator.data["spec"]["content"] },
    });
    let maps = Api::<DynamicObject>::default_namespaced_with(context.client.clone(), &config_maps());
    let parameters = PatchParams::apply("generator.example.com").force();
    maps.patch(&generator.name_any(), &parameters, &Patch::Apply(&map)).await?;
    Ok(Action::requeue(Duration::from_secs(300)))
}

fn config_maps() -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("", "v1", "ConfigMap"), "configmaps")
}

#[tokio::test(start_paused = true)]
async fn a_controller_applies_the_config_maps_that_it_owns() {
    let server = DevServer::start();
    let client = server.client();
    let generators = define(&client, "Generator", "generators").await;
    let maps = Api::<DynamicObject>::default_namespaced_with(client.clone(), &config_maps());
    let controller = Controller::new_with(
        generators.clone(),
        watcher::Config::default(),
        resource("Generator", "generators"),
    )
    .owns_with(maps.clone(), config_maps(), watcher::Config::default());
    let retry =
        |_: Arc<DynamicObject>, _: &kube::Error, _: Arc<Context>| Action::requeue(Duration::from_secs(1));
    let run = controller.run(reconcile, retry, Arc::new(Context { client }));
    let running = tokio::spawn(run.for_each(|_| async {}));
    let generator = |content: &str| json!({ "apiVersion": "example.com/v1", "kind": "Generator", "metadata": { "name": "a" }, "spec": { "content": content } });
    let parameters = PatchParams::apply("test").force();
    let has = |content: &'static str| {
        await_condition(maps.clone(), "a", move |map: Option<&DynamicObject>| {
            map.is_some_and(|map| map.data["data"]["content"] == content)
        })
    };
    generators.patch("a", &parameters, &Patch::Apply(generator("first"))).await.unwrap();
    timeout(LIMIT, has("first")).await.unwrap().unwrap();
    generators.patch("a", &parameters, &Patch::Apply(generator("second"))).await.unwrap();
    timeout(LIMIT, has("second")).await.unwrap().unwrap();
    // A change by another manager is corrected.
    let drift = json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": { "content": "drift" } });
    maps.patch("a", &PatchParams::apply("other").force(), &Patch::Apply(drift)).await.unwrap();
    timeout(LIMIT, has("second")).await.unwrap().unwrap();
    generators.delete("a", &DeleteParams::default()).await.unwrap();
    let missing = await_condition(maps.clone(), "a", |map: Option<&DynamicObject>| map.is_none());
    timeout(LIMIT, missing).await.unwrap().unwrap();
    running.abort();
}
