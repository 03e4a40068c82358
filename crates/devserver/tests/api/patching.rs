//! Objects are patched in the languages that they take.

use crate::probe::{MAPS, PODS, Probe, named, refusal};
use http::Method;
use serde_json::{Value, json};

async fn patched(language: &str, path: &str, body: Value) -> (u16, Value) {
    let probe = Probe::new();
    let mut map = named("a");
    map["data"] = json!({ "x": "1", "y": "2" });
    probe.make(MAPS, map).await;
    let containers = json!([{ "name": "one", "image": "1" }, { "name": "two", "image": "2" }]);
    probe.make(PODS, json!({ "metadata": { "name": "a" }, "spec": { "containers": containers } })).await;
    probe.ask_as(language, Method::PATCH, path, Some(&body)).await
}

#[tokio::test(start_paused = true)]
async fn json_patch_and_merge_patch_change_the_named_fields() {
    let map = format!("{MAPS}/a");
    let body =
        json!([{ "op": "test", "path": "/data/x", "value": "1" }, { "op": "remove", "path": "/data/y" }]);
    assert_eq!(patched("application/json-patch+json", &map, body).await.1["data"], json!({ "x": "1" }));
    let body = json!({ "data": { "x": null, "z": "3" } });
    let (_, merged) = patched("application/merge-patch+json", &map, body).await;
    assert_eq!(merged["data"], json!({ "y": "2", "z": "3" }));
}

#[tokio::test(start_paused = true)]
async fn strategic_merge_patch_merges_lists_by_key() {
    let body = json!({ "spec": { "containers": [{ "name": "two", "image": "9" }] } });
    let (_, pod) = patched("application/strategic-merge-patch+json", &format!("{PODS}/a"), body).await;
    let images: Vec<_> =
        pod["spec"]["containers"].as_array().unwrap().iter().map(|one| &one["image"]).collect();
    assert_eq!(images, ["1", "9"]);
}

#[tokio::test(start_paused = true)]
async fn patches_that_do_not_apply_are_refused() {
    let map = format!("{MAPS}/a");
    let failed = json!([{ "op": "test", "path": "/data/x", "value": "9" }]);
    let stale = json!({ "metadata": { "resourceVersion": "1" } });
    let renamed = json!({ "metadata": { "name": "b" } });
    let table = [
        ("application/json-patch+json", map.as_str(), failed, (422, "Invalid")),
        ("application/json-patch+json", &map, json!({}), (400, "BadRequest")),
        ("application/merge-patch+json", &map, stale, (409, "Conflict")),
        ("application/merge-patch+json", &map, renamed, (400, "BadRequest")),
        ("application/json", &map, json!({}), (415, "UnsupportedMediaType")),
        ("application/merge-patch+json", &format!("{MAPS}/b"), json!({}), (404, "NotFound")),
    ];
    for (language, path, body, expected) in table {
        assert_eq!(refusal(&patched(language, path, body.clone()).await), expected, "{language} {body}");
    }
}

#[tokio::test(start_paused = true)]
async fn only_applied_configurations_are_forced() {
    let answer =
        patched("application/merge-patch+json", &format!("{MAPS}/a?force=true"), json!({ "data": {} })).await;
    assert_eq!(refusal(&answer), (422, "Invalid"));
}
