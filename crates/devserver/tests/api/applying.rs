//! Configurations are applied, and every way of writing records who owns what.

use crate::probe::{Answer, MAPS, PODS, Probe, named, read, refusal, version};
use http::{Method, Request};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const APPLY: &str = "application/apply-patch+yaml";

fn map(data: Value) -> Value {
    let mut map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } });
    map["data"] = data;
    map
}

async fn apply(probe: &Probe, path: &str, body: &Value) -> Answer {
    probe.ask_as(APPLY, Method::PATCH, path, Some(body)).await
}

fn fields<'o>(object: &'o Value, manager: &str) -> &'o Value {
    let entries = object["metadata"]["managedFields"].as_array().expect("it is tracked");
    entries.iter().find(|entry| entry["manager"] == manager).map_or(&Value::Null, |entry| &entry["fieldsV1"])
}

#[tokio::test(start_paused = true)]
async fn an_applied_object_is_created_and_then_changed() {
    let probe = Probe::new();
    let path = format!("{MAPS}/a?fieldManager=one");
    let (code, made) = apply(&probe, &path, &map(json!({ "x": "1", "y": "1" }))).await;
    assert_eq!((code, &made["data"]), (201, &json!({ "x": "1", "y": "1" })));
    assert_eq!(fields(&made, "one"), &json!({ "f:data": { "f:x": {}, "f:y": {} } }));
    let entry = &made["metadata"]["managedFields"][0];
    assert_eq!((&entry["operation"], &entry["apiVersion"]), (&json!("Apply"), &json!("v1")));
    let (code, same) = apply(&probe, &path, &map(json!({ "x": "1", "y": "1" }))).await;
    assert_eq!((code, &same), (200, &made), "what changes nothing is not stored");
    let (_, less) = apply(&probe, &path, &map(json!({ "x": "1" }))).await;
    assert_eq!(less["data"], json!({ "x": "1" }), "what is not applied any more goes");
}

#[tokio::test(start_paused = true)]
async fn fields_of_another_manager_are_a_conflict_unless_forced() {
    let probe = Probe::new();
    apply(&probe, &format!("{MAPS}/a?fieldManager=one"), &map(json!({ "x": "1" }))).await;
    let path = format!("{MAPS}/a?fieldManager=two");
    let answer = apply(&probe, &path, &map(json!({ "x": "2" }))).await;
    assert_eq!(refusal(&answer), (409, "Conflict"));
    let message = "Apply failed with 1 conflict: conflict with \"one\": .data.x";
    assert_eq!(answer.1["message"], message);
    let cause =
        json!({ "reason": "FieldManagerConflict", "message": "conflict with \"one\"", "field": ".data.x" });
    assert_eq!(answer.1["details"]["causes"], json!([cause]));
    let (code, forced) = apply(&probe, &format!("{path}&force=true"), &map(json!({ "x": "2" }))).await;
    assert_eq!((code, &forced["data"]["x"]), (200, &json!("2")));
    assert_eq!(fields(&forced, "one"), &Value::Null);
}

#[tokio::test(start_paused = true)]
async fn other_writes_record_the_user_agent_or_the_field_manager() {
    let probe = Probe::new();
    let post = |agent: &str, path: &str, body: &Value| {
        let request =
            Request::post(path).header("user-agent", agent).header("content-type", "application/json");
        probe.send(request.body(body.to_string().into_bytes().into()).unwrap())
    };
    let (_, made) = read(post("kubectl/v1.36 (linux)", MAPS, &map(json!({ "x": "1" }))).await).await;
    assert_eq!(fields(&made, "kubectl"), &json!({ "f:data": { ".": {}, "f:x": {} } }));
    let patch = json!({ "data": { "y": "1" } });
    let (_, patched) = probe.patch(&format!("{MAPS}/a?fieldManager=patcher"), patch).await;
    assert_eq!(fields(&patched, "patcher"), &json!({ "f:data": { "f:y": {} } }));
    let answer = apply(&probe, &format!("{MAPS}/a?fieldManager=one"), &map(json!({ "y": "2" }))).await;
    let message = "Apply failed with 1 conflict: conflict with \"patcher\" using v1: .data.y";
    assert_eq!(answer.1["message"], message);
}

#[tokio::test(start_paused = true)]
async fn the_status_is_applied_on_its_own() {
    let probe = Probe::new();
    let pod =
        json!({ "metadata": { "name": "a" }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
    probe.make(&format!("{PODS}?fieldManager=creator"), pod).await;
    let condition = json!({ "type": "Ready", "status": "True" });
    let status = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "a" },
        "spec": { "nodeName": "n" }, "status": { "conditions": [condition] } });
    let (code, applied) = apply(&probe, &format!("{PODS}/a/status?fieldManager=kubelet"), &status).await;
    assert_eq!((code, &applied["status"]["conditions"][0]["type"]), (200, &json!("Ready")), "{applied}");
    assert_eq!(applied["spec"].get("nodeName"), None);
    let entry = &applied["metadata"]["managedFields"][0];
    assert_eq!((&entry["manager"], &entry["subresource"]), (&json!("kubelet"), &json!("status")));
    assert!(entry["fieldsV1"].get("f:spec").is_none(), "{entry}");
    let missing = apply(&probe, &format!("{PODS}/b/status?fieldManager=kubelet"), &status).await;
    assert_eq!(refusal(&missing), (404, "NotFound"));
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_changes_nothing() {
    let probe = Probe::new();
    let path = format!("{MAPS}/a?fieldManager=one&dryRun=All");
    let (code, tried) = apply(&probe, &path, &map(json!({ "x": "1" }))).await;
    assert_eq!((code, &tried["data"]["x"]), (201, &json!("1")));
    assert_eq!(refusal(&probe.get(&format!("{MAPS}/a")).await), (404, "NotFound"));
    let made = probe.make(MAPS, map(json!({}))).await;
    let (code, tried) = apply(&probe, &path, &map(json!({ "x": "1" }))).await;
    assert_eq!((code, version(&tried)), (200, version(&made)));
    assert_eq!(probe.get(&format!("{MAPS}/a")).await.1.get("data"), None);
}

#[tokio::test(start_paused = true)]
async fn invalid_configurations_are_refused() {
    let probe = Probe::new();
    let path = format!("{MAPS}/a?fieldManager=one");
    let mut other = map(json!({}));
    other["metadata"]["name"] = "b".into();
    let mut managed = map(json!({}));
    managed["metadata"]["managedFields"] = json!([]);
    let unknown = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "spec": {} });
    let table = [
        (format!("{MAPS}/a"), map(json!({})), (422, "Invalid")),
        (format!("{MAPS}/a?fieldManager={}", "m".repeat(129)), map(json!({})), (422, "Invalid")),
        (path.clone(), named("a"), (400, "BadRequest")),
        (path.clone(), other, (400, "BadRequest")),
        (path.clone(), managed, (400, "BadRequest")),
        (path.clone(), json!([]), (400, "BadRequest")),
        (path.clone(), unknown, (500, "")),
        (format!("{path}&force=maybe"), map(json!({})), (400, "BadRequest")),
    ];
    for (path, body, expected) in table {
        assert_eq!(refusal(&apply(&probe, &path, &body).await), expected, "{path} {body}");
    }
}

#[tokio::test(start_paused = true)]
async fn bodies_may_be_yaml() {
    let probe = Probe::new();
    let send = |method: Method, media: &str, path: &str, body: &'static str| {
        let request = Request::builder().method(method).uri(path).header("content-type", media);
        probe.send(request.body(body.as_bytes().to_vec().into()).unwrap())
    };
    let body = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  x: \"1\"\n";
    let (code, applied) =
        read(send(Method::PATCH, APPLY, &format!("{MAPS}/a?fieldManager=one"), body).await).await;
    assert_eq!((code, &applied["data"]["x"]), (201, &json!("1")));
    let body = "metadata: {name: b}\ndata:\n  x: |\n    one\n    two\n";
    let (code, made) = read(send(Method::POST, "application/yaml", MAPS, body).await).await;
    assert_eq!((code, &made["data"]["x"]), (201, &json!("one\ntwo\n")));
    let wrong = read(send(Method::POST, "application/yaml", MAPS, "a: [").await).await;
    assert_eq!(refusal(&wrong), (400, "BadRequest"));
}

#[tokio::test(start_paused = true)]
async fn two_managers_own_containers_of_one_deployment() {
    let probe = Probe::new();
    let deployment = |containers: Value| {
        let template =
            json!({ "metadata": { "labels": { "a": "b" } }, "spec": { "containers": containers } });
        json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "a" },
            "spec": { "selector": { "matchLabels": { "a": "b" } }, "template": template } })
    };
    let one = format!("{DEPLOYMENTS}/a?fieldManager=one");
    let two = format!("{DEPLOYMENTS}/a?fieldManager=two");
    apply(&probe, &one, &deployment(json!([{ "name": "app", "image": "1" }]))).await;
    let (code, both) = apply(&probe, &two, &deployment(json!([{ "name": "proxy", "image": "2" }]))).await;
    assert_eq!(code, 200, "{both}");
    assert_eq!(both["metadata"]["generation"], 2);
    let names = |object: &Value| -> Vec<String> {
        let containers = object["spec"]["template"]["spec"]["containers"].as_array().unwrap();
        containers.iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&both), ["app", "proxy"]);
    let (_, left) = apply(&probe, &one, &deployment(json!([]))).await;
    assert_eq!(names(&left), ["proxy"]);
}

#[tokio::test(start_paused = true)]
async fn kube_clients_apply() {
    let probe = Probe::new();
    let maps: Api<ConfigMap> = Api::default_namespaced(probe.client.clone());
    let config = map(json!({ "x": "1" }));
    let params = PatchParams::apply("operator");
    let made = maps.patch("a", &params, &Patch::Apply(&config)).await.unwrap();
    assert_eq!(made.data.unwrap()["x"], "1");
    let other = PatchParams::apply("other");
    let changed = map(json!({ "x": "2" }));
    let error = maps.patch("a", &other, &Patch::Apply(&changed)).await.unwrap_err();
    assert!(matches!(error, kube::Error::Api(status) if status.code == 409));
    let forced = maps.patch("a", &other.force(), &Patch::Apply(&changed)).await.unwrap();
    let managers: Vec<_> =
        forced.metadata.managed_fields.unwrap().into_iter().filter_map(|entry| entry.manager).collect();
    assert_eq!(managers, ["other"]);
}
