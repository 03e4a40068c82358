//! Unknown and duplicate fields, by the parameter `fieldValidation`.

use crate::probe::{MAPS, PODS, Probe};
use http::Request;
use kube::client::Body;
use serde_json::{Value, json};

async fn warnings(probe: &Probe, path: &str, body: &str) -> (u16, Vec<String>) {
    let request = Request::post(path).header("content-type", "application/json");
    let response = probe.send(request.body(Body::from(body.as_bytes().to_vec())).unwrap()).await;
    let values = response.headers().get_all("warning").iter();
    (response.status().as_u16(), values.map(|value| value.to_str().unwrap().to_owned()).collect())
}

#[tokio::test]
async fn unknown_and_duplicate_fields_cause_warnings_or_are_dropped_or_refused() {
    let probe = Probe::new();
    let body = |name: &str| {
        format!(r#"{{"metadata":{{"name":"{name}","foo":1}},"data":{{"a":"1","a":"2"}},"bar":2}}"#)
    };
    let (code, found) = warnings(&probe, MAPS, &body("a")).await;
    let expected = [
        r#"299 - "duplicate field \"data.a\"""#,
        r#"299 - "unknown field \"bar\"""#,
        r#"299 - "unknown field \"metadata.foo\"""#,
    ];
    assert_eq!((code, found), (201, expected.map(str::to_owned).to_vec()));
    assert_eq!(probe.get(&format!("{MAPS}/a")).await.1["data"], json!({ "a": "2" }));
    let (code, found) = warnings(&probe, &format!("{MAPS}?fieldValidation=Ignore"), &body("b")).await;
    assert_eq!((code, found.len()), (201, 0));
    let (code, found) = warnings(&probe, &format!("{MAPS}?fieldValidation=Strict"), &body("c")).await;
    assert_eq!((code, found.len()), (400, 0));
    assert_eq!(probe.get(&format!("{MAPS}/c")).await.0, 404);
    let (code, _) = warnings(&probe, &format!("{MAPS}?fieldValidation=Other"), &body("d")).await;
    assert_eq!(code, 422);
}

#[tokio::test]
async fn fields_that_every_kind_has_are_known() {
    let probe = Probe::new();
    let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "a", "labels": { "x": "y" }, "annotations": { "a": "b" },
        "ownerReferences": [{ "apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u" }], "finalizers": ["a.b/c"] },
        "spec": { "containers": [{ "name": "a", "image": "b", "resources": { "limits": { "cpu": "1" } }, "env": [{ "name": "a",
            "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } }], "livenessProbe": { "httpGet": { "port": "http" } } }],
            "volumes": [{ "name": "v", "emptyDir": {} }, { "name": "c", "configMap": { "name": "m", "items": [{ "key": "a", "path": "b" }] } }],
            "tolerations": [{ "operator": "Exists" }], "securityContext": { "runAsUser": 1 } }, "status": { "phase": "Pending" } });
    let (code, found) = warnings(&probe, &format!("{PODS}?fieldValidation=Strict"), &pod.to_string()).await;
    assert_eq!((code, found), (201, Vec::new()));
    // An object that the server has returned contains no unknown fields.
    let mut stored: Value = probe.get(&format!("{PODS}/a")).await.1;
    stored["metadata"]["labels"]["x"] = "z".into();
    let request =
        Request::put(format!("{PODS}/a?fieldValidation=Strict")).header("content-type", "application/json");
    let response = probe.send(request.body(Body::from(stored.to_string().into_bytes())).unwrap()).await;
    assert_eq!(response.status().as_u16(), 200);
}
