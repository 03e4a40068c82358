//! JSON decodes as with serde_json, also inside of protobuf, and lists have no spare capacity.

use super::{ValueError, decode_json, decode_protobuf};
use crate::{
    Schema,
    json::list_lengths,
    protobuf::{Reader, ValueRef, Writer},
};
use k8s_openapi::api::core::v1::Pod;
use proptest::prelude::*;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json, value::RawValue};
use std::{collections::BTreeMap, convert::Infallible, fmt::Debug};

/// Decodes JSON text from the field `data` of a ControllerRevision.
fn from_protobuf<T: DeserializeOwned>(json: &str) -> Result<T, ValueError> {
    #[derive(Deserialize)]
    struct Revision<T> {
        data: T,
    }
    let schema = Schema::of("apps/v1", "ControllerRevision").unwrap();
    let mut writer = Writer::default();
    let written: Result<(), Infallible> = writer.message(2, |writer| {
        writer.field(1, json.as_bytes());
        Ok(())
    });
    written.unwrap();
    let bytes = writer.into_bytes();
    decode_protobuf::<Revision<T>>(ValueRef::of_object(schema, Reader::new(&bytes)))
        .map(|revision| revision.data)
}

/// Decodes text with serde_json, as JSON and in protobuf, and returns whether it could be decoded.
fn same<T: DeserializeOwned + Debug>(json: &str) -> bool {
    match (serde_json::from_str::<T>(json), decode_json::<T>(json), from_protobuf::<T>(json)) {
        (Ok(theirs), Ok(ours), Ok(in_protobuf)) => {
            assert_eq!(format!("{theirs:?}"), format!("{ours:?}"), "{json}");
            assert_eq!(format!("{theirs:?}"), format!("{in_protobuf:?}"), "{json}");
            true
        }
        (Err(_), Err(_), Err(_)) => false,
        (theirs, ours, in_protobuf) => panic!("{json}: {theirs:?}, {ours:?} and {in_protobuf:?}"),
    }
}

#[test]
fn numbers_decode_alike() {
    for number in [
        "0",
        "7",
        "-7",
        "-0",
        "0.0",
        "-0.0",
        "1.5",
        "-1.5e3",
        "1E+2",
        "1e-2",
        "999999999999999999",
        "1000000000000000000",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775808",
        "-9223372036854775809",
        "123456789012345678901234567890",
        " 5 ",
    ] {
        assert!(same::<Value>(number), "{number}");
        assert!(same::<f64>(number), "{number}");
        same::<i64>(number);
        same::<u8>(number);
    }
    for wrong in ["01", "-01", "1.", ".5", "-", "+1", "1e", "1e400", "0x1", "1 2", "1-2", "NaN", "--1"] {
        assert!(!same::<Value>(wrong), "{wrong}");
    }
}

#[test]
fn texts_decode_alike() {
    for text in [
        r#""""#,
        r#""a""#,
        r#""\"\\\/\b\f\n\r\t""#,
        r#""\u0041b""#,
        r#""\ud83d\ude00""#,
        r#""ü€😀""#,
        r#""k:{\"type\":\"Ready\"}""#,
        r#""a long one, with an escape \n near its end""#,
        "\"\u{7f}\"",
    ] {
        assert!(same::<Value>(text) && same::<String>(text), "{text}");
    }
    for wrong in [
        r#"""#,
        r#""a"#,
        r#""\"#,
        r#""\"x"#,
        r#""\x""#,
        r#""\u00""#,
        r#""\ud83d""#,
        r#""\ud83d\u0041""#,
        "\"\n\"",
        "\"a long text with a\ttab\"",
        "\"\\n\n\"",
    ] {
        assert!(!same::<Value>(wrong), "{wrong}");
    }
}

#[test]
fn brackets_decode_alike() {
    for json in [
        "[]",
        "{}",
        " [ 1 , 2 ] ",
        r#" { "a" : [ { } ] , "b" : null } "#,
        r#"{"a":1,"a":2}"#,
        "[[],[[]]]",
        "true",
        "null",
    ] {
        assert!(same::<Value>(json), "{json}");
    }
    for wrong in [
        "[",
        "{",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "[1 2]",
        "[1}",
        "{]",
        "]",
        r#"{"a"}"#,
        r#"{"a":}"#,
        r#"{"a":1,}"#,
        r#"{,"a":1}"#,
        r#"{"a" 1}"#,
        "{1:2}",
        "[] []",
        "[]]",
        "tru",
        "nul",
        "truefalse",
        "[tru]",
        "[truex]",
        "// no",
    ] {
        assert!(!same::<Value>(wrong), "{wrong}");
    }
    assert!(same::<Value>(&format!("{}{}", "[".repeat(127), "]".repeat(127))));
    assert!(!same::<Value>(&format!("{}{}", "[".repeat(128), "]".repeat(128))));
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "its Debug is compared")]
struct Everything {
    unit: (),
    marker: Marker,
    pair: (u8, String),
    wrapped: Wrapped,
    choices: Vec<Choice>,
    #[serde(default)]
    by_number: BTreeMap<u16, bool>,
    #[serde(default)]
    by_choice: BTreeMap<Choice, i8>,
    letter: Option<char>,
    raw: Option<Box<RawValue>>,
    untagged: Vec<Untagged>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Debug, Deserialize)]
struct Marker;

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "its Debug is compared")]
struct Wrapped(Option<i64>);

#[derive(Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
enum Choice {
    Alone,
    Of(u8),
    Two(u8, u8),
    Named { a: u8 },
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
#[expect(dead_code, reason = "its Debug is compared")]
enum Untagged {
    Number(f64),
    Text(String),
    Many(Vec<Untagged>),
}

const EVERYTHING: &str = r#"{"unit":null,"marker":null,"pair":[1,"two"],"wrapped":-3,
    "choices":["Alone",{"Alone":null},{"Of":1},{"Two":[1,2]},{"Named":{"a":1}},"Al\u006fne"],"by_number":{"1":true,"65535":false},
    "by_choice":{"Alone":-1},"letter":"ü","raw": {"a" : [1, "}"]} ,"untagged":[1,"a\n",[2,["b"]]],"more":{"a":null},"even\u0020more":[1.5]}"#;

#[test]
fn types_of_every_kind_decode_alike() {
    assert!(same::<Everything>(EVERYTHING));
    let array = r#"[null,null,[1,"a"],null,[],{},{},null,null,[]]"#;
    assert!(!same::<Everything>(array));
    for wrong in [
        r#""Other""#,
        r#"{"Alone":1}"#,
        r#"{"Of":null}"#,
        r#"{"Two":[1]}"#,
        r#"{"Two":[1,2,3]}"#,
        r#"{"Of":1,"Two":[1,2]}"#,
        "{}",
        r#""Of""#,
        "5",
    ] {
        assert!(!same::<Choice>(wrong), "{wrong}");
    }
    assert!(same::<(u8, u8)>("[1,2]") && !same::<(u8, u8)>("[1,2,3]") && !same::<(u8, u8)>("[1]"));
    assert!(same::<BTreeMap<i8, i8>>(r#"{"-1":1}"#) && !same::<BTreeMap<i8, i8>>(r#"{"200":1}"#));
    assert!(same::<Pod>(r#"{"metadata":{"name":"a"},"status":null}"#) && !same::<Pod>(r#"{"metadata":[]}"#));
}

#[test]
fn lists_in_protobuf_have_no_spare_capacity() {
    let schema = Schema::of("v1", "Pod").unwrap();
    for count in [1, 2, 3, 5, 9] {
        let env = vec![json!({"name": "a,[\"", "value": "{"}); count];
        let pod = json!({"metadata": {}, "spec": {"containers": [{"name": "a", "env": env}]}});
        let bytes = schema.encode(&pod).unwrap();
        let pod: Pod = decode_protobuf(ValueRef::of_object(schema, Reader::new(&bytes))).unwrap();
        let containers = pod.spec.unwrap().containers;
        let env = containers[0].env.as_ref().unwrap();
        assert_eq!((containers.capacity(), env.len(), env.capacity()), (1, count, count));
    }
}

#[test]
fn lists_in_json_have_no_spare_capacity() {
    for count in [0, 1, 2, 3, 5, 9] {
        let env = vec![json!({"name": "a,[\"", "value": "{"}); count];
        let container = json!({"name": "a", "command": [ "b" ], "env": env, "ports": []});
        // The lists of unknown fields are skipped.
        let unknown = json!([[1, 2, 3], {"a": [[], "]"]}]);
        let spec =
            json!({"aaa": unknown, "containers": [container], "volumes": [{"name": "c"}, {"name": "d"}]});
        let pod = json!({"aaa": unknown, "metadata": {"finalizers": ["a"]}, "spec": spec});
        for text in [pod.to_string(), serde_json::to_string_pretty(&pod).unwrap()] {
            let pod: Pod = decode_json(&text).unwrap();
            let finalizers = pod.metadata.finalizers.unwrap();
            let spec = pod.spec.unwrap();
            let env = spec.containers[0].env.as_ref().unwrap();
            let capacities =
                [finalizers.capacity(), spec.containers.capacity(), spec.volumes.unwrap().capacity()];
            assert_eq!(capacities, [1, 1, 2]);
            assert_eq!((env.len(), env.capacity()), (count, count));
            assert_eq!(spec.containers[0].ports.as_ref().unwrap().capacity(), 0);
        }
    }
}

#[test]
fn unknown_fields_may_have_values_that_no_type_accepts() {
    assert!(decode_json::<Pod>(r#"{"aaa":1e999,"metadata":{"aaa":"\ud800"}}"#).is_ok());
    let deep = format!(r#"{{"metadata":{{}},"aaa":{}{}}}"#, "[".repeat(500), "]".repeat(500));
    assert!(decode_json::<Pod>(&deep).is_ok());
}

/// Returns the lengths of all lists, in the order in which they begin.
fn lengths(value: &Value, found: &mut Vec<u32>) {
    match value {
        Value::Array(elements) => {
            found.push(elements.len().try_into().unwrap());
            elements.iter().for_each(|element| lengths(element, found));
        }
        Value::Object(members) => members.values().for_each(|member| lengths(member, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(".{0,12}", inner, 0..6).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

/// Replaces some bytes by characters that have a meaning in JSON.
fn changed(json: &str, changes: &[(prop::sample::Index, prop::sample::Index)]) -> String {
    const CHARACTERS: &[u8] = b"\"\\{}[],:0-.etn \n\x01u";
    let mut bytes = json.as_bytes().to_vec();
    for (position, character) in changes {
        let position = position.index(bytes.len());
        bytes[position] = CHARACTERS[character.index(CHARACTERS.len())];
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

proptest! {
    #[test]
    fn any_value_decodes_alike(value in any_value()) {
        prop_assert!(same::<Value>(&value.to_string()));
        prop_assert!(same::<Value>(&serde_json::to_string_pretty(&value).unwrap()));
    }

    #[test]
    fn lengths_of_lists_are_found(value in any_value()) {
        let mut expected = Vec::new();
        lengths(&value, &mut expected);
        prop_assert_eq!(&list_lengths(value.to_string().as_bytes()), &expected);
        prop_assert_eq!(&list_lengths(serde_json::to_string_pretty(&value).unwrap().as_bytes()), &expected);
    }

    #[test]
    fn any_changed_value_decodes_alike(
        value in any_value(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..4),
    ) {
        same::<Value>(&changed(&value.to_string(), &changes));
        same::<Everything>(&changed(EVERYTHING, &changes));
    }
}
