//! Server-side apply, and who owns the fields that are written in other ways.

use crate::maps::{Maps, ask};
use http::Request;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube_conformance::{Server, claims};
use serde_json::{Value, json};

claims! {
    shared: [
        managers_share_an_object_and_conflict_over_values,
        fields_that_a_manager_no_longer_applies_are_removed,
        list_items_have_owners_of_their_own,
        status_and_object_are_applied_separately,
        other_writes_own_what_they_change,
        invalid_configurations_are_refused,
        a_dry_run_of_an_apply_stores_nothing,
    ],
    alone: [],
}

const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";

/// The objects of one kind in the namespace of a test.
struct Kind<'a> {
    client: &'a Client,
    folder: String,
    api_version: &'static str,
    kind: &'static str,
}

impl Kind<'_> {
    fn object(&self, mut fields: Value) -> Value {
        fields["apiVersion"] = self.api_version.into();
        fields["kind"] = self.kind.into();
        fields["metadata"]["name"] = "a".into();
        fields
    }

    async fn apply(&self, query: &str, fields: Value) -> Value {
        let request = Request::patch(format!("{}/a{query}", self.folder)).header("content-type", APPLY);
        ask(self.client, request, self.object(fields)).await
    }

    async fn merge(&self, query: &str, patch: Value) -> Value {
        let request = Request::patch(format!("{}/a{query}", self.folder)).header("content-type", MERGE);
        ask(self.client, request, patch).await
    }

    async fn create(&self, query: &str, fields: Value) -> Value {
        ask(self.client, Request::post(format!("{}{query}", self.folder)), self.object(fields)).await
    }
}

fn config_maps(maps: &Maps<ConfigMap>) -> Kind<'_> {
    let folder = format!("/api/v1/namespaces/{}/configmaps", maps.namespace);
    Kind { client: &maps.client, folder, api_version: "v1", kind: "ConfigMap" }
}

fn deployments(maps: &Maps<ConfigMap>) -> Kind<'_> {
    let folder = format!("/apis/apps/v1/namespaces/{}/deployments", maps.namespace);
    Kind { client: &maps.client, folder, api_version: "apps/v1", kind: "Deployment" }
}

fn deployment(containers: &Value) -> Value {
    let template = json!({ "metadata": { "labels": { "a": "b" } }, "spec": { "containers": containers } });
    json!({ "spec": { "selector": { "matchLabels": { "a": "b" } }, "template": template } })
}

/// Each manager with its operation, subresource and fields.
fn managers(object: &Value) -> Vec<Value> {
    let entries = object["metadata"]["managedFields"].as_array().unwrap_or_else(|| panic!("{object}"));
    let part = |entry: &Value| {
        json!([entry["manager"], entry["operation"], entry["subresource"], entry["fieldsV1"]])
    };
    entries.iter().map(part).collect()
}

async fn managers_share_an_object_and_conflict_over_values(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    let maps = config_maps(&maps);
    let one = maps.apply("?fieldManager=one", json!({ "data": { "x": "1", "y": "1" } })).await;
    let fields = json!({ "f:data": { "f:x": {}, "f:y": {} } });
    assert_eq!(managers(&one), [json!(["one", "Apply", null, fields])]);
    let both = maps.apply("?fieldManager=two", json!({ "data": { "y": "1" } })).await;
    let shared = json!({ "f:data": { "f:y": {} } });
    let mut found = managers(&both);
    found.sort_by_key(|manager| manager[0].to_string());
    assert_eq!(found, [json!(["one", "Apply", null, fields]), json!(["two", "Apply", null, shared])]);
    let conflict = maps.apply("?fieldManager=two", json!({ "data": { "x": "2", "y": "2" } })).await;
    assert_eq!((&conflict["code"], &conflict["reason"]), (&json!(409), &json!("Conflict")), "{conflict}");
    let message = "Apply failed with 2 conflicts: conflicts with \"one\":\n- .data.x\n- .data.y";
    assert_eq!(conflict["message"], message);
    let cause = |field: &str| json!({ "reason": "FieldManagerConflict", "message": "conflict with \"one\"", "field": field });
    assert_eq!(conflict["details"]["causes"], json!([cause(".data.x"), cause(".data.y")]));
    let forced = maps.apply("?fieldManager=two&force=true", json!({ "data": { "x": "2" } })).await;
    assert_eq!(forced["data"], json!({ "x": "2", "y": "1" }), "{forced}");
    assert_eq!(managers(&forced).len(), 2);
}

async fn fields_that_a_manager_no_longer_applies_are_removed(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    let maps = config_maps(&maps);
    let labels = json!({ "metadata": { "labels": { "a": "b", "c": "d" } }, "data": { "x": "1", "y": "1" } });
    maps.apply("?fieldManager=one", labels).await;
    maps.apply("?fieldManager=two", json!({ "data": { "y": "1" } })).await;
    let less = maps.apply("?fieldManager=one", json!({ "metadata": { "labels": { "a": "b" } } })).await;
    assert_eq!(less["data"], json!({ "y": "1" }), "{less}");
    assert_eq!(less["metadata"]["labels"], json!({ "a": "b" }));
    let none = maps.apply("?fieldManager=one", json!({})).await;
    assert_eq!(none["metadata"].get("labels"), None, "{none}");
    assert_eq!(managers(&none).len(), 1, "{none}");
    let again = maps.apply("?fieldManager=one", json!({})).await;
    assert_eq!(again["metadata"]["resourceVersion"], none["metadata"]["resourceVersion"]);
}

async fn list_items_have_owners_of_their_own(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    let deployments = deployments(&maps);
    let app = json!([{ "name": "app", "image": "1", "ports": [{ "containerPort": 80 }] }]);
    let one = deployments.apply("?fieldManager=one", deployment(&app)).await;
    let fields = &managers(&one)[0][3]["f:spec"];
    assert_eq!(fields["f:selector"], json!({}), "selectors are atomic: {one}");
    let container = &fields["f:template"]["f:spec"]["f:containers"][r#"k:{"name":"app"}"#];
    let port = &container["f:ports"][r#"k:{"containerPort":80,"protocol":"TCP"}"#];
    assert_eq!(port, &json!({ ".": {}, "f:containerPort": {} }), "{one}");
    let proxy = json!([{ "name": "proxy", "image": "2" }]);
    let both = deployments.apply("?fieldManager=two", deployment(&proxy)).await;
    let names = |object: &Value| -> Vec<String> {
        let containers = object["spec"]["template"]["spec"]["containers"].as_array().unwrap();
        containers.iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&both), ["app", "proxy"]);
    assert_eq!(both["metadata"]["generation"], 2);
    let left = deployments.apply("?fieldManager=one", json!({})).await;
    assert_eq!(names(&left), ["proxy"], "{left}");
}

async fn status_and_object_are_applied_separately(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    let deployments = deployments(&maps);
    let mut both = deployment(&json!([{ "name": "app", "image": "1" }]));
    both["status"] = json!({ "replicas": 3 });
    let made = deployments.apply("?fieldManager=one", both).await;
    assert_eq!(made["status"].get("replicas"), None, "{made}");
    assert_eq!(managers(&made)[0][3].get("f:status"), None, "{made}");
    let query = "/status?fieldManager=controller";
    let status = json!({ "spec": { "replicas": 9 }, "status": { "replicas": 3 } });
    let applied = deployments.apply(query, status).await;
    assert_eq!(applied["status"]["replicas"], 3, "{applied}");
    assert_ne!(applied["spec"]["replicas"], 9);
    let fields = json!({ "f:status": { "f:replicas": {} } });
    assert!(managers(&applied).contains(&json!(["controller", "Apply", "status", fields])), "{applied}");
    let missing = Kind { folder: format!("{}/b", deployments.folder), ..deployments };
    let missing = missing.apply(query, json!({})).await;
    assert_eq!(missing["code"], 404, "{missing}");
}

async fn other_writes_own_what_they_change(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    let maps = config_maps(&maps);
    let made = maps.create("?fieldManager=one", json!({ "data": { "x": "1", "y": "1" } })).await;
    let fields = json!({ "f:data": { ".": {}, "f:x": {}, "f:y": {} } });
    assert_eq!(managers(&made), [json!(["one", "Update", null, fields])]);
    let patched = maps.merge("?fieldManager=two", json!({ "data": { "x": "2", "y": null } })).await;
    let left = json!({ "f:data": {} });
    let taken = json!({ "f:data": { "f:x": {} } });
    let mut found = managers(&patched);
    found.sort_by_key(|manager| manager[0].to_string());
    assert_eq!(found, [json!(["one", "Update", null, left]), json!(["two", "Update", null, taken])]);
    let same = maps.merge("?fieldManager=three", json!({ "data": { "x": "2" } })).await;
    assert_eq!(same["metadata"], patched["metadata"], "what changes nothing owns nothing");
    let conflict = maps.apply("?fieldManager=three", json!({ "data": { "x": "3" } })).await;
    let message = "Apply failed with 1 conflict: conflict with \"two\" using v1: .data.x";
    assert_eq!(conflict["message"], message);
    let reset = maps.merge("", json!({ "metadata": { "managedFields": [{}] } })).await;
    assert_eq!(reset["metadata"].get("managedFields"), None, "{reset}");
    let untracked = maps.merge("?fieldManager=two", json!({ "data": { "x": "4" } })).await;
    assert_eq!(untracked["metadata"].get("managedFields"), None, "{untracked}");
    let conflict = maps.apply("?fieldManager=three", json!({ "data": { "x": "5" } })).await;
    let message = "Apply failed with 1 conflict: conflict with \"before-first-apply\" using v1: .data.x";
    assert_eq!(conflict["message"], message);
}

async fn invalid_configurations_are_refused(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    let maps = config_maps(&maps);
    let table = [
        ("", json!({}), 422),
        ("?fieldManager=one", json!({ "metadata": { "managedFields": [] } }), 400),
        ("?fieldManager=one", json!({ "spec": {} }), 500),
        ("?fieldManager=one", json!({ "data": { "x": 1 } }), 500),
    ];
    for (query, fields, expected) in table {
        let answer = maps.apply(query, fields.clone()).await;
        assert_eq!(answer["code"], expected, "{query} {fields}: {answer}");
    }
    maps.create("", json!({})).await;
    let stale = maps.apply("?fieldManager=one", json!({ "metadata": { "resourceVersion": "1" } })).await;
    assert_eq!(stale["code"], 409, "{stale}");
    let forced = maps.merge("?force=true", json!({})).await;
    assert_eq!(forced["code"], 422, "{forced}");
    let kind = Kind { kind: "Secret", ..maps };
    let wrong = kind.apply("?fieldManager=one", json!({})).await;
    assert_eq!(wrong["code"], 400, "{wrong}");
}

async fn a_dry_run_of_an_apply_stores_nothing(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    let maps = config_maps(&maps);
    let tried = maps.apply("?fieldManager=one&dryRun=All", json!({ "data": { "x": "1" } })).await;
    assert_eq!(tried["data"], json!({ "x": "1" }), "{tried}");
    let found = ask(maps.client, Request::get(format!("{}/a", maps.folder)), Value::Null).await;
    assert_eq!(found["code"], 404);
}
