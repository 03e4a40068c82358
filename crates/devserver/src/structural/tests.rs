//! Schemas without a server.

use super::{Part, Structural, drop_nulls, errors, fill, prune, schema_errors};
use serde_json::{Value, json};

#[expect(clippy::needless_pass_by_value, reason = "callers pass literals")]
fn check(schema: Value, value: Value) -> Vec<String> {
    let object = json!({ "type": "object", "properties": { "spec": schema } });
    let found = errors(&Structural::new(&object), None, &json!({ "spec": value }), Part::Object);
    found.iter().map(ToString::to_string).collect()
}

fn is_valid(format: &str, text: &str) -> bool {
    check(json!({ "type": "string", "format": format }), json!(text)).is_empty()
}

#[test]
fn formats_accept_and_reject() {
    let table: [(&str, &[&str], &[&str]); 20] = [
        (
            "date-time",
            &["2024-01-02T03:04:05Z", "2024-01-02t03:04:05.123+01:00"],
            &["2024-01-02", "2024-13-02T03:04:05Z", "x"],
        ),
        ("date", &["2024-02-29"], &["2023-02-29", "2024-2-9"]),
        ("duration", &["22 ns", "1h30m", "5s", "2 days"], &["", "five", "5 x"]),
        ("uri", &["https://example.com/a", "/a", "urn:a:b"], &["", "a b", "example"]),
        ("email", &["a@example.com"], &["a", "a@", "@b"]),
        ("hostname", &["example.com", "a", "a-b.example.org"], &["", "-a", "a_b", "a..b"]),
        ("ipv4", &["127.0.0.1"], &["::1", "1.2.3"]),
        ("ipv6", &["::1"], &["127.0.0.1", "g::"]),
        ("cidr", &["10.0.0.0/8", "::/0"], &["10.0.0.0", "10.0.0.0/33"]),
        ("mac", &["01:23:45:67:89:ab"], &["01:23:45"]),
        ("uuid", &["123e4567-e89b-12d3-a456-426614174000"], &["123e4567"]),
        ("uuid4", &["123e4567-e89b-42d3-a456-426614174000"], &["123e4567-e89b-12d3-a456-426614174000"]),
        ("isbn10", &["0321751043"], &["0321751044"]),
        ("isbn13", &["978-0321751041"], &["978-0321751042"]),
        ("creditcard", &["4111 1111 1111 1111"], &["4111 1111 1111 1112"]),
        ("hexcolor", &["#FFFFFF", "fff"], &["#FFFF"]),
        ("rgbcolor", &["rgb(255, 0, 12)"], &["rgb(256,0,0)"]),
        ("byte", &["aGk="], &["a"]),
        ("k8s-short-name", &["a-b"], &["A", "-a", "a.b"]),
        ("k8s-long-name", &["a-b.c"], &["A", "a..b"]),
    ];
    for (format, good, bad) in table {
        good.iter().for_each(|text| assert!(is_valid(format, text), "{format}: {text}"));
        bad.iter().for_each(|text| assert!(!is_valid(format, text), "{format}: {text}"));
    }
    assert!(is_valid("unknown", "anything"));
}

#[test]
fn alternatives_report_the_closest_one() {
    let fields = json!({ "p": { "type": "string" }, "q": { "type": "string" } });
    let with =
        |keyword: &str, schemas: Value| json!({ "type": "object", "properties": fields, keyword: schemas });
    let one = json!([{ "required": ["p"] }, { "required": ["q"] }]);
    let none = "<nil>: Invalid value: \"\": \"spec\" must validate one and only one schema (oneOf). Found none valid";
    assert_eq!(check(with("oneOf", one.clone()), json!({})), [none, "spec.p: Required value"]);
    assert_eq!(check(with("oneOf", one.clone()), json!({ "q": "" })), [""; 0]);
    let any = "<nil>: Invalid value: \"\": \"spec\" must validate at least one schema (anyOf)";
    assert_eq!(check(with("anyOf", one.clone()), json!({})), [any, "spec.p: Required value"]);
    let all = "<nil>: Invalid value: \"\": \"spec\" must validate all the schemas (allOf)";
    assert_eq!(check(with("allOf", one), json!({ "p": "" })), ["spec.q: Required value", all]);
    let not = "<nil>: Invalid value: \"\": \"spec\" must not validate the schema (not)";
    assert_eq!(check(with("not", json!({ "required": ["p"] })), json!({ "p": "" })), [not]);
}

#[test]
fn an_unchanged_value_may_stay_invalid() {
    let schema = json!({ "type": "object", "properties": {
        "a": { "type": "string", "maxLength": 1 }, "b": { "type": "string" },
        "l": { "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": { "type": "object", "properties": { "k": { "type": "string" }, "v": { "type": "integer", "maximum": 1 } } } },
    } });
    let schema = Structural::new(&schema);
    let old = json!({ "a": "long", "b": "x", "l": [{ "k": "one", "v": 7 }] });
    let new = json!({ "a": "long", "b": "y", "l": [{ "k": "two", "v": 1 }, { "k": "one", "v": 7 }] });
    assert_eq!(errors(&schema, Some(&old), &new, Part::Object), []);
    let worse = json!({ "a": "longer", "l": [{ "k": "two", "v": 7 }] });
    assert_eq!(errors(&schema, Some(&old), &worse, Part::Object).len(), 2);
}

#[test]
fn unknown_fields_are_removed_and_named() {
    let schema = json!({ "type": "object", "properties": { "spec": { "type": "object", "properties": {
        "known": { "type": "object", "properties": { "a": { "type": "string" } } },
        "any": { "type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": { "p": { "type": "object" } } },
        "map": { "type": "object", "additionalProperties": { "type": "object", "properties": { "a": { "type": "string" } } } },
        "list": { "type": "array", "items": { "type": "object" } },
        "embedded": { "type": "object", "x-kubernetes-embedded-resource": true, "properties": { "spec": { "type": "object" } } },
    } } } });
    let mut object = json!({ "apiVersion": "v1", "kind": "K", "metadata": { "name": "x" }, "extra": 1, "spec": {
        "known": { "a": "", "b": 1 }, "any": { "x": { "y": 1 }, "p": { "z": 1 } }, "map": { "k": { "a": "", "b": 1 } },
        "list": [{ "c": 1 }], "embedded": { "kind": "Pod", "metadata": {}, "spec": { "d": 1 }, "status": {} } } });
    let removed = prune(&Structural::new(&schema), &mut object);
    let expected = [
        "extra",
        "spec.any.p.z",
        "spec.embedded.spec.d",
        "spec.embedded.status",
        "spec.known.b",
        "spec.list[0].c",
        "spec.map.k.b",
    ];
    assert_eq!(removed, expected);
    assert_eq!(object["spec"]["any"], json!({ "x": { "y": 1 }, "p": {} }));
    assert_eq!(object["metadata"], json!({ "name": "x" }));
}

#[test]
fn defaults_replace_missing_and_null_values() {
    let schema = Structural::new(&json!({ "type": "object", "properties": {
        "a": { "type": "integer", "default": 1 },
        "b": { "type": "object", "default": {}, "properties": { "c": { "type": "string", "default": "x" } } },
        "n": { "type": "string", "nullable": true, "default": "y" },
        "z": { "type": "string" },
        "l": { "type": "array", "items": { "type": "object", "properties": { "d": { "type": "integer", "default": 2 } } } },
    } }));
    let mut object = json!({ "a": null, "n": null, "z": null, "l": [{}, { "d": 3 }] });
    fill(&schema, &mut object);
    drop_nulls(Some(&schema), &mut object);
    assert_eq!(object, json!({ "a": 1, "b": { "c": "x" }, "n": null, "l": [{ "d": 2 }, { "d": 3 }] }));
}

#[test]
fn schemas_that_are_not_structural_are_rejected() {
    let errors = |schema: Value| -> Vec<String> {
        schema_errors(&schema, "S").iter().map(ToString::to_string).collect()
    };
    let with = |property: Value| json!({ "type": "object", "properties": { "a": property } });
    let table = [
        (json!({}), "S.type: Required value: must not be empty at the root"),
        (json!({ "type": "string" }), "S.type: Invalid value: \"string\": must be object at the root"),
        (
            with(json!({})),
            "S.properties[a].type: Required value: must not be empty for specified object fields",
        ),
        (with(json!({ "type": "array" })), "S.properties[a].items: Required value: must be specified"),
        (
            with(json!({ "type": "string", "pattern": "(" })),
            "S.properties[a].pattern: Invalid value: \"(\": must be a valid regular expression, but isn't: error: unclosed group",
        ),
        (
            with(json!({ "type": "string", "anyOf": [{ "type": "string" }] })),
            "S.properties[a].anyOf[0].type: Forbidden: must be empty to be structural",
        ),
        (
            json!({ "type": "object", "oneOf": [{ "properties": { "b": {} } }] }),
            "S.properties[b]: Required value: because it is defined in S.oneOf[0].properties[b]",
        ),
        (
            with(json!({ "type": "integer", "default": "x" })),
            "S.properties[a].default: Invalid value: \"string\":  in body must be of type integer: \"string\"",
        ),
        (
            with(json!({ "type": "object", "default": { "x": 1 } })),
            "S.properties[a].default: Invalid value: {\"x\":1}: must not have unknown fields",
        ),
        (
            with(json!({ "type": "array", "items": { "type": "object" }, "x-kubernetes-list-type": "map" })),
            "S.properties[a].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
        ),
        (
            with(json!({ "type": "strange" })),
            "S.properties[a].type: Unsupported value: \"strange\": supported values: \"array\", \"boolean\", \"integer\", \"number\", \"object\", \"string\"",
        ),
    ];
    for (schema, expected) in table {
        assert_eq!(errors(schema.clone()), [expected], "{schema}");
    }
    assert_eq!(
        errors(with(
            json!({ "x-kubernetes-int-or-string": true, "anyOf": [{ "type": "integer" }, { "type": "string" }] })
        )),
        [""; 0]
    );
}

#[expect(clippy::needless_pass_by_value, reason = "callers pass literals")]
fn rule_errors(rule: &str, value: Value, old: Option<Value>) -> Vec<String> {
    let spec = json!({ "type": "object", "x-kubernetes-validations": [{ "rule": rule }],
        "properties": { "l": { "type": "array", "items": { "type": "integer" } }, "s": { "type": "string" } } });
    let schema = Structural::new(&json!({ "type": "object", "properties": { "spec": spec } }));
    let old = old.map(|old| json!({ "spec": old }));
    let found = errors(&schema, old.as_ref(), &json!({ "spec": value }), Part::Object);
    found.iter().map(ToString::to_string).collect()
}

#[test]
fn an_evaluation_that_would_take_too_long_is_refused() {
    let rule = "self.l.all(a, self.l.all(b, self.l.all(c, a + b + c > 0)))";
    assert_eq!(rule_errors(rule, json!({ "l": vec![1; 50] }), None), [""; 0]);
    let began = std::time::Instant::now();
    let found = rule_errors(rule, json!({ "l": vec![1; 5000] }), None);
    assert!(found.len() == 1 && found[0].contains("cost exceeds limit for rule"), "{found:?}");
    let splitting = rule_errors(
        "self.s.split('').all(a, self.s.split('').all(b, a != b))",
        json!({ "s": "a".repeat(100_000) }),
        None,
    );
    assert!(splitting[0].contains("cost exceeds limit"), "{splitting:?}");
    assert!(began.elapsed().as_secs() < 20);
}

#[test]
fn rules_that_are_too_long_or_too_deep_are_refused() {
    let version = |rule: &str| json!({ "type": "object", "x-kubernetes-validations": [{ "rule": rule }] });
    for rule in [
        "(".repeat(3000) + "true" + &")".repeat(3000),
        format!("1{} == 1", "+1".repeat(4000)),
        " ".repeat(20_000) + "true || true" + &" ".repeat(20_000) + "|| true",
    ] {
        let found = schema_errors(&version(&rule), "v");
        assert_eq!(found.len(), 1, "{}", &rule[..20]);
        assert!(found[0].message.contains("compilation failed"));
    }
    assert_eq!(schema_errors(&version("true"), "v"), []);
    let unsupported = schema_errors(&version("quantity('1Gi').isGreaterThan(quantity('1Mi'))"), "v");
    assert!(
        unsupported[0].message.contains("is not supported by this server")
            || unsupported[0].message.contains("undeclared"),
        "{unsupported:?}"
    );
}

#[test]
fn a_rule_that_fails_names_the_cause() {
    assert_eq!(
        rule_errors("self.s == 'x'", json!({}), None),
        ["spec: Invalid value: \"object\": no such key: s evaluating rule: self.s == 'x'"]
    );
    assert_eq!(
        rule_errors("1 / 0 == 1", json!({}), None),
        ["spec: Invalid value: \"object\": division by zero evaluating rule: 1 / 0 == 1"]
    );
    assert_eq!(rule_errors("oldSelf.s == self.s", json!({ "s": "a" }), None), [""; 0]);
    assert_eq!(
        rule_errors("oldSelf.s == self.s", json!({ "s": "a" }), Some(json!({ "s": "b" }))),
        ["spec: Invalid value: failed rule: oldSelf.s == self.s"]
    );
}
