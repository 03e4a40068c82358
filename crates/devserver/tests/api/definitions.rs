//! A CustomResourceDefinition makes its resources served at once.

use crate::probe::{Probe, named, names, refusal};
use serde_json::{Value, json};

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const CARS: &str = "/apis/example.com/v1/namespaces/default/cars";

fn cars() -> Value {
    let version = |name: &str, storage: bool| {
        json!({ "name": name, "served": true, "storage": storage, "subresources": { "status": {} },
            "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } } })
    };
    json!({
        "metadata": { "name": "cars.example.com" },
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": { "plural": "cars", "kind": "Car" },
            "versions": [version("v1", true), version("v1beta1", false)],
        },
    })
}

#[tokio::test(start_paused = true)]
async fn its_resources_are_served_and_discovered() {
    let probe = Probe::new();
    assert_eq!(refusal(&probe.get(CARS).await), (404, "NotFound"));
    let crd = probe.make(CRDS, cars()).await;
    let conditions = crd["status"]["conditions"].as_array().unwrap();
    assert!(conditions.iter().any(|one| one["type"] == "Established" && one["status"] == "True"));
    let car = probe.make(CARS, named("a")).await;
    assert_eq!((&car["kind"], &car["apiVersion"]), (&"Car".into(), &"example.com/v1".into()));
    let (_, list) = probe.get(CARS).await;
    assert_eq!((&list["kind"], &list["items"][0]["kind"]), (&"CarList".into(), &"Car".into()));
    let (_, resources) = probe.get("/apis/example.com/v1").await;
    assert_eq!(resources["resources"][0]["kind"], "Car");
}

#[tokio::test(start_paused = true)]
async fn versions_share_their_objects() {
    let probe = Probe::new();
    probe.make(CRDS, cars()).await;
    probe.make(CARS, named("a")).await;
    let (_, beta) = probe.get("/apis/example.com/v1beta1/namespaces/default/cars/a").await;
    assert_eq!(beta["apiVersion"], "example.com/v1beta1");
}

#[tokio::test(start_paused = true)]
async fn an_update_of_a_custom_object_needs_a_version() {
    let probe = Probe::new();
    probe.make(CRDS, cars()).await;
    probe.make(CARS, named("a")).await;
    assert_eq!(refusal(&probe.put(&format!("{CARS}/a"), named("a")).await), (422, "Invalid"));
    let (code, car) = probe.patch(&format!("{CARS}/a"), json!({ "spec": { "x": 1 } })).await;
    assert_eq!((code, &car["metadata"]["generation"]), (200, &json!(2)));
    let strategic = "application/strategic-merge-patch+json";
    let answer = probe.ask_as(strategic, http::Method::PATCH, &format!("{CARS}/a"), Some(&json!({}))).await;
    assert_eq!(refusal(&answer), (415, "UnsupportedMediaType"));
}

#[tokio::test(start_paused = true)]
async fn its_objects_go_with_it() {
    let probe = Probe::new();
    probe.make(CRDS, cars()).await;
    probe.make(CARS, named("a")).await;
    let mut watch = probe.watch(&format!("{CARS}?watch=1")).await;
    assert_eq!(probe.delete(&format!("{CRDS}/cars.example.com")).await.0, 200);
    assert_eq!(watch.says(2).await, ["ADDED a", "DELETED a"]);
    assert_eq!(refusal(&probe.get(CARS).await), (404, "NotFound"));
    probe.make(CRDS, cars()).await;
    assert_eq!(names(&probe.get(CARS).await.1), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_wrong_one_is_refused() {
    let probe = Probe::new();
    let mut wrong = cars();
    wrong["metadata"]["name"] = "other.example.com".into();
    assert_eq!(refusal(&probe.post(CRDS, wrong).await), (422, "Invalid"));
    assert_eq!(refusal(&probe.get(CARS).await), (404, "NotFound"));
}
