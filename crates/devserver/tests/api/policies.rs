//! Validating admission policies: their selectors and decisions.

use crate::probe::{MAPS, Probe, named, refusal};
use http::Request;
use kube::client::Body;
use serde_json::{Value, json};

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";

fn extend(object: &mut Value, fields: Value) {
    let Value::Object(fields) = fields else { panic!("{fields} is not an object") };
    object.as_object_mut().unwrap().extend(fields);
}

/// A policy `p` for configmaps with these fields.
fn policy(fields: Value) -> Value {
    let rule =
        json!({ "operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"] });
    let mut spec = json!({ "matchConstraints": { "resourceRules": [rule] } });
    extend(&mut spec, fields);
    json!({ "metadata": { "name": "p" }, "spec": spec })
}

/// A binding `b` of the policy with these fields.
fn binding(fields: Value) -> Value {
    let mut spec = json!({ "policyName": "p", "validationActions": ["Deny"] });
    extend(&mut spec, fields);
    json!({ "metadata": { "name": "b" }, "spec": spec })
}

async fn enforced(policy_fields: Value, binding_fields: Value) -> Probe {
    let probe = Probe::new();
    probe.make(&format!("{GROUP}/validatingadmissionpolicies"), policy(policy_fields)).await;
    probe.make(&format!("{GROUP}/validatingadmissionpolicybindings"), binding(binding_fields)).await;
    probe
}

fn validation(expression: &str) -> Value {
    json!({ "validations": [{ "expression": expression }] })
}

fn message(answer: &(u16, Value)) -> &str {
    answer.1["message"].as_str().unwrap()
}

#[tokio::test]
async fn a_policy_denies_requests() {
    let probe = enforced(validation("object.metadata.name != 'a'"), json!({})).await;
    let answer = probe.post(MAPS, named("a")).await;
    assert_eq!(refusal(&answer), (422, "Invalid"));
    let cause = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: failed expression: object.metadata.name != 'a'";
    assert_eq!(message(&answer), format!("configmaps \"a\" is forbidden: {cause}"));
    assert_eq!(
        answer.1["details"],
        json!({ "name": "a", "kind": "configmaps", "causes": [{ "message": cause }] })
    );
    probe.make_maps(["b"]).await;

    // Updates, and deletions, of which the object is null.
    let map = format!("{MAPS}/b");
    let probe = enforced(validation("object == null || !has(object.data)"), json!({})).await;
    probe.make_maps(["b"]).await;
    assert_eq!(probe.patch(&map, json!({ "data": { "k": "v" } })).await.0, 422);
    assert_eq!(probe.patch(&map, json!({ "metadata": { "labels": { "k": "v" } } })).await.0, 200);
    assert_eq!(probe.delete(&map).await.0, 200);
    let probe = enforced(validation("request.operation != 'DELETE'"), json!({})).await;
    probe.make_maps(["b"]).await;
    assert_eq!(probe.delete(&map).await.0, 422);
    assert_eq!(probe.delete(MAPS).await.0, 422);
    assert_eq!(probe.get(&map).await.0, 200);
}

#[tokio::test]
async fn a_policy_without_a_binding_has_no_effect() {
    let probe = Probe::new();
    probe.make(&format!("{GROUP}/validatingadmissionpolicies"), policy(validation("false"))).await;
    probe.make_maps(["a"]).await;
    let other = binding(json!({ "policyName": "other" }));
    probe.make(&format!("{GROUP}/validatingadmissionpolicybindings"), other).await;
    probe.make_maps(["b"]).await;
}

#[tokio::test]
async fn messages_and_reasons_are_those_of_the_policy() {
    for (fields, code, reason, expected) in [
        (json!({ "message": "not on Fridays" }), 422, "Invalid", "not on Fridays"),
        (json!({ "message": "no", "reason": "Forbidden" }), 403, "Forbidden", "no"),
        (
            json!({ "reason": "RequestEntityTooLarge" }),
            413,
            "RequestEntityTooLarge",
            "failed expression: object.data.size() > 5",
        ),
        (
            json!({ "message": "few", "messageExpression": "'only ' + string(object.data.size()) + ' entries'" }),
            422,
            "Invalid",
            "only 1 entries",
        ),
        // A message that cannot be computed, is empty, or has several lines.
        (json!({ "message": "few", "messageExpression": "string(object.missing)" }), 422, "Invalid", "few"),
        (json!({ "message": "few", "messageExpression": "' '" }), 422, "Invalid", "few"),
        (json!({ "message": "few", "messageExpression": "'a\\nb'" }), 422, "Invalid", "few"),
    ] {
        let mut validation = json!({ "expression": "object.data.size() > 5" });
        validation.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let probe = enforced(json!({ "validations": [validation] }), json!({})).await;
        let answer = probe.post(MAPS, json!({ "metadata": { "name": "a" }, "data": { "k": "v" } })).await;
        assert_eq!(refusal(&answer), (code, reason), "{fields}");
        assert!(message(&answer).ends_with(&format!("denied request: {expected}")), "{answer:?}");
    }
}

#[tokio::test]
async fn the_actions_of_the_binding_decide() {
    for (actions, code) in [
        (json!(["Deny"]), 422),
        (json!(["Warn"]), 201),
        (json!(["Audit"]), 201),
        (json!(["Warn", "Audit"]), 201),
    ] {
        let fields = json!({ "validations": [{ "expression": "false", "message": "no" }] });
        let probe = enforced(fields, json!({ "validationActions": actions })).await;
        let body = Body::from(named("a").to_string().into_bytes());
        let request = Request::post(MAPS).header("content-type", "application/json").body(body).unwrap();
        let response = probe.send(request).await;
        assert_eq!(response.status(), code, "{actions}");
        let warning = response.headers().get("warning").map(|value| value.to_str().unwrap().to_owned());
        let expected = r#"299 - "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': no""#;
        let warns = actions.to_string().contains("Warn");
        assert_eq!(warning.as_deref(), warns.then_some(expected), "{actions}");
    }
}

#[tokio::test]
async fn constraints_and_conditions_select_the_requests() {
    let on = json!({ "matchLabels": { "policies": "on" } });
    let rule = |fields: Value| {
        let mut rule =
            json!({ "operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["*"] });
        rule.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        json!({ "matchConstraints": { "resourceRules": [rule] } })
    };
    let excluded = json!({ "matchConstraints": {
        "resourceRules": [{ "operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"] }],
        "excludeResourceRules": [{ "operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["*"], "resources": ["configmaps"] }],
    } });
    let selects = |selector: &str| {
        let rule = rule(json!({}));
        json!({ "matchConstraints": { "resourceRules": rule["matchConstraints"]["resourceRules"], selector: on } })
    };
    for (fields, is_denied) in [
        (rule(json!({})), true),
        (rule(json!({ "operations": ["UPDATE"] })), false),
        (rule(json!({ "resourceNames": ["a"] })), true),
        (rule(json!({ "resourceNames": ["b"] })), false),
        (rule(json!({ "resources": ["secrets"] })), false),
        (excluded, false),
        (selects("objectSelector"), false),
        (selects("namespaceSelector"), false),
        (json!({ "matchConditions": [{ "name": "c", "expression": "object.metadata.name == 'a'" }] }), true),
        (json!({ "matchConditions": [{ "name": "c", "expression": "object.metadata.name == 'b'" }] }), false),
    ] {
        let mut fields = fields;
        fields["validations"] = json!([{ "expression": "false" }]);
        let probe = enforced(fields.clone(), json!({})).await;
        assert_eq!(probe.post(MAPS, named("a")).await.0, if is_denied { 422 } else { 201 }, "{fields}");
    }
    for (selector, is_denied) in [(on, false), (json!({}), true)] {
        let resources = json!({ "matchResources": { "objectSelector": selector } });
        let probe = enforced(validation("false"), resources).await;
        assert_eq!(probe.post(MAPS, named("a")).await.0, if is_denied { 422 } else { 201 });
    }
}

#[tokio::test]
async fn expressions_that_fail_follow_the_failure_policy() {
    for (policy, code) in [("Fail", 422), ("Ignore", 201)] {
        for fields in [
            json!({ "validations": [{ "expression": "object.missing > 1" }] }),
            json!({
                "validations": [{ "expression": "true" }],
                "matchConditions": [{ "name": "c", "expression": "object.missing > 1" }],
            }),
            json!({ "auditAnnotations": [{ "key": "k", "valueExpression": "string(object.missing)" }] }),
        ] {
            let mut fields = fields;
            fields["failurePolicy"] = policy.into();
            let probe = enforced(fields.clone(), json!({})).await;
            let answer = probe.post(MAPS, named("a")).await;
            assert_eq!(answer.0, code, "{fields} {answer:?}");
            if code == 422 {
                assert!(message(&answer).ends_with("resulted in error: no such key: missing"), "{answer:?}");
            }
        }
    }
}

#[tokio::test]
async fn variables_are_computed_from_those_before_them() {
    let variables = json!([
        { "name": "data", "expression": "object.?data.orValue({})" },
        { "name": "count", "expression": "variables.data.size()" },
        { "name": "broken", "expression": "object.missing.field" },
    ]);
    let fields = |expression: &str| {
        json!({
            "variables": variables,
            "validations": [{ "expression": expression, "messageExpression": "'count: ' + string(variables.count)" }],
        })
    };
    let probe = enforced(fields("variables.count > 0"), json!({})).await;
    let answer = probe.post(MAPS, named("a")).await;
    assert!(message(&answer).ends_with("denied request: count: 0"), "{answer:?}");
    probe.make(MAPS, json!({ "metadata": { "name": "a" }, "data": { "k": "v" } })).await;
    // A variable that fails matters only to the expressions that use it.
    let probe = enforced(fields("variables.broken == 1"), json!({})).await;
    let answer = probe.post(MAPS, named("a")).await;
    let expected = "expression 'variables.broken == 1' resulted in error: composited variable \"broken\" fails to evaluate: \
                    no such key: missing";
    assert!(message(&answer).ends_with(expected), "{answer:?}");
}

#[tokio::test]
async fn expressions_see_the_namespace() {
    let expression = "namespaceObject.metadata.name == 'default' && namespaceObject.status.phase == 'Active'";
    let probe = enforced(validation(expression), json!({})).await;
    probe.make_maps(["a"]).await;
    probe.make("/api/v1/namespaces", named("other")).await;
    assert_eq!(probe.post("/api/v1/namespaces/other/configmaps", named("a")).await.0, 422);
}

#[tokio::test]
async fn parameters_are_found_by_name_and_by_selector() {
    let fields = json!({
        "paramKind": { "apiVersion": "v1", "kind": "ConfigMap" },
        "matchConditions": [{ "name": "labeled", "expression": "!has(object.metadata.labels)" }],
        "validations": [{
            "expression": "object.metadata.name.startsWith(params.data.prefix)",
            "messageExpression": "'names start with ' + params.data.prefix + ' by ' + params.kind",
        }],
    });
    let by_name =
        |action: &str| json!({ "paramRef": { "name": "limits", "parameterNotFoundAction": action } });
    let limits = json!({ "metadata": { "name": "limits", "labels": { "role": "limits" } }, "data": { "prefix": "web-" } });
    for reference in [
        by_name("Deny"),
        json!({ "paramRef": { "name": "limits", "namespace": "default", "parameterNotFoundAction": "Deny" } }),
        json!({ "paramRef": { "selector": { "matchLabels": { "role": "limits" } }, "parameterNotFoundAction": "Deny" } }),
    ] {
        let probe = enforced(fields.clone(), json!({ "policyName": "none" })).await;
        probe.make(MAPS, limits.clone()).await;
        let path = format!("{GROUP}/validatingadmissionpolicybindings/b");
        let mut reference = reference;
        reference["policyName"] = "p".into();
        assert_eq!(probe.patch(&path, json!({ "spec": reference })).await.0, 200);
        let answer = probe.post(MAPS, named("db-1")).await;
        assert!(
            message(&answer).ends_with("denied request: names start with web- by ConfigMap"),
            "{answer:?}"
        );
        probe.make_maps(["web-1"]).await;
    }
    let probe = enforced(fields.clone(), by_name("Deny")).await;
    let expected = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: failed to configure binding: no params found for \
                    policy binding with `Deny` parameterNotFoundAction";
    let answer = probe.post(MAPS, named("db-1")).await;
    assert!(message(&answer).ends_with(expected), "{answer:?}");
    let probe = enforced(fields.clone(), by_name("Allow")).await;
    probe.make_maps(["db-1"]).await;
    // Without a reference, the parameter is null.
    let probe = enforced(fields, json!({})).await;
    let answer = probe.post(MAPS, named("db-1")).await;
    assert!(
        message(&answer).contains("denied request: expression 'object.metadata.name.startsWith"),
        "{answer:?}"
    );
    let unknown = json!({ "paramKind": { "apiVersion": "example.com/v1", "kind": "Limit" }, "validations": [{ "expression": "true" }] });
    let answer = enforced(unknown, by_name("Allow")).await.post(MAPS, named("a")).await;
    let expected = "ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: failed to find resource referenced by \
                    paramKind: 'example.com/v1, Kind=Limit'";
    assert!(message(&answer).ends_with(expected), "{answer:?}");
}

#[tokio::test]
async fn an_expression_with_too_many_steps_denies_the_request() {
    let nested =
        "object.data.all(a, object.data.all(b, object.data.all(c, object.data.all(d, a + b + c + d != ''))))";
    let probe = enforced(validation(nested), json!({})).await;
    let data: serde_json::Map<_, _> = (0..100).map(|n| (format!("k{n}"), json!("v"))).collect();
    let answer = probe.post(MAPS, json!({ "metadata": { "name": "a" }, "data": data })).await;
    assert!(message(&answer).contains("running out of cost budget"), "{answer:?}");
}

#[tokio::test]
async fn invalid_policies_are_refused() {
    for (fields, field) in [
        (json!({}), "spec.validations"),
        (json!({ "validations": [{ "expression": "" }] }), "spec.validations[0].expression"),
        (json!({ "validations": [{ "expression": "object.x" }] }), "spec.validations[0].expression"),
        (json!({ "validations": [{ "expression": "params.x == 1" }] }), "spec.validations[0].expression"),
        (json!({ "validations": [{ "expression": "variables.x == 1" }] }), "spec.validations[0].expression"),
        (
            json!({ "validations": [{ "expression": "quantity('1') == quantity('1')" }] }),
            "spec.validations[0].expression",
        ),
        (
            json!({ "validations": [{ "expression": "true", "messageExpression": "1" }] }),
            "spec.validations[0].messageExpression",
        ),
        (
            json!({ "validations": [{ "expression": "true", "message": "a\nb" }] }),
            "spec.validations[0].message",
        ),
        (json!({ "validations": [{ "expression": "true", "reason": "Why" }] }), "spec.validations[0].reason"),
        (
            json!({ "validations": [{ "expression": "true" }], "failurePolicy": "Maybe" }),
            "spec.failurePolicy",
        ),
        (
            json!({ "validations": [{ "expression": "true" }], "matchConstraints": null }),
            "spec.matchConstraints",
        ),
        (
            json!({ "validations": [{ "expression": "true" }], "matchConstraints": {} }),
            "spec.matchConstraints.resourceRules",
        ),
    ] {
        let answer =
            Probe::new().post(&format!("{GROUP}/validatingadmissionpolicies"), policy(fields.clone())).await;
        assert_eq!(refusal(&answer), (422, "Invalid"), "{fields}");
        assert_eq!(answer.1["details"]["causes"][0]["field"], field, "{answer:?}");
    }
}

#[tokio::test]
async fn invalid_parts_of_policies_are_refused() {
    let rules = json!({ "resourceRules": [{ "operations": ["READ"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"] }] });
    for (fields, field) in [
        (
            json!({ "validations": [{ "expression": "true" }], "matchConstraints": rules }),
            "spec.matchConstraints.resourceRules[0].operations[0]",
        ),
        (
            json!({ "validations": [{ "expression": "true" }], "variables": [{ "name": "if", "expression": "1" }] }),
            "spec.variables[0].name",
        ),
        (
            json!({ "validations": [{ "expression": "true" }], "variables": [{ "name": "a", "expression": "variables.b" }] }),
            "spec.variables[0].expression",
        ),
        (
            json!({ "validations": [{ "expression": "true" }], "matchConditions": [{ "name": "c", "expression": "1" }] }),
            "spec.matchConditions[0].expression",
        ),
        (
            json!({ "auditAnnotations": [{ "key": "k", "valueExpression": "1" }] }),
            "spec.auditAnnotations[0].valueExpression",
        ),
        (
            json!({ "validations": [{ "expression": "true" }], "paramKind": { "kind": "A" } }),
            "spec.paramKind.apiVersion",
        ),
    ] {
        let answer =
            Probe::new().post(&format!("{GROUP}/validatingadmissionpolicies"), policy(fields.clone())).await;
        assert_eq!(refusal(&answer), (422, "Invalid"), "{fields}");
        assert_eq!(answer.1["details"]["causes"][0]["field"], field, "{answer:?}");
    }
}

#[tokio::test]
async fn invalid_bindings_are_refused() {
    for (fields, field) in [
        (json!({ "policyName": "" }), "spec.policyName"),
        (json!({ "validationActions": [] }), "spec.validationActions"),
        (json!({ "validationActions": ["Deny", "Warn"] }), "spec.validationActions"),
        (json!({ "validationActions": ["Deny", "Deny"] }), "spec.validationActions[1]"),
        (json!({ "validationActions": ["No"] }), "spec.validationActions[0]"),
        (json!({ "paramRef": { "parameterNotFoundAction": "Deny" } }), "spec.paramRef"),
        (json!({ "paramRef": { "name": "a" } }), "spec.paramRef.parameterNotFoundAction"),
        (
            json!({ "paramRef": { "name": "a", "selector": {}, "parameterNotFoundAction": "Deny" } }),
            "spec.paramRef.name",
        ),
    ] {
        let path = format!("{GROUP}/validatingadmissionpolicybindings");
        let answer = Probe::new().post(&path, binding(fields.clone())).await;
        assert_eq!(refusal(&answer), (422, "Invalid"), "{fields}");
        assert_eq!(answer.1["details"]["causes"][0]["field"], field, "{answer:?}");
    }
}
