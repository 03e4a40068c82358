//! Custom resources with schemas: validation, defaults, pruning, versions and subresources.

use crate::maps::ask;
use http::Request;
use kube::Client;
use kube_conformance::{Server, claims, eventually};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};

claims! {
    shared: [
        objects_that_break_their_schema_are_refused_with_every_cause,
        types_are_checked_before_anything_else,
        unknown_fields_are_pruned_and_defaults_are_set,
        an_unchanged_field_may_stay_invalid,
        the_status_is_validated_on_its_own,
        the_scale_subresource_reads_and_writes_its_paths,
        versions_show_the_same_object,
        fields_can_be_selected,
        definitions_that_break_a_rule_are_refused,
        a_name_that_is_taken_is_not_accepted,
        columns_are_printed,
        apply_merges_lists_by_the_schema,
    ],
    alone: [],
}

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const MERGE: &str = "application/merge-patch+json";

/// A custom resource that a test defines.
pub(crate) struct Custom {
    pub(crate) client: Client,
    pub(crate) plural: String,
    pub(crate) kind: String,
    pub(crate) namespace: String,
}

impl Custom {
    /// Defines a resource with the properties of `spec` and `status`, and waits until it is served.
    pub(crate) async fn define(server: &Server, spec: Value, status: Value) -> Self {
        let custom = Self::named(server).await;
        let schema = json!({ "type": "object", "properties": { "spec": spec, "status": status } });
        let version = json!({ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema },
            "subresources": { "status": {} } });
        custom.create_definition(json!([version])).await;
        custom
    }

    /// Chooses unique names.
    pub(crate) async fn named(server: &Server) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let (plural, kind) = (format!("gadgets{number}"), format!("Gadget{number}"));
        Self { client: server.client(), plural, kind, namespace: server.namespace().await }
    }

    /// Returns the definition with these versions.
    #[expect(clippy::needless_pass_by_value, reason = "callers pass a new value")]
    pub(crate) fn definition(&self, versions: Value) -> Value {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("{}.schemas.example.com", self.plural) },
            "spec": { "group": "schemas.example.com", "scope": "Namespaced", "versions": versions,
                "names": { "plural": self.plural, "kind": self.kind } },
        })
    }

    /// Creates the definition, and waits until its resource is served.
    pub(crate) async fn create_definition(&self, versions: Value) {
        let made = ask(&self.client, Request::post(CRDS), self.definition(versions)).await;
        assert_eq!(made["kind"], "CustomResourceDefinition", "{made}");
        eventually("the definition is established", async || {
            let found = self.current_definition().await;
            let conditions = found["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let is_established =
                conditions.iter().any(|one| one["type"] == "Established" && one["status"] == "True");
            let list = ask(&self.client, Request::get(self.folder("v1")), Value::Null).await;
            if is_established && list["code"].is_null() { Ok(()) } else { Err(format!("{found} {list}")) }
        })
        .await;
    }

    pub(crate) async fn current_definition(&self) -> Value {
        let path = format!("{CRDS}/{}.schemas.example.com", self.plural);
        ask(&self.client, Request::get(path), Value::Null).await
    }

    pub(crate) fn folder(&self, version: &str) -> String {
        format!("/apis/schemas.example.com/{version}/namespaces/{}/{}", self.namespace, self.plural)
    }

    pub(crate) fn object(&self, name: &str, mut fields: Value) -> Value {
        fields["apiVersion"] = "schemas.example.com/v1".into();
        fields["kind"] = self.kind.clone().into();
        fields["metadata"]["name"] = name.into();
        fields
    }

    pub(crate) async fn create(&self, name: &str, fields: Value) -> Value {
        ask(&self.client, Request::post(self.folder("v1")), self.object(name, fields)).await
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        ask(&self.client, Request::get(format!("{}/{path}", self.folder("v1"))), Value::Null).await
    }

    pub(crate) async fn merge(&self, path: &str, patch: Value) -> Value {
        let request = Request::patch(format!("{}/{path}", self.folder("v1"))).header("content-type", MERGE);
        ask(&self.client, request, patch).await
    }
}

/// The causes of a refusal, in alphabetical order: kube-apiserver lists them in any order.
pub(crate) fn causes(answer: &Value) -> Vec<String> {
    assert_eq!((&answer["code"], &answer["reason"]), (&json!(422), &json!("Invalid")), "{answer}");
    let causes = answer["details"]["causes"].as_array().unwrap_or_else(|| panic!("{answer}"));
    let text = |cause: &Value| {
        let part = |name: &str| cause[name].as_str().unwrap_or_default().to_owned();
        format!("{} {}: {}", part("reason"), part("field"), part("message"))
    };
    let mut causes: Vec<_> = causes.iter().map(text).collect();
    causes.sort();
    causes
}

/// Compares causes. Versions before 1.36 report the same reasons and fields with other texts.
pub(crate) fn assert_causes(server: &Server, found: &[String], expected: &[impl AsRef<str>]) {
    let comparable = |cause: &str| match server.is_older_than(36) {
        true => cause.split(": ").next().unwrap_or_default().to_owned(),
        false => cause.to_owned(),
    };
    let found: Vec<_> = found.iter().map(|cause| comparable(cause)).collect();
    let expected: Vec<_> = expected.iter().map(|cause| comparable(cause.as_ref())).collect();
    assert_eq!(found, expected);
}

fn sorted<const N: usize>(mut expected: [&str; N]) -> [&str; N] {
    expected.sort_unstable();
    expected
}

fn full_spec() -> Value {
    json!({ "type": "object", "required": ["a"], "properties": {
        "a": { "type": "string", "maxLength": 3, "minLength": 1, "pattern": "^[a-z]+$" },
        "any": { "x-kubernetes-preserve-unknown-fields": true },
        "d": { "type": "object", "default": {}, "properties": { "x": { "type": "integer", "default": 3 } } },
        "e": { "type": "string", "enum": ["x", "y"] },
        "emb": { "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true },
        "f": { "type": "number", "maximum": 1.5, "multipleOf": 0.5 },
        "ios": { "x-kubernetes-int-or-string": true },
        "keyed": { "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": { "type": "object", "required": ["k"],
                "properties": { "k": { "type": "string" }, "v": { "type": "integer", "maximum": 9 } } } },
        "l": { "type": "array", "maxItems": 2, "minItems": 1, "items": { "type": "string" }, "x-kubernetes-list-type": "set" },
        "m": { "type": "object", "maxProperties": 2, "additionalProperties": { "type": "integer" } },
        "n": { "type": "integer", "format": "int32", "minimum": 1, "maximum": 5 },
        "nn": { "type": "string", "nullable": true },
        "o": { "type": "object", "properties": { "p": { "type": "string" }, "q": { "type": "string" } },
            "oneOf": [{ "required": ["p"] }, { "required": ["q"] }] },
        "u": { "type": "object" },
        "when": { "type": "string", "format": "date-time" },
    } })
}

fn status() -> Value {
    json!({ "type": "object", "properties": { "n": { "type": "integer", "minimum": 0 } } })
}

async fn objects_that_break_their_schema_are_refused_with_every_cause(server: &Server) {
    let gadgets = Custom::define(server, full_spec(), status()).await;
    let broken = gadgets.create("a", json!({ "spec": {
        "a": "LONGER", "n": 9, "e": "z", "l": ["a", "a", "b"], "m": { "a": "s", "b": 1, "c": 2 }, "when": "yesterday",
        "ios": true, "f": 1.75, "nn": null, "emb": {}, "o": {}, "keyed": [{ "k": "a" }, { "k": "a", "v": 10 }] } }));
    let expected = sorted([
        "FieldValueTypeInvalid spec.when: Invalid value: \"yesterday\": spec.when in body must be of type date-time: \"yesterday\"",
        "FieldValueInvalid spec.keyed[1].v: Invalid value: 10: spec.keyed[1].v in body should be less than or equal to 9",
        "FieldValueInvalid <nil>: Invalid value: \"\": \"spec.o\" must validate one and only one schema (oneOf). Found none valid",
        "FieldValueRequired spec.o.p: Required value",
        "FieldValueTooMany spec.m: Too many: 3: must have at most 2 items",
        "FieldValueTypeInvalid spec.m.a: Invalid value: \"string\": spec.m.a in body must be of type integer: \"string\"",
        "FieldValueNotSupported spec.e: Unsupported value: \"z\": supported values: \"x\", \"y\"",
        "FieldValueTypeInvalid spec.ios: Invalid value: \"boolean\": spec.ios in body must be of type integer,string: \"boolean\"",
        "FieldValueInvalid spec.f: Invalid value: 1.75: spec.f in body should be a multiple of 0.5",
        "FieldValueInvalid spec.f: Invalid value: 1.75: spec.f in body should be less than or equal to 1.5",
        "FieldValueInvalid spec.n: Invalid value: 9: spec.n in body should be less than or equal to 5",
        "FieldValueTooLong spec.a: Too long: may not be more than 3 bytes",
        "FieldValueTooMany spec.l: Too many: 3: must have at most 2 items",
        "FieldValueRequired spec.emb.apiVersion: Required value",
        "FieldValueRequired spec.emb.kind: Required value",
        "FieldValueDuplicate spec.keyed[1]: Duplicate value: {\"k\":\"a\"}",
        "FieldValueDuplicate spec.l[1]: Duplicate value: \"a\"",
    ]);
    assert_causes(server, &causes(&broken.await), &expected);
    let range = gadgets.create("a", json!({ "spec": { "a": "a", "n": 3_000_000_000_u64 } })).await;
    let expected = [
        "FieldValueInvalid <nil>: Invalid value: \"\": Checked value must be of type integer with format int32 in spec.n",
        "FieldValueInvalid spec.n: Invalid value: 3000000000: spec.n in body should be less than or equal to 5",
    ];
    // Older servers do not check the format of integers.
    let from = usize::from(server.is_older_than(36));
    assert_causes(server, &causes(&range), &expected[from..]);
    let both = gadgets.create("a", json!({ "spec": { "a": "a", "o": { "p": "1", "q": "2" } } })).await;
    let expected = "FieldValueInvalid <nil>: Invalid value: \"\": \"spec.o\" must validate one and only one schema (oneOf). Found 2 valid alternatives";
    assert_causes(server, &causes(&both), &[expected]);
    let pattern = gadgets.create("a", json!({ "spec": { "a": "A" } })).await;
    let expected = "FieldValueInvalid spec.a: Invalid value: \"A\": spec.a in body should match '^[a-z]+$'";
    assert_causes(server, &causes(&pattern), &[expected]);
    assert_eq!(gadgets.get("a").await["code"], 404);
}

async fn types_are_checked_before_anything_else(server: &Server) {
    let gadgets = Custom::define(server, full_spec(), status()).await;
    let fields = json!({ "spec": { "n": "s", "e": 5, "l": [], "m": [], "when": 7, "f": "x", "a": null } });
    let expected = sorted([
        "FieldValueTypeInvalid spec.when: Invalid value: \"int64\": spec.when in body must be of type date-time: \"int64\"",
        "FieldValueTypeInvalid spec.m: Invalid value: \"array\": spec.m in body must be of type object: \"array\"",
        "FieldValueTypeInvalid spec.e: Invalid value: \"integer\": spec.e in body must be of type string: \"integer\"",
        "FieldValueNotSupported spec.e: Unsupported value: 5: supported values: \"x\", \"y\"",
        "FieldValueTypeInvalid spec.f: Invalid value: \"string\": spec.f in body must be of type number: \"string\"",
        "FieldValueTypeInvalid spec.n: Invalid value: \"string\": spec.n in body must be of type integer: \"string\"",
        "FieldValueInvalid spec.l: Invalid value: 0: spec.l in body should have at least 1 items",
        "FieldValueRequired spec.a: Required value",
    ]);
    assert_causes(server, &causes(&gadgets.create("a", fields).await), &expected);
    let missing = gadgets.create("a", json!({})).await;
    assert_eq!(
        missing["spec"],
        json!(null),
        "a required field of a missing object is not required: {missing}"
    );
}

async fn unknown_fields_are_pruned_and_defaults_are_set(server: &Server) {
    let gadgets = Custom::define(server, full_spec(), status()).await;
    let made = gadgets.create(
        "a",
        json!({ "extra": 1, "spec": {
        "a": "a", "e": null, "nn": null, "d": { "y": 1 }, "u": { "gone": 1 }, "any": { "kept": { "x": 1 } },
        "emb": { "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "y" }, "spec": { "z": 1 } } } }),
    );
    let expected = json!({ "a": "a", "nn": null, "d": { "x": 3 }, "u": {}, "any": { "kept": { "x": 1 } },
        "emb": { "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "y" }, "spec": { "z": 1 } } });
    let made = made.await;
    assert_eq!((&made["spec"], made.get("extra")), (&expected, None), "{made}");
    let fields = &made["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"];
    assert_eq!(fields["f:d"], json!({ ".": {}, "f:x": {} }), "the writer owns the defaults: {made}");
    let patched = gadgets.merge("a", json!({ "spec": { "d": null, "other": 1 } })).await;
    assert_eq!(patched["spec"]["d"], json!({ "x": 3 }), "{patched}");
    assert_eq!(
        patched["metadata"]["resourceVersion"], made["metadata"]["resourceVersion"],
        "nothing has changed"
    );
}

async fn an_unchanged_field_may_stay_invalid(server: &Server) {
    let gadgets = Custom::named(server).await;
    let spec = |a: Value| json!({ "type": "object", "properties": { "a": a, "b": { "type": "string" } } });
    let version = |a: Value| {
        let schema = json!({ "type": "object", "properties": { "spec": spec(a) } });
        json!([{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }])
    };
    gadgets.create_definition(version(json!({ "type": "string" }))).await;
    gadgets.create("a", json!({ "spec": { "a": "long", "b": "x" } })).await;
    let path = format!("{CRDS}/{}.schemas.example.com", gadgets.plural);
    let request = Request::patch(&path).header("content-type", MERGE);
    let stricter = version(json!({ "type": "string", "maxLength": 1 }));
    ask(&gadgets.client, request, json!({ "spec": { "versions": stricter } })).await;
    eventually("the stricter schema", async || {
        let refused = gadgets.create("b", json!({ "spec": { "a": "long" } })).await;
        let name = refused["metadata"]["name"].as_str().unwrap_or_default();
        let request = Request::delete(format!("{}/{name}", gadgets.folder("v1")));
        if refused["code"] == 422 {
            return Ok(());
        }
        ask(&gadgets.client, request, Value::Null).await;
        Err(refused.to_string())
    })
    .await;
    let kept = gadgets.merge("a", json!({ "spec": { "b": "y" } })).await;
    assert_eq!(kept["spec"], json!({ "a": "long", "b": "y" }), "{kept}");
    let expected = "FieldValueTooLong spec.a: Too long: may not be more than 1 byte";
    assert_causes(
        server,
        &causes(&gadgets.merge("a", json!({ "spec": { "a": "other" } })).await),
        &[expected],
    );
}

async fn the_status_is_validated_on_its_own(server: &Server) {
    let gadgets = Custom::define(server, full_spec(), status()).await;
    let made = gadgets.create("a", json!({ "spec": { "a": "a" }, "status": { "n": -1 } })).await;
    assert_eq!(made.get("status"), None, "{made}");
    let refused =
        gadgets.merge("a/status", json!({ "status": { "n": -1 }, "spec": { "a": "TOO LONG" } })).await;
    let expected =
        "FieldValueInvalid status.n: Invalid value: -1: n in body should be greater than or equal to 0";
    assert_causes(server, &causes(&refused), &[expected]);
    let set = gadgets.merge("a/status", json!({ "status": { "n": 1, "other": 1 } })).await;
    assert_eq!((&set["status"], &set["metadata"]["generation"]), (&json!({ "n": 1 }), &json!(1)), "{set}");
}

async fn the_scale_subresource_reads_and_writes_its_paths(server: &Server) {
    let gadgets = Custom::named(server).await;
    let schema = json!({ "type": "object", "properties": {
        "spec": { "type": "object", "properties": { "size": { "type": "integer", "maximum": 7 }, "free": { "x-kubernetes-preserve-unknown-fields": true } } },
        "status": { "type": "object", "properties": { "size": { "type": "integer" }, "selector": { "type": "string" } } } } });
    let scale = json!({ "specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size", "labelSelectorPath": ".status.selector" });
    let version = json!({ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema },
        "subresources": { "status": {}, "scale": scale } });
    gadgets.create_definition(json!([version])).await;
    gadgets.create("a", json!({ "spec": { "size": 2 } })).await;
    gadgets.merge("a/status", json!({ "status": { "size": 1, "selector": "a=b" } })).await;
    let scale = gadgets.get("a/scale").await;
    assert_eq!(
        (&scale["kind"], &scale["apiVersion"]),
        (&json!("Scale"), &json!("autoscaling/v1")),
        "{scale}"
    );
    assert_eq!(scale["spec"], json!({ "replicas": 2 }), "{scale}");
    assert_eq!(scale["status"], json!({ "replicas": 1, "selector": "a=b" }), "{scale}");
    let scaled = gadgets.merge("a/scale", json!({ "spec": { "replicas": 5 } })).await;
    assert_eq!(scaled["spec"]["replicas"], 5, "{scaled}");
    let object = gadgets.get("a").await;
    assert_eq!(
        (&object["spec"]["size"], &object["metadata"]["generation"]),
        (&json!(5), &json!(2)),
        "{object}"
    );
    let expected =
        "FieldValueInvalid spec.size: Invalid value: 8: spec.size in body should be less than or equal to 7";
    assert_causes(
        server,
        &causes(&gadgets.merge("a/scale", json!({ "spec": { "replicas": 8 } })).await),
        &[expected],
    );
    let expected = "FieldValueInvalid .spec.size: Invalid value: -1: should be a non-negative integer";
    assert_causes(server, &causes(&gadgets.merge("a", json!({ "spec": { "size": -1 } })).await), &[expected]);
}

async fn versions_show_the_same_object(server: &Server) {
    let gadgets = Custom::named(server).await;
    let version = |name: &str, storage: bool, spec: Value| {
        let schema =
            json!({ "type": "object", "properties": { "spec": { "type": "object", "properties": spec } } });
        json!({ "name": name, "served": true, "storage": storage, "schema": { "openAPIV3Schema": schema } })
    };
    let text = json!({ "type": "string" });
    let new = version("v1", true, json!({ "a": text, "b": text }));
    let old = version("v1beta1", false, json!({ "a": text, "c": text }));
    gadgets.create_definition(json!([new, old])).await;
    gadgets.create("a", json!({ "spec": { "a": "1", "b": "2", "c": "3" } })).await;
    let beta = format!("{}/a", gadgets.folder("v1beta1"));
    let seen = ask(&gadgets.client, Request::get(&beta), Value::Null).await;
    assert_eq!(seen["apiVersion"], "schemas.example.com/v1beta1", "{seen}");
    assert_eq!(seen["spec"], json!({ "a": "1" }), "a version has the fields of its schema: {seen}");
    let request = Request::patch(&beta).header("content-type", MERGE);
    let patched = ask(&gadgets.client, request, json!({ "spec": { "c": "3" } })).await;
    assert_eq!(patched["spec"], json!({ "a": "1" }), "the stored version has no such field: {patched}");
    let definition = gadgets.current_definition().await;
    assert_eq!(definition["status"]["storedVersions"], json!(["v1"]), "{definition}");
    assert_eq!(definition["spec"]["conversion"], json!({ "strategy": "None" }));
}

async fn fields_can_be_selected(server: &Server) {
    let gadgets = Custom::named(server).await;
    let schema = json!({ "type": "object", "properties": { "spec": { "type": "object", "properties": {
        "color": { "type": "string" }, "size": { "type": "integer" }, "list": { "type": "array", "items": { "type": "string" } } } } } });
    let version = |fields: Value| json!([{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema }, "selectableFields": fields }]);
    gadgets
        .create_definition(version(json!([{ "jsonPath": ".spec.color" }, { "jsonPath": ".spec.size" }])))
        .await;
    gadgets.create("a", json!({ "spec": { "color": "blue", "size": 1 } })).await;
    gadgets.create("b", json!({ "spec": { "color": "red", "size": 1 } })).await;
    gadgets.create("c", json!({ "spec": { "size": 2 } })).await;
    let names = async |selector: &str| {
        let path = format!("{}?fieldSelector={selector}", gadgets.folder("v1"));
        let list = ask(&gadgets.client, Request::get(path), Value::Null).await;
        let items = list["items"].as_array().cloned().unwrap_or_else(|| panic!("{list}"));
        items.iter().map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names("spec.color%3Dblue").await, ["a"]);
    assert_eq!(names("spec.size%3D1,spec.color!%3Dblue").await, ["b"]);
    assert_eq!(names("spec.color%3D").await, ["c"]);
    let path = format!("{}?fieldSelector=spec.list%3Dx", gadgets.folder("v1"));
    assert_eq!(ask(&gadgets.client, Request::get(path), Value::Null).await["code"], 400);
    let other = Custom::named(server).await;
    let wrong = version(
        json!([{ "jsonPath": ".spec.none" }, { "jsonPath": ".spec.list" }, { "jsonPath": ".spec.color" }, { "jsonPath": ".spec.color" }]),
    );
    let refused = ask(&other.client, Request::post(CRDS), other.definition(wrong)).await;
    let expected = sorted([
        "FieldValueDuplicate spec.selectableFields[3].jsonPath: Duplicate value: \".spec.color\"",
        "FieldValueInvalid spec.selectableFields[0].jsonPath: Invalid value: \".spec.none\": is an invalid path: does not refer to a valid field",
        "FieldValueInvalid spec.selectableFields[1].jsonPath: Invalid value: \".spec.list\": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.",
    ]);
    assert_causes(server, &causes(&refused), &expected);
}

async fn definitions_that_break_a_rule_are_refused(server: &Server) {
    let gadgets = Custom::named(server).await;
    let with = |properties: Value| json!({ "type": "object", "properties": properties });
    let array = |more: Value| {
        let mut array = json!({ "type": "array", "items": { "type": "object", "properties": { "k": { "type": "string" } } } });
        more.as_object().unwrap().iter().for_each(|(name, value)| array[name] = value.clone());
        with(json!({ "a": array }))
    };
    let table = [
        (
            json!({ "type": "string" }),
            vec!["FieldValueInvalid S.type: Invalid value: \"string\": must be object at the root"],
        ),
        (
            with(json!({ "a": {} })),
            vec![
                "FieldValueRequired S.properties[a].type: Required value: must not be empty for specified object fields",
            ],
        ),
        (
            with(json!({ "a": { "type": "array" } })),
            vec!["FieldValueRequired S.properties[a].items: Required value: must be specified"],
        ),
        (
            with(json!({ "a": { "type": "integer", "default": "x" } })),
            vec![
                "FieldValueTypeInvalid S.properties[a].default: Invalid value: \"string\":  in body must be of type integer: \"string\"",
            ],
        ),
        (
            with(json!({ "a": { "type": "object", "default": { "x": 1 } } })),
            vec![
                "FieldValueInvalid S.properties[a].default: Invalid value: {\"x\":1}: must not have unknown fields",
            ],
        ),
        (
            with(json!({ "a": { "type": "string", "oneOf": [{ "type": "string" }] } })),
            vec![
                "FieldValueForbidden S.properties[a].oneOf[0].type: Forbidden: must be empty to be structural",
            ],
        ),
        (
            json!({ "type": "object", "oneOf": [{ "properties": { "b": { "minimum": 1 } } }] }),
            vec![
                "FieldValueRequired S.properties[b]: Required value: because it is defined in S.oneOf[0].properties[b]",
            ],
        ),
        (
            array(json!({ "x-kubernetes-list-type": "map" })),
            vec![
                "FieldValueRequired S.properties[a].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
            ],
        ),
        (
            array(json!({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"] })),
            vec![
                "FieldValueRequired S.properties[a].items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
            ],
        ),
        (
            with(
                json!({ "a": { "type": "object", "properties": { "b": { "type": "string" } }, "additionalProperties": { "type": "string" } } }),
            ),
            vec![
                "FieldValueForbidden S.properties[a].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
            ],
        ),
        (
            with(
                json!({ "metadata": { "type": "object", "properties": { "labels": { "type": "object" } } } }),
            ),
            vec![
                "FieldValueForbidden S.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified",
            ],
        ),
    ];
    for (schema, expected) in table {
        let version = json!([{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }]);
        let refused = ask(&gadgets.client, Request::post(CRDS), gadgets.definition(version)).await;
        let found: Vec<_> = causes(&refused)
            .iter()
            .map(|cause| cause.replace("spec.validation.openAPIV3Schema", "S"))
            .collect();
        assert_causes(server, &found, &expected);
    }
    let version = json!([{ "name": "v1", "served": true, "storage": true }]);
    let refused = ask(&gadgets.client, Request::post(CRDS), gadgets.definition(version)).await;
    let expected = "FieldValueRequired spec.versions[0].schema.openAPIV3Schema: Required value";
    assert_causes(server, &causes(&refused), &[expected]);
    let version = json!([{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": { "type": "object" } },
        "additionalPrinterColumns": [{ "name": "A", "type": "strange", "jsonPath": "x" }],
        "subresources": { "scale": { "specReplicasPath": ".status.x", "statusReplicasPath": "" } } }]);
    let refused = ask(&gadgets.client, Request::post(CRDS), gadgets.definition(version)).await;
    let expected = sorted([
        "FieldValueInvalid spec.additionalPrinterColumns[0].type: Invalid value: \"strange\": must be one of boolean,date,integer,number,string",
        "FieldValueInvalid spec.additionalPrinterColumns[0].JSONPath: Invalid value: \"x\": must be a simple json path starting with .",
        "FieldValueInvalid spec.subresources.scale.specReplicasPath: Invalid value: \".status.x\": should be a json path under .spec",
        "FieldValueRequired spec.subresources.scale.statusReplicasPath: Required value",
    ]);
    assert_causes(server, &causes(&refused), &expected);
}

async fn a_name_that_is_taken_is_not_accepted(server: &Server) {
    let first = Custom::define(server, json!({ "type": "object" }), status()).await;
    let mut second = Custom::named(server).await;
    second.kind.clone_from(&first.kind);
    let version = json!([{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": { "type": "object" } } }]);
    let made = ask(&second.client, Request::post(CRDS), second.definition(version)).await;
    assert_eq!(made["kind"], "CustomResourceDefinition", "{made}");
    let conditions = eventually("the conflict", async || {
        let found = second.current_definition().await;
        match found["status"]["conditions"].as_array() {
            Some(conditions) if conditions.len() == 2 => Ok(conditions.clone()),
            _ => Err(found.to_string()),
        }
    })
    .await;
    let find = |kind: &str| conditions.iter().find(|one| one["type"] == kind).cloned().unwrap_or_default();
    let names = find("NamesAccepted");
    assert_eq!(
        (&names["status"], &names["reason"]),
        (&json!("False"), &json!("ListKindConflict")),
        "{conditions:?}"
    );
    assert_eq!(names["message"], format!("\"{}List\" is already in use", first.kind));
    let established = find("Established");
    assert_eq!((&established["status"], &established["reason"]), (&json!("False"), &json!("NotAccepted")));
    assert_eq!(ask(&second.client, Request::get(second.folder("v1")), Value::Null).await["code"], 404);
}

async fn columns_are_printed(server: &Server) {
    let gadgets = Custom::named(server).await;
    let schema = json!({ "type": "object", "properties": { "spec": { "type": "object", "properties": {
        "size": { "type": "integer" }, "names": { "type": "array", "items": { "type": "string" } }, "on": { "type": "boolean" } } } } });
    let column = |name: &str, ty: &str, path: &str| json!({ "name": name, "type": ty, "jsonPath": path });
    let version = json!([{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema },
        "additionalPrinterColumns": [column("Size", "integer", ".spec.size"), column("First", "string", ".spec.names[0]"),
            column("On", "boolean", ".spec.on"), column("None", "string", ".spec.none")] }]);
    gadgets.create_definition(version).await;
    gadgets.create("a", json!({ "spec": { "size": 3, "names": ["x", "y"], "on": true } })).await;
    let request =
        Request::get(gadgets.folder("v1")).header("accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
    let table = ask(&gadgets.client, request, Value::Null).await;
    let columns = table["columnDefinitions"].as_array().unwrap_or_else(|| panic!("{table}"));
    let names: Vec<_> = columns.iter().map(|column| column["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["Name", "Size", "First", "On", "None"]);
    assert_eq!(table["rows"][0]["cells"], json!(["a", 3, "x", true, null]), "{table}");
}

async fn apply_merges_lists_by_the_schema(server: &Server) {
    let gadgets = Custom::define(server, full_spec(), status()).await;
    let apply = async |manager: &str, spec: Value| {
        let path = format!("{}/a?fieldManager={manager}", gadgets.folder("v1"));
        let request = Request::patch(path).header("content-type", "application/apply-patch+yaml");
        ask(&gadgets.client, request, gadgets.object("a", json!({ "spec": spec }))).await
    };
    let one = apply("one", json!({ "a": "a", "keyed": [{ "k": "x", "v": 1 }], "l": ["p"] })).await;
    assert_eq!(one["spec"]["d"], json!({ "x": 3 }), "{one}");
    let owned = &one["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"];
    assert_eq!(owned.get("f:d"), None, "defaults have no owner when they are applied: {one}");
    let both = apply("two", json!({ "a": "a", "keyed": [{ "k": "y", "v": 2 }], "l": ["q"] })).await;
    assert_eq!(both["spec"]["keyed"], json!([{ "k": "x", "v": 1 }, { "k": "y", "v": 2 }]), "{both}");
    assert_eq!(both["spec"]["l"], json!(["p", "q"]));
    let invalid = apply("two", json!({ "a": "a", "keyed": [{ "k": "y", "v": 12 }] })).await;
    let expected = "FieldValueInvalid spec.keyed[1].v: Invalid value: 12: spec.keyed[1].v in body should be less than or equal to 9";
    assert_causes(server, &causes(&invalid), &[expected]);
    let left = apply("one", json!({ "a": "a" })).await;
    assert_eq!(left["spec"]["keyed"], json!([{ "k": "y", "v": 2 }]), "{left}");
}
