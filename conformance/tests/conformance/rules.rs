//! Rules of custom resources in the Common Expression Language: `x-kubernetes-validations`.

use crate::maps::ask;
use crate::schemas::{Custom, assert_causes, causes};
use http::Request;
use kube_conformance::{Server, claims};
use serde_json::{Value, json};

claims! {
    shared: [
        rules_are_evaluated_and_reported,
        transition_rules_compare_with_the_old_state,
        functions_of_kubernetes_are_known,
        rules_are_not_checked_if_types_are_invalid,
        rules_that_do_not_compile_are_refused,
        a_rule_that_an_unchanged_value_breaks_is_not_enforced,
    ],
    alone: [],
}

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn status() -> Value {
    json!({ "type": "object", "properties": { "n": { "type": "integer" } } })
}

fn spec() -> Value {
    json!({ "type": "object", "properties": {
        "a": { "type": "string", "maxLength": 20 },
        "min": { "type": "integer" },
        "max": { "type": "integer" },
        "color": { "type": "string", "maxLength": 20, "x-kubernetes-validations": [
            { "rule": "self != 'green'", "messageExpression": "'color ' + self + ' is not allowed'" },
            { "rule": "self != 'black'", "reason": "FieldValueForbidden", "message": "too dark" },
        ] },
        "list": { "type": "array", "maxItems": 10, "items": { "type": "object",
            "properties": { "x-y": { "type": "integer" } }, "x-kubernetes-validations": [{ "rule": "self.x__dash__y > 0" }] } },
        "map": { "type": "object", "maxProperties": 10, "additionalProperties": { "type": "integer" },
            "x-kubernetes-validations": [{ "rule": "self.all(key, self[key] < 5)", "message": "values below 5" }] },
    }, "x-kubernetes-validations": [
        { "rule": "!has(self.min) || !has(self.max) || self.min <= self.max", "message": "min must not be above max", "fieldPath": ".min" },
    ] })
}

async fn rules_are_evaluated_and_reported(server: &Server) {
    let gadgets = Custom::define(server, spec(), status()).await;
    let broken = gadgets.create(
        "a",
        json!({ "spec": { "min": 3, "max": 2, "color": "green",
        "list": [{ "x-y": 1 }, { "x-y": 0 }], "map": { "k": 7 } } }),
    );
    let mut expected = [
        "FieldValueInvalid spec.min: Invalid value: min must not be above max",
        "FieldValueInvalid spec.color: Invalid value: \"green\": color green is not allowed",
        "FieldValueInvalid spec.list[1]: Invalid value: failed rule: self.x__dash__y > 0",
        "FieldValueInvalid spec.map: Invalid value: values below 5",
    ];
    expected.sort_unstable();
    assert_causes(server, &causes(&broken.await), &expected);
    let forbidden = gadgets.create("a", json!({ "spec": { "color": "black" } })).await;
    assert_causes(server, &causes(&forbidden), &["FieldValueForbidden spec.color: Forbidden: too dark"]);
    let missing = gadgets.create("a", json!({ "spec": { "list": [{}] } })).await;
    let expected = "FieldValueInvalid spec.list[0]: Invalid value: \"object\": no such key: x-y evaluating rule: self.x__dash__y > 0";
    let found = causes(&missing);
    assert!(found == [expected] || found == [expected.replace("key: x-y", "key: x__dash__y")], "{found:?}");
    let good =
        json!({ "spec": { "min": 1, "max": 2, "color": "red", "list": [{ "x-y": 1 }], "map": { "k": 4 } } });
    let made = gadgets.create("a", good.clone()).await;
    assert_eq!(made["spec"], good["spec"], "{made}");
}

async fn transition_rules_compare_with_the_old_state(server: &Server) {
    let spec = json!({ "type": "object", "properties": {
        "fixed": { "type": "string", "x-kubernetes-validations": [{ "rule": "self == oldSelf", "message": "fixed is immutable" }] },
        "size": { "type": "integer", "x-kubernetes-validations": [{ "rule": "self >= oldSelf" }] },
        "keyed": { "type": "array", "maxItems": 5, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": { "type": "object", "required": ["k"], "properties": { "k": { "type": "string", "maxLength": 9 },
                "v": { "type": "integer", "x-kubernetes-validations": [{ "rule": "self == oldSelf", "message": "v is immutable" }] } } } },
    } });
    let gadgets = Custom::define(server, spec, status()).await;
    gadgets
        .create("a", json!({ "spec": { "fixed": "x", "size": 2, "keyed": [{ "k": "one", "v": 1 }] } }))
        .await;
    let refused = gadgets.merge("a", json!({ "spec": { "fixed": "y", "size": 1 } })).await;
    let mut expected = [
        "FieldValueInvalid spec.fixed: Invalid value: \"y\": fixed is immutable",
        "FieldValueInvalid spec.size: Invalid value: 1: failed rule: self >= oldSelf",
    ];
    expected.sort_unstable();
    assert_causes(server, &causes(&refused), &expected);
    let keyed = json!([{ "k": "two", "v": 5 }, { "k": "one", "v": 2 }]);
    let refused = gadgets.merge("a", json!({ "spec": { "keyed": keyed } })).await;
    assert_causes(
        server,
        &causes(&refused),
        &["FieldValueInvalid spec.keyed[1].v: Invalid value: 2: v is immutable"],
    );
    let grown = gadgets.merge("a", json!({ "spec": { "size": 3, "keyed": [{ "k": "two", "v": 5 }] } })).await;
    assert_eq!(
        grown["spec"],
        json!({ "fixed": "x", "size": 3, "keyed": [{ "k": "two", "v": 5 }] }),
        "{grown}"
    );
    // Removing the field and adding it again has no state before to compare with.
    gadgets.merge("a", json!({ "spec": { "fixed": null } })).await;
    let again = gadgets.merge("a", json!({ "spec": { "fixed": "z" } })).await;
    assert_eq!(again["spec"]["fixed"], "z", "{again}");
}

async fn functions_of_kubernetes_are_known(server: &Server) {
    let rules = [
        ("self.s.startsWith('ab') && self.s.endsWith('ef') && self.s.contains('cd')", true),
        ("self.s.matches('^[a-f]+$') && size(self.s) == 6 && self.s.size() == 6", true),
        (
            "self.s.upperAscii() == 'ABCDEF' && self.s.substring(1, 3) == 'bc' && self.s.indexOf('c') == 2",
            true,
        ),
        ("self.s.find('[c-d]+') == 'cd' && self.s.findAll('[a-z]{2}').size() == 3", true),
        (
            "self.l.isSorted() && self.l.sum() == 6 && self.l.min() == 1 && self.l.max() == 3 && self.l.indexOf(2) == 1",
            true,
        ),
        ("self.l.all(x, x > 0) && self.l.exists(x, x == 2) && self.l.exists_one(x, x == 3)", true),
        ("self.l.filter(x, x > 1).map(x, x * 2) == [4, 6]", true),
        ("2 in self.l && !('x' in self.m) && self.m['a'] == 'b'", true),
        ("has(self.s) && !has(self.none)", true),
        ("timestamp('2024-01-02T03:04:05Z') < self.t && self.t.getFullYear() == 2025", true),
        ("duration('90m') == self.d", true),
        ("type(self.s) == string && string(self.n) == '1.5' && int(self.n) == 1", true),
        ("self.ios == 3 || self.ios == '3'", true),
        ("self.s == 'x' ? true : self.n > 1.0", true),
        ("self.l.size() > 3", false),
    ];
    let validations: Vec<_> = rules.iter().map(|(rule, _)| json!({ "rule": rule })).collect();
    let spec = json!({ "type": "object", "x-kubernetes-validations": validations, "properties": {
        "s": { "type": "string", "maxLength": 20 }, "none": { "type": "string" }, "n": { "type": "number" },
        "l": { "type": "array", "maxItems": 10, "items": { "type": "integer" } },
        "m": { "type": "object", "maxProperties": 10, "additionalProperties": { "type": "string", "maxLength": 10 } },
        "t": { "type": "string", "format": "date-time", "maxLength": 30 }, "d": { "type": "string", "format": "duration", "maxLength": 30 },
        "ios": { "x-kubernetes-int-or-string": true },
    } });
    let gadgets = Custom::define(server, spec, status()).await;
    let refused = gadgets.create(
        "a",
        json!({ "spec": { "s": "abcdef", "l": [1, 2, 3], "m": { "a": "b" }, "n": 1.5,
        "t": "2025-01-02T03:04:05Z", "d": "1h30m", "ios": 3 } }),
    );
    let failed = rules.iter().filter(|(_, holds)| !holds);
    let expected: Vec<_> = failed
        .map(|(rule, _)| format!("FieldValueInvalid spec: Invalid value: failed rule: {rule}"))
        .collect();
    assert_causes(server, &causes(&refused.await), &expected);
}

async fn rules_are_not_checked_if_types_are_invalid(server: &Server) {
    let gadgets = Custom::define(server, spec(), status()).await;
    let broken = gadgets.create("a", json!({ "spec": { "min": "x", "color": "green" } })).await;
    let expected = [
        "FieldValueInvalid <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; \
         correct the existing errors to complete validation",
        "FieldValueTypeInvalid spec.min: Invalid value: \"string\": spec.min in body must be of type integer: \"string\"",
    ];
    assert_causes(server, &causes(&broken), &expected);
}

async fn rules_that_do_not_compile_are_refused(server: &Server) {
    let gadgets = Custom::named(server).await;
    let table = [
        ("self.none == 1", "undefined field 'none'"),
        ("self.a ==", "Syntax error"),
        ("other == 1", "undeclared reference to 'other' (in container '')"),
        ("self.a.unknown()", "undeclared reference to 'unknown' (in container '')"),
    ];
    for (rule, expected) in table {
        let spec = json!({ "type": "object", "properties": { "a": { "type": "string" } }, "x-kubernetes-validations": [{ "rule": rule }] });
        let schema = json!({ "type": "object", "properties": { "spec": spec } });
        let version = json!([{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }]);
        let refused = ask(&gadgets.client, Request::post(CRDS), gadgets.definition(version)).await;
        let causes = causes(&refused);
        let field = "FieldValueInvalid spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule: ";
        assert!(
            causes.len() == 1 && causes[0].starts_with(field) && causes[0].contains(expected),
            "{rule}: {causes:?}"
        );
    }
    let items = json!({ "type": "array", "maxItems": 3, "items": { "type": "string", "x-kubernetes-validations": [{ "rule": "self == oldSelf" }] } });
    let spec = json!({ "type": "object", "properties": { "l": items } });
    let schema = json!({ "type": "object", "properties": { "spec": spec } });
    let version =
        json!([{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }]);
    let refused = ask(&gadgets.client, Request::post(CRDS), gadgets.definition(version)).await;
    let list = "spec.validation.openAPIV3Schema.properties[spec].properties[l]";
    let expected = format!(
        "FieldValueInvalid {list}.items.x-kubernetes-validations[0].rule: Invalid value: \"self == oldSelf\": oldSelf cannot be used \
         on the uncorrelatable portion of the schema within {list}"
    );
    assert_causes(server, &causes(&refused), &[expected]);
}

async fn a_rule_that_an_unchanged_value_breaks_is_not_enforced(server: &Server) {
    let spec = json!({ "type": "object", "properties": {
        "a": { "type": "string", "maxLength": 9, "x-kubernetes-validations": [{ "rule": "self != 'bad'", "message": "bad" }] },
        "b": { "type": "string" } } });
    let loose =
        json!({ "type": "object", "properties": { "a": { "type": "string" }, "b": { "type": "string" } } });
    let gadgets = Custom::define(server, loose, status()).await;
    gadgets.create("a", json!({ "spec": { "a": "bad", "b": "x" } })).await;
    let schema = json!({ "type": "object", "properties": { "spec": spec, "status": status() } });
    let version = json!([{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema }, "subresources": { "status": {} } }]);
    let path = format!("{CRDS}/{}.schemas.example.com", gadgets.plural);
    let request = Request::patch(&path).header("content-type", "application/merge-patch+json");
    ask(&gadgets.client, request, json!({ "spec": { "versions": version } })).await;
    kube_conformance::eventually("the new rule", async || {
        let probe = gadgets.create("probe", json!({ "spec": { "a": "bad" } })).await;
        if probe["code"] == 422 {
            return Ok(());
        }
        ask(&gadgets.client, Request::delete(format!("{}/probe", gadgets.folder("v1"))), Value::Null).await;
        Err(probe.to_string())
    })
    .await;
    let kept = gadgets.merge("a", json!({ "spec": { "b": "y" } })).await;
    assert_eq!(kept["spec"]["b"], "y", "{kept}");
}
