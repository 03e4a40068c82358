//! The error of a request that breaks several rules, and the number of its causes.

use crate::probe::{MAPS, Probe, named, refusal};
use http::Method;
use serde_json::{Value, json};

const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

async fn with_widgets() -> Probe {
    let probe = Probe::new();
    let spec = json!({ "type": "object", "properties": { "size": { "type": "integer", "maximum": 3 } } });
    let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": { "spec": spec } } });
    let definition = json!({
        "metadata": { "name": "widgets.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": { "plural": "widgets", "kind": "Widget" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": schema }],
        },
    });
    probe.make("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition).await;
    probe
}

fn widget(name: &str, size: u64) -> Value {
    json!({ "apiVersion": "example.com/v1", "kind": "Widget", "metadata": { "name": name }, "spec": { "size": size } })
}

/// Returns the fields of the causes of a response, sorted.
fn causes((_, answer): &(u16, Value)) -> Vec<String> {
    let causes = answer["details"]["causes"].as_array().into_iter().flatten();
    let mut fields: Vec<_> = causes.map(|cause| cause["field"].as_str().unwrap().to_owned()).collect();
    fields.sort();
    fields
}

#[tokio::test]
async fn all_invalid_fields_of_a_new_object_are_reported() {
    let probe = with_widgets().await;
    let map = json!({ "metadata": { "name": "UPPER", "labels": { "-bad-": "x" } }, "data": { "a b": "" } });
    let answer = probe.post(MAPS, map).await;
    assert_eq!(refusal(&answer), (422, "Invalid"));
    assert_eq!(causes(&answer), ["data[a b]", "metadata.labels", "metadata.name"]);
    let mut invalid = widget("UPPER", 4);
    invalid["metadata"]["finalizers"] = json!(["not valid/x y"]);
    let answer = probe.post(WIDGETS, invalid).await;
    // The prefix and the name of the finalizer are invalid.
    assert_eq!(causes(&answer), ["metadata.finalizers", "metadata.finalizers", "metadata.name", "spec.size"]);
    let nameless = json!({ "spec": { "ports": [{ "port": 80 }] } });
    let answer = probe.post("/api/v1/namespaces/default/services", nameless).await;
    assert_eq!(causes(&answer), ["spec.clusterIPs"]);
}

#[tokio::test]
async fn invalid_metadata_of_an_update_is_reported_by_all_rules() {
    let probe = with_widgets().await;
    probe.make(MAPS, named("a")).await;
    probe.make(WIDGETS, widget("a", 1)).await;
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    let template = json!({ "metadata": { "labels": { "a": "b" } }, "spec": { "containers": [{ "name": "a", "image": "a" }] } });
    let deployment = json!({ "metadata": { "name": "a" }, "spec": { "selector": { "matchLabels": { "a": "b" } }, "template": template } });
    probe.make(deployments, deployment).await;
    let invalid = json!({ "metadata": { "labels": { "-bad-": "x" }, "finalizers": ["example.com/x y"] } });
    for (path, labels, finalizers) in [(MAPS, 4, 2), (deployments, 3, 1), (WIDGETS, 3, 1)] {
        let answer = probe.patch(&format!("{path}/a"), invalid.clone()).await;
        let fields = causes(&answer);
        let count = |name: &str| fields.iter().filter(|field| *field == name).count();
        assert_eq!((count("metadata.labels"), count("metadata.finalizers")), (labels, finalizers), "{path}");
    }
}

#[tokio::test]
async fn another_uid_is_a_conflict_in_an_update_and_a_change_in_a_patch() {
    let probe = Probe::new();
    let mut map = probe.make(MAPS, named("a")).await;
    let path = format!("{MAPS}/a");
    let other = json!({ "metadata": { "uid": "00000000-0000-0000-0000-000000000001" } });
    let answer = probe.patch(&path, other).await;
    assert_eq!((refusal(&answer), causes(&answer)), ((422, "Invalid"), vec!["metadata.uid".to_owned(); 2]));
    map["metadata"]["uid"] = "00000000-0000-0000-0000-000000000001".into();
    assert_eq!(refusal(&probe.put(&path, map).await), (409, "Conflict"));
}

#[tokio::test]
async fn an_update_is_decoded_before_its_object_is_looked_up() {
    let probe = with_widgets().await;
    let path = format!("{MAPS}/missing");
    let wrong = json!({ "metadata": { "name": "missing", "labels": 7 } });
    assert_eq!(refusal(&probe.put(&path, wrong).await), (400, "BadRequest"));
    assert_eq!(refusal(&probe.put(&path, named("other")).await), (400, "BadRequest"));
    assert_eq!(refusal(&probe.put(&path, named("missing")).await), (404, "NotFound"));
    // A patch is not: it needs the object. Its type is checked first.
    let malformed = async |media: &str, path: &str| {
        let answer = probe.ask_as(media, Method::PATCH, path, Some(&json!("none"))).await;
        answer.0
    };
    assert_eq!(malformed("application/merge-patch+json", &path).await, 404);
    let path = format!("{WIDGETS}/missing");
    assert_eq!(malformed("application/strategic-merge-patch+json", &path).await, 415);
}

#[tokio::test]
async fn the_kind_of_a_custom_resource_is_validated() {
    let probe = with_widgets().await;
    let mut made = probe.make(WIDGETS, widget("a", 1)).await;
    made["kind"] = "Other".into();
    let answer = probe.put(&format!("{WIDGETS}/a"), made.clone()).await;
    assert_eq!((refusal(&answer), causes(&answer)), ((422, "Invalid"), vec!["kind".to_owned()]));
    assert_eq!(answer.1["details"]["kind"], "Other");
    // Without a version, the resource is in the place of the kind.
    made["kind"] = "Widget".into();
    made["metadata"]["resourceVersion"] = "".into();
    let answer = probe.put(&format!("{WIDGETS}/a"), made).await;
    assert_eq!(
        (&answer.1["details"]["kind"], causes(&answer)),
        (&json!("widgets"), vec!["metadata.resourceVersion".to_owned()])
    );
}

#[tokio::test]
async fn a_failed_precondition_of_a_deletion_names_the_kind() {
    let probe = with_widgets().await;
    probe.make(WIDGETS, widget("a", 1)).await;
    for preconditions in [json!({ "uid": "x" }), json!({ "resourceVersion": "1" })] {
        let options = json!({ "preconditions": preconditions });
        let path = format!("{WIDGETS}/a");
        let answer = probe.ask_as("application/json", Method::DELETE, &path, Some(&options)).await;
        assert_eq!(refusal(&answer), (409, "Conflict"));
        assert_eq!(
            (&answer.1["details"]["kind"], &answer.1["details"]["group"]),
            (&json!("Widget"), &json!("example.com"))
        );
    }
}

#[tokio::test]
async fn empty_metadata_of_a_custom_resource_has_no_owner() {
    let probe = with_widgets().await;
    let mut object = widget("a", 1);
    object["metadata"]["labels"] = json!({});
    object["metadata"]["annotations"] = json!({});
    let made = probe.make(WIDGETS, object).await;
    assert_eq!(
        made["metadata"]["managedFields"][0]["fieldsV1"],
        json!({ "f:spec": { ".": {}, "f:size": {} } })
    );
}
