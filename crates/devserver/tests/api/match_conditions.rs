//! The match conditions of webhooks.

use crate::probe::{MAPS, Probe, named, refusal};
use serde_json::{Value, json};

const CONFIGURATIONS: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

/// A configuration whose webhook has these conditions, and denies everything.
fn configuration(conditions: &[&str], failure_policy: &str) -> Value {
    let conditions: Vec<_> = conditions
        .iter()
        .enumerate()
        .map(|(position, expression)| json!({ "name": format!("c{position}"), "expression": expression }))
        .collect();
    let webhook = json!({
        "name": "deny.hooks.example.com",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": failure_policy,
        "clientConfig": { "service": { "namespace": "ops", "name": "hook", "path": "deny" } },
        "rules": [{ "operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"] }],
        "matchConditions": conditions,
    });
    json!({ "metadata": { "name": "hooks" }, "webhooks": [webhook] })
}

async fn configured(conditions: &[&str], failure_policy: &str) -> Probe {
    let probe = Probe::new();
    probe.server.serve_webhook("ops", "hook", "deny", |review: Value| async move {
        let response = json!({ "uid": review["request"]["uid"], "allowed": false });
        json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response })
    });
    probe.make_maps(["old"]).await;
    probe.make(CONFIGURATIONS, configuration(conditions, failure_policy)).await;
    probe
}

#[tokio::test]
async fn a_webhook_is_called_if_all_its_conditions_are_met() {
    for (conditions, is_called) in [
        (&["true"][..], true),
        (&["true", "false"], false),
        (&["object.metadata.name == 'a'"], true),
        (&["object.metadata.namespace == 'default' && oldObject == null"], true),
        (&["!has(object.data)", "!('data' in object)"], true),
        (&["request.operation == 'CREATE' && request.kind.kind == 'ConfigMap'"], true),
        (&["request.resource.group == '' && request.name == 'a' && !request.dryRun"], true),
        (&["!('system:masters' in request.userInfo.groups)"], false),
        (&["request.userInfo.username == 'system:admin'"], true),
        (&["namespaceObject == null"], true),
        (&["object.?metadata.?labels.?team.orValue('none') == 'none'"], true),
        // A condition that is false decides, even if another one fails.
        (&["object.data.missing == 'x'", "false"], false),
    ] {
        let probe = configured(conditions, "Fail").await;
        let answer = probe.post(MAPS, named("a")).await;
        assert_eq!(answer.0, if is_called { 400 } else { 201 }, "{conditions:?}: {answer:?}");
    }
}

#[tokio::test]
async fn conditions_see_both_states_of_the_object() {
    let probe = configured(&["oldObject.metadata.name == 'old' && object == null"], "Fail").await;
    assert_eq!(probe.patch(&format!("{MAPS}/old"), json!({ "data": { "k": "v" } })).await.0, 200);
    assert_eq!(probe.delete(&format!("{MAPS}/old")).await.0, 400);
    let probe = configured(&["object != null && object.data != oldObject.?data.orValue({})"], "Fail").await;
    assert_eq!(probe.patch(&format!("{MAPS}/old"), json!({ "data": { "k": "v" } })).await.0, 400);
    assert_eq!(
        probe.patch(&format!("{MAPS}/old"), json!({ "data": {} })).await.0,
        403,
        "object.data is missing"
    );
    assert_eq!(probe.delete(&format!("{MAPS}/old")).await.0, 200);
}

#[tokio::test]
async fn the_failure_policy_decides_about_conditions_that_fail() {
    let failing = &["true", "object.data.missing == 'x'"];
    let probe = configured(failing, "Fail").await;
    let answer = probe.post(MAPS, named("a")).await;
    assert_eq!(refusal(&answer), (403, "Forbidden"));
    assert_eq!(
        answer.1["message"],
        "configmaps \"a\" is forbidden: expression 'object.data.missing == 'x'' resulted in error: no such key: data"
    );
    assert_eq!(answer.1["details"], json!({ "name": "a", "kind": "configmaps" }));
    let probe = configured(failing, "Ignore").await;
    assert_eq!(probe.post(MAPS, named("a")).await.0, 201);

    let both = &["object.a == 1", "object.b == 1"];
    let answer = configured(both, "Fail").await.post(MAPS, named("a")).await;
    assert!(answer.1["message"].as_str().unwrap().ends_with("no such key: b]"), "{answer:?}");
}

#[tokio::test]
async fn invalid_conditions_are_refused() {
    for (condition, expected) in [
        (
            json!({ "name": "c", "expression": "object.(" }),
            "matchConditions[0].expression: Invalid value: \"object.(\": compilation failed",
        ),
        (json!({ "name": "c", "expression": "obj.x == 1" }), "undeclared reference to 'obj'"),
        (
            json!({ "name": "c", "expression": "request.uid == ''" }),
            "compilation failed: undefined field 'uid'",
        ),
        (
            json!({ "name": "c", "expression": "request.userInfo.name == ''" }),
            "compilation failed: undefined field 'name'",
        ),
        (json!({ "name": "c", "expression": "params.x == 1" }), "undeclared reference to 'params'"),
        (json!({ "name": "c", "expression": "variables.x == 1" }), "undeclared reference to 'variables'"),
        (json!({ "name": "c", "expression": "object.metadata.name" }), "must evaluate to bool but got dyn"),
        (json!({ "name": "c", "expression": "1 + 1" }), "must evaluate to bool but got int"),
        (json!({ "name": "c", "expression": "request.name" }), "must evaluate to bool but got string"),
        (
            json!({ "name": "c", "expression": "authorizer.group('').resource('pods').check('get').allowed()" }),
            "'authorizer' is not supported by this server",
        ),
        (json!({ "name": "c", "expression": " " }), "matchConditions[0].expression: Required value"),
        (json!({ "name": "", "expression": "true" }), "matchConditions[0].name: Required value"),
        (
            json!({ "name": "a b", "expression": "true" }),
            "matchConditions[0].name: Invalid value: \"a b\": name part must consist of",
        ),
    ] {
        let probe = Probe::new();
        let mut configuration = configuration(&[], "Fail");
        configuration["webhooks"][0]["matchConditions"] = json!([condition]);
        let answer = probe.post(CONFIGURATIONS, configuration).await;
        assert_eq!(refusal(&answer), (422, "Invalid"), "{condition}");
        let message = answer.1["message"].as_str().unwrap();
        assert!(message.contains(expected), "{message}");
    }
    let twice = json!({ "name": "c", "expression": "true" });
    let mut duplicate = configuration(&[], "Fail");
    duplicate["webhooks"][0]["matchConditions"] = json!([twice, twice]);
    let answer = Probe::new().post(CONFIGURATIONS, duplicate).await;
    assert_eq!(
        answer.1["details"]["causes"][0]["field"], "webhooks[0].matchConditions[1].name",
        "{answer:?}"
    );
}
