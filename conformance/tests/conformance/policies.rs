//! Validating admission policies, and the match conditions of webhooks.

use crate::maps::{Maps, ask};
use http::Request;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_conformance::{Server, claims, eventually};
use serde_json::{Value, json};

claims! {
    shared: [
        a_policy_denies_requests_with_its_message_and_reason,
        expressions_that_fail_follow_the_failure_policy,
        variables_and_parameters_are_evaluated,
        conditions_select_the_requests_of_a_webhook,
        invalid_policies_are_refused,
        invalid_bindings_are_refused,
        invalid_match_conditions_are_refused,
    ],
    alone: [],
}

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";

/// A policy with a binding for the config maps of one namespace.
struct Enforced {
    maps: Maps<ConfigMap>,
}

impl Enforced {
    /// Creates a policy with these fields, and waits until it denies a request that breaks it.
    async fn start(server: &Server, fields: Value, binding: Value) -> Self {
        let maps = Maps::<ConfigMap>::new(server).await;
        let name = &maps.namespace;
        let rule = json!({ "operations": ["CREATE", "UPDATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"] });
        let selector = json!({ "matchLabels": { "kubernetes.io/metadata.name": name } });
        let constraints = json!({ "resourceRules": [rule], "namespaceSelector": selector });
        let mut spec = json!({ "matchConstraints": constraints });
        // The probe shows that the policy is in effect.
        let mut validations = vec![json!({ "expression": "object.metadata.name != 'probe'" })];
        let mut fields = fields;
        validations.extend(fields["validations"].take().as_array().unwrap().clone());
        fields["validations"] = validations.into();
        spec.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let policy = json!({ "metadata": { "name": name }, "spec": spec });
        let made =
            ask(&maps.client, Request::post(format!("{GROUP}/validatingadmissionpolicies")), policy).await;
        assert_eq!(made["spec"]["matchConstraints"]["matchPolicy"], "Equivalent", "{made}");
        let mut spec = json!({ "policyName": name, "validationActions": ["Deny"] });
        spec.as_object_mut().unwrap().extend(binding.as_object().unwrap().clone());
        let binding = json!({ "metadata": { "name": name }, "spec": spec });
        let path = format!("{GROUP}/validatingadmissionpolicybindings");
        let made = ask(&maps.client, Request::post(path), binding).await;
        assert_eq!(made["spec"]["policyName"], **name, "{made}");
        Self { maps }
    }

    async fn in_effect(&self) {
        eventually("the policy is in effect", async || {
            let answer = self
                .send(Request::post(self.path("?dryRun=All")), json!({ "metadata": { "name": "probe" } }))
                .await;
            let message = answer["message"].as_str().unwrap_or_default();
            if message.ends_with("failed expression: object.metadata.name != 'probe'") {
                Ok(())
            } else {
                Err(answer.to_string())
            }
        })
        .await;
    }

    fn path(&self, rest: &str) -> String {
        format!("/api/v1/namespaces/{}/configmaps{rest}", self.maps.namespace)
    }

    async fn send(&self, request: http::request::Builder, body: Value) -> Value {
        ask(&self.maps.client, request, body).await
    }

    async fn create(&self, name: &str, data: Value) -> Value {
        self.send(Request::post(self.path("")), json!({ "metadata": { "name": name }, "data": data })).await
    }

    /// Returns the message of a denial, in full.
    fn denial(&self, object: &str, message: &str) -> String {
        let name = &self.maps.namespace;
        format!(
            "configmaps {object:?} is forbidden: ValidatingAdmissionPolicy '{name}' with binding '{name}' denied request: {message}"
        )
    }

    async fn stop(self) {
        for plural in ["validatingadmissionpolicybindings", "validatingadmissionpolicies"] {
            let path = format!("{GROUP}/{plural}/{}", self.maps.namespace);
            self.send(Request::delete(path), Value::Null).await;
        }
    }
}

async fn a_policy_denies_requests_with_its_message_and_reason(server: &Server) {
    let validations = json!([
        { "expression": "object.metadata.name != 'a'", "message": "not a", "reason": "Forbidden" },
        { "expression": "object.metadata.name != 'b'", "messageExpression": "'not ' + object.metadata.name" },
    ]);
    let policy = Enforced::start(server, json!({ "validations": validations }), json!({})).await;
    policy.in_effect().await;
    let denied = policy.create("a", json!({})).await;
    let message = policy.denial("a", "not a");
    assert_eq!((&denied["code"], &denied["reason"]), (&json!(403), &json!("Forbidden")), "{denied}");
    assert_eq!(denied["message"], message);
    let (_, cause) = message.split_once(" is forbidden: ").unwrap();
    let details = &denied["details"];
    assert_eq!(
        (&details["name"], &details["kind"], &details["causes"][0]["message"]),
        (&json!("a"), &json!("configmaps"), &json!(cause))
    );
    let denied = policy.create("b", json!({})).await;
    assert_eq!((&denied["code"], &denied["reason"]), (&json!(422), &json!("Invalid")), "{denied}");
    assert_eq!(denied["message"], policy.denial("b", "not b"));
    let made = policy.create("c", json!({})).await;
    assert_eq!(made["metadata"]["name"], "c", "{made}");
    policy.stop().await;
}

async fn expressions_that_fail_follow_the_failure_policy(server: &Server) {
    for failure_policy in ["Fail", "Ignore"] {
        let fields = json!({
            "failurePolicy": failure_policy,
            "validations": [{ "expression": "object.data.missing == 'x'" }],
        });
        let policy = Enforced::start(server, fields, json!({})).await;
        policy.in_effect().await;
        let answer = policy.create("a", json!({ "k": "v" })).await;
        match failure_policy {
            "Ignore" => assert_eq!(answer["metadata"]["name"], "a", "{answer}"),
            _ => {
                let message =
                    "expression 'object.data.missing == 'x'' resulted in error: no such key: missing";
                assert_eq!(
                    (&answer["code"], &answer["reason"]),
                    (&json!(422), &json!("Invalid")),
                    "{answer}"
                );
                assert_eq!(answer["message"], policy.denial("a", message));
            }
        }
        policy.stop().await;
    }
}

async fn variables_and_parameters_are_evaluated(server: &Server) {
    let fields = json!({
        "paramKind": { "apiVersion": "v1", "kind": "ConfigMap" },
        "matchConditions": [{ "name": "unlabeled", "expression": "!has(object.metadata.labels)" }],
        "variables": [
            { "name": "prefix", "expression": "params.data.prefix" },
            { "name": "fits", "expression": "object.metadata.name.startsWith(variables.prefix)" },
        ],
        "validations": [{ "expression": "variables.fits", "messageExpression": "'names start with ' + string(variables.prefix)" }],
    });
    let reference = json!({ "paramRef": { "name": "limits", "parameterNotFoundAction": "Deny" } });
    let policy = Enforced::start(server, fields, reference).await;
    eventually("the missing parameter denies requests", async || {
        let denied = policy.send(Request::post(policy.path("?dryRun=All")), json!({ "metadata": { "name": "web-0" } })).await;
        let message = "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction";
        if denied["message"] == policy.denial("web-0", message) { Ok(()) } else { Err(denied.to_string()) }
    })
    .await;
    let path = format!("{GROUP}/validatingadmissionpolicybindings/{}", policy.maps.namespace);
    let merge = || Request::patch(&path).header("content-type", "application/merge-patch+json");
    let allow = |action: &str| json!({ "spec": { "paramRef": { "parameterNotFoundAction": action } } });
    policy.send(merge(), allow("Allow")).await;
    let limits = json!({ "metadata": { "name": "limits", "labels": { "role": "limits" } }, "data": { "prefix": "web-" } });
    eventually("the parameter is created", async || {
        let made = policy.send(Request::post(policy.path("")), limits.clone()).await;
        if made["metadata"]["name"] == "limits" { Ok(()) } else { Err(made.to_string()) }
    })
    .await;
    eventually("the parameter is used", async || {
        let denied = policy
            .send(Request::post(policy.path("?dryRun=All")), json!({ "metadata": { "name": "db-0" } }))
            .await;
        if denied["message"] == policy.denial("db-0", "names start with web-") {
            Ok(())
        } else {
            Err(denied.to_string())
        }
    })
    .await;
    assert_eq!(policy.create("web-0", json!({})).await["metadata"]["name"], "web-0");
    policy.stop().await;
}

/// The webhook cannot be called, so that a request fails if the conditions select it.
async fn conditions_select_the_requests_of_a_webhook(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    let conditions = json!([
        { "name": "not-open", "expression": "object == null || object.metadata.name != 'open'" },
        { "name": "size", "expression": "request.operation != 'CREATE' || size(object.data.k) > 1" },
    ]);
    let webhook = json!({
        "name": "maps.conformance.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
        "rules": [{ "operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"] }],
        "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": maps.namespace } },
        "clientConfig": { "url": "https://127.0.0.1:1/hook" },
        "matchConditions": conditions,
    });
    let object = json!({ "metadata": { "name": maps.namespace }, "webhooks": [webhook] });
    let configurations = format!("{GROUP}/validatingwebhookconfigurations");
    let made = ask(&maps.client, Request::post(&configurations), object).await;
    assert_eq!(made["webhooks"][0]["matchConditions"], conditions, "{made}");
    let path = format!("/api/v1/namespaces/{}/configmaps", maps.namespace);
    let create = async |name: &str, data: Value| {
        let object = json!({ "metadata": { "name": name }, "data": data });
        ask(&maps.client, Request::post(format!("{path}?dryRun=All")), object).await
    };
    eventually("the webhook is called", async || {
        let failed = create("a", json!({ "k": "long" })).await;
        let message = failed["message"].as_str().unwrap_or_default();
        if message.contains("failed calling webhook") { Ok(()) } else { Err(failed.to_string()) }
    })
    .await;
    assert_eq!(create("open", json!({ "k": "long" })).await["metadata"]["name"], "open");
    assert_eq!(create("a", json!({ "k": "s" })).await["metadata"]["name"], "a");
    // A condition that is false decides, and otherwise one that fails.
    assert_eq!(create("open", json!({})).await["metadata"]["name"], "open");
    let failed = create("a", json!({ "l": "v" })).await;
    let condition = conditions[1]["expression"].as_str().unwrap();
    let message =
        format!("configmaps \"a\" is forbidden: expression '{condition}' resulted in error: no such key: k");
    assert_eq!((&failed["message"], &failed["code"]), (&json!(message), &json!(403)), "{failed}");
    ask(&maps.client, Request::delete(format!("{configurations}/{}", maps.namespace)), Value::Null).await;
}

/// Compares the fields of the causes, and the reason of each.
async fn assert_refused(server: &Server, path: &str, object: Value, expected: &str) {
    let refused = ask(&server.client(), Request::post(path), object).await;
    assert_eq!((&refused["code"], &refused["reason"]), (&json!(422), &json!("Invalid")), "{refused}");
    let cause = &refused["details"]["causes"][0];
    let found = format!(
        "{} {}",
        cause["reason"].as_str().unwrap_or_default(),
        cause["field"].as_str().unwrap_or_default()
    );
    assert_eq!(found, expected, "{refused}");
}

async fn invalid_policies_are_refused(server: &Server) {
    let rule =
        json!({ "operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"] });
    let valid = json!([{ "expression": "true" }]);
    for (fields, expected) in [
        (json!({ "validations": null }), "FieldValueRequired spec.validations"),
        (
            json!({ "validations": [{ "expression": "" }] }),
            "FieldValueRequired spec.validations[0].expression",
        ),
        (
            json!({ "validations": [{ "expression": "object.(" }] }),
            "FieldValueInvalid spec.validations[0].expression",
        ),
        (
            json!({ "validations": [{ "expression": "object.x" }] }),
            "FieldValueInvalid spec.validations[0].expression",
        ),
        (
            json!({ "validations": [{ "expression": "params.x == 1" }] }),
            "FieldValueInvalid spec.validations[0].expression",
        ),
        (
            json!({ "validations": [{ "expression": "request.uid == ''" }] }),
            "FieldValueInvalid spec.validations[0].expression",
        ),
        (
            json!({ "validations": [{ "expression": "true", "messageExpression": "1" }] }),
            "FieldValueInvalid spec.validations[0].messageExpression",
        ),
        (
            json!({ "validations": [{ "expression": "true", "reason": "Why" }] }),
            "FieldValueNotSupported spec.validations[0].reason",
        ),
        (json!({ "failurePolicy": "Maybe" }), "FieldValueNotSupported spec.failurePolicy"),
        (json!({ "matchConstraints": null }), "FieldValueRequired spec.matchConstraints"),
        (
            json!({ "variables": [{ "name": "if", "expression": "1" }] }),
            "FieldValueInvalid spec.variables[0].name",
        ),
        (
            json!({ "variables": [{ "name": "a", "expression": "variables.b" }] }),
            "FieldValueInvalid spec.variables[0].expression",
        ),
        (
            json!({ "auditAnnotations": [{ "key": "k", "valueExpression": "1" }] }),
            "FieldValueInvalid spec.auditAnnotations[0].valueExpression",
        ),
    ] {
        let mut spec = json!({ "matchConstraints": { "resourceRules": [rule] }, "validations": valid });
        spec.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let object = json!({ "metadata": { "name": "invalid" }, "spec": spec });
        assert_refused(server, &format!("{GROUP}/validatingadmissionpolicies"), object, expected).await;
    }
}

async fn invalid_bindings_are_refused(server: &Server) {
    for (fields, expected) in [
        (json!({ "validationActions": ["Deny", "Warn"] }), "FieldValueInvalid spec.validationActions"),
        (json!({ "validationActions": ["Deny", "Deny"] }), "FieldValueDuplicate spec.validationActions[1]"),
        (json!({ "paramRef": { "parameterNotFoundAction": "Deny" } }), "FieldValueRequired spec.paramRef"),
        (json!({ "paramRef": { "name": "a" } }), "FieldValueRequired spec.paramRef.parameterNotFoundAction"),
        (
            json!({ "paramRef": { "name": "a", "selector": {}, "parameterNotFoundAction": "Deny" } }),
            "FieldValueForbidden spec.paramRef.name",
        ),
    ] {
        let mut spec = json!({ "policyName": "p", "validationActions": ["Deny"] });
        spec.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let object = json!({ "metadata": { "name": "invalid" }, "spec": spec });
        assert_refused(server, &format!("{GROUP}/validatingadmissionpolicybindings"), object, expected).await;
    }
}

async fn invalid_match_conditions_are_refused(server: &Server) {
    for (condition, expected) in [
        (
            json!({ "name": "c", "expression": "object.(" }),
            "FieldValueInvalid webhooks[0].matchConditions[0].expression",
        ),
        (
            json!({ "name": "c", "expression": "obj.x == 1" }),
            "FieldValueInvalid webhooks[0].matchConditions[0].expression",
        ),
        (
            json!({ "name": "c", "expression": "request.name" }),
            "FieldValueInvalid webhooks[0].matchConditions[0].expression",
        ),
        (
            json!({ "name": "c", "expression": "object.x" }),
            "FieldValueInvalid webhooks[0].matchConditions[0].expression",
        ),
        (
            json!({ "name": "c", "expression": "" }),
            "FieldValueRequired webhooks[0].matchConditions[0].expression",
        ),
        (
            json!({ "name": "", "expression": "true" }),
            "FieldValueRequired webhooks[0].matchConditions[0].name",
        ),
        (
            json!({ "name": "a b", "expression": "true" }),
            "FieldValueInvalid webhooks[0].matchConditions[0].name",
        ),
    ] {
        let webhook = json!({
            "name": "maps.conformance.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "clientConfig": { "url": "https://127.0.0.1:1/hook" }, "matchConditions": [condition],
        });
        let object = json!({ "metadata": { "name": "invalid" }, "webhooks": [webhook] });
        assert_refused(server, &format!("{GROUP}/validatingwebhookconfigurations"), object, expected).await;
    }
}
