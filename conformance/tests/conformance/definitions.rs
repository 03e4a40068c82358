//! Custom resources that are defined and deleted while an informer runs.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    api::{
        Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams,
        PostParams,
    },
    core::PartialObjectMeta,
};
use kube_conformance::{CheckedInformer, Server, claims, eventually, strategies};
use kube_informer::source::ListWatch;
use serde_json::json;
use std::sync::atomic::{AtomicU64, Ordering};

claims! {
    shared: [
        a_kind_that_is_defined_later_is_cached_from_then_on,
        a_definition_is_deleted_after_its_objects,
    ],
    alone: [],
}

/// Returns a definition with a unique name.
fn definition() -> (CustomResourceDefinition, ApiResource) {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let (plural, kind) = (format!("widgets{number}"), format!("Widget{number}"));
    let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let definition = json!({
        "metadata": { "name": format!("{plural}.example.com") },
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": { "plural": plural, "singular": kind.to_lowercase(), "kind": kind },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
        },
    });
    let kind = GroupVersionKind::gvk("example.com", "v1", &kind);
    (serde_json::from_value(definition).unwrap(), ApiResource::from_gvk_with_plural(&kind, &plural))
}

async fn a_kind_that_is_defined_later_is_cached_from_then_on(server: &Server) {
    let (namespace, client) = (server.namespace().await, server.client());
    let (definition, resource) = definition();
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let widgets: Api<DynamicObject> = Api::namespaced_with(client.clone(), &namespace, &resource);
    let informers = strategies().map(|config| {
        let source = ListWatch::<DynamicObject>::dynamic(client.clone(), Some(&namespace), &resource);
        CheckedInformer::start(source, config)
    });
    let source =
        ListWatch::<PartialObjectMeta<DynamicObject>>::for_kind(client.clone(), Some(&namespace), &resource);
    let metadata = CheckedInformer::start(source, strategies()[0].clone());
    for informer in &informers {
        informer.failed_with("not_found").await;
    }
    let made = definitions.create(&PostParams::default(), &definition).await.unwrap();
    let widget = DynamicObject::new("first", &resource).data(json!({ "spec": { "size": 1 } }));
    // A definition is served a moment after it is created.
    eventually("a widget", async || {
        widgets.create(&PostParams::default(), &widget).await.map_err(|error| error.to_string())
    })
    .await;
    for informer in &informers {
        informer.settled(&widgets, &ListParams::default()).await;
        assert_eq!(informer.store.list()[0].data["spec"]["size"], 1);
    }
    metadata.until("the metadata", |store| store.len() == 1).await;
    let name = made.metadata.name.unwrap();
    definitions.delete(&name, &DeleteParams::default()).await.unwrap();
    // After the deletion of the definition, requests fail, or the list is empty.
    for informer in informers {
        informer
            .until("the end of the widgets", |store| {
                store.is_empty() || informer.reports().iter().any(|report| report.contains("not_found"))
            })
            .await;
        informer.stop().await;
    }
    metadata.stop().await;
}

async fn a_definition_is_deleted_after_its_objects(server: &Server) {
    let (namespace, client) = (server.namespace().await, server.client());
    let (definition, resource) = definition();
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let widgets: Api<DynamicObject> = Api::namespaced_with(client.clone(), &namespace, &resource);
    let name = definition.metadata.name.clone().unwrap();
    definitions.create(&PostParams::default(), &definition).await.unwrap();
    let mut widget = DynamicObject::new("held", &resource).data(json!({}));
    widget.metadata.finalizers = Some(vec!["example.com/hold".to_owned()]);
    eventually("a widget", async || {
        widgets.create(&PostParams::default(), &widget).await.map_err(|error| error.to_string())
    })
    .await;
    let going = definitions.delete(&name, &DeleteParams::default()).await.unwrap().left().unwrap();
    assert!(going.metadata.deletion_timestamp.is_some());
    assert_eq!(going.metadata.finalizers.unwrap(), ["customresourcecleanup.apiextensions.k8s.io"]);
    eventually("the mark on the widget", async || {
        let found = widgets.get("held").await.map_err(|error| error.to_string())?;
        found.metadata.deletion_timestamp.ok_or_else(|| "there is none".to_owned())
    })
    .await;
    // New objects are rejected, and existing ones can be updated.
    let refused = widgets.create(&PostParams::default(), &DynamicObject::new("late", &resource)).await;
    let code = if server.is_older_than(36) { 405 } else { 403 };
    assert!(matches!(&refused, Err(kube::Error::Api(status)) if status.code == code), "{refused:?}");
    assert!(definitions.get_opt(&name).await.unwrap().is_some());
    let release = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
    widgets.patch("held", &PatchParams::default(), &release).await.unwrap();
    eventually("the end of the definition", async || {
        let found = definitions.get_opt(&name).await.map_err(|error| error.to_string())?;
        found.map_or(Ok(()), |_| Err("it is there".to_owned()))
    })
    .await;
    eventually("the end of the resource", async || match widgets.list(&ListParams::default()).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .await;
}
