//! Finds the fields in which two states of an object differ, without decoding them.

use super::raw::{Format, Raw};
use crate::{
    json::Scanner,
    protobuf::{field_bytes, metadata_field_bytes},
};
use std::borrow::Cow;

/// The maximum number of fields, because each one is compared with all others.
const MAX_FIELDS: usize = 200;

/// A field and its encoded value.
type FieldBytes<'a> = (Cow<'a, str>, &'a [u8]);

impl Raw {
    /// Returns the JSON pointers of the top-level fields, and of the fields of `metadata`, whose bytes differ between two states of an
    /// object. `apiVersion` and `kind` are skipped, which objects in lists do not have. Equal bytes are equal values.
    ///
    /// ```
    /// use kube_informer_wire::{Format, Raw};
    ///
    /// let raw = |json: &str| Raw::new(Format::Json, json.to_owned().into());
    /// let old = raw(r#"{"metadata":{"name":"a","resourceVersion":"1"},"spec":{"x":1},"status":{"phase":"Pending"}}"#);
    /// let new = raw(r#"{"metadata":{"name":"a","resourceVersion":"2"},"spec":{"x":1},"status":{"phase":"Running"}}"#);
    /// assert_eq!(old.differing_fields(&new).unwrap(), ["/metadata/resourceVersion", "/status"]);
    /// ```
    ///
    /// Returns `None` if the encodings differ, if an object is malformed, or if it or its metadata has more than 200 fields.
    #[must_use]
    pub fn differing_fields(&self, other: &Self) -> Option<Vec<String>> {
        let (is_json, is_other_json) = (self.format() == Format::Json, other.format() == Format::Json);
        if is_json != is_other_json {
            return None;
        }
        let mut found = Vec::new();
        for name in differing(&self.fields()?, &other.fields()?) {
            match &*name {
                "apiVersion" | "kind" => {}
                "metadata" => {
                    let names = differing(&self.metadata_fields()?, &other.metadata_fields()?);
                    found.extend(names.iter().map(|name| format!("/metadata/{}", escaped(name))));
                }
                name => found.push(format!("/{}", escaped(name))),
            }
        }
        Some(found)
    }

    fn fields(&self) -> Option<Vec<FieldBytes<'_>>> {
        match self.format() {
            Format::Json => json_fields(self.bytes()),
            Format::Protobuf(schema) | Format::ProtobufItem(schema) => {
                Some(borrowed(field_bytes(schema, self.bytes()).ok()?))
            }
        }
    }

    fn metadata_fields(&self) -> Option<Vec<FieldBytes<'_>>> {
        match self.format() {
            Format::Json => {
                let fields = json_fields(self.bytes())?;
                match fields.into_iter().find(|(name, _)| name == "metadata") {
                    Some((_, metadata)) => json_fields(metadata),
                    None => Some(Vec::new()),
                }
            }
            Format::Protobuf(schema) | Format::ProtobufItem(schema) => {
                Some(borrowed(metadata_field_bytes(schema, self.bytes()).ok()?))
            }
        }
    }
}

fn borrowed<'a>(fields: Vec<(&'static str, &'a [u8])>) -> Vec<FieldBytes<'a>> {
    fields.into_iter().map(|(name, bytes)| (Cow::Borrowed(name), bytes)).collect()
}

fn json_fields(text: &[u8]) -> Option<Vec<FieldBytes<'_>>> {
    let mut scanner = Scanner::new(text);
    scanner.enter(b'{').ok()?;
    let mut fields = Vec::new();
    while let Some(key) = scanner.next_key().ok()? {
        if fields.len() == MAX_FIELDS {
            return None;
        }
        fields.push((key.text(), &text[scanner.skip_value().ok()?]));
    }
    Some(fields)
}

/// Returns the names of the fields that differ or are missing in one state.
fn differing<'a>(old: &[FieldBytes<'a>], new: &[FieldBytes<'a>]) -> Vec<Cow<'a, str>> {
    let value = |fields: &[FieldBytes<'a>], name: &str| {
        fields.iter().find(|(known, _)| known == name).map(|(_, bytes)| *bytes)
    };
    let changed = old.iter().filter(|(name, bytes)| value(new, name) != Some(*bytes));
    let added = new.iter().filter(|(name, _)| value(old, name).is_none());
    changed.chain(added).map(|(name, _)| name.clone()).collect()
}

/// Escapes a name for a JSON pointer.
fn escaped(name: &str) -> Cow<'_, str> {
    if name.contains(['~', '/']) { name.replace('~', "~0").replace('/', "~1").into() } else { name.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ManagedFields, Schema};
    use serde_json::{Value, json};

    fn raw(value: &Value) -> Raw {
        Raw::new(Format::Json, value.to_string().into())
    }

    #[test]
    fn only_the_fields_that_differ_are_listed() {
        let old = json!({"kind": "A", "metadata": {"name": "a", "labels": {"x": "1"}, "a/b~c": 1}, "spec": {"y": 1}, "gone": 1});
        let new =
            json!({"metadata": {"name": "a", "labels": {"x": "2"}, "a/b~c": 2}, "spec": {"y": 1}, "new": {}});
        let mut found = raw(&old).differing_fields(&raw(&new)).unwrap();
        found.sort();
        assert_eq!(found, ["/gone", "/metadata/a~1b~0c", "/metadata/labels", "/new"]);
        for pointer in found {
            assert_ne!(old.pointer(&pointer), new.pointer(&pointer), "{pointer}");
        }
        assert_eq!(raw(&old).differing_fields(&raw(&old)), Some(Vec::new()));
        assert_eq!(raw(&old).differing_fields(&raw(&json!([1]))), None);
        assert_eq!(
            raw(&json!({"a": 1})).differing_fields(&raw(&json!({"metadata": {"name": "a"}}))).unwrap().len(),
            2
        );
    }

    #[test]
    fn both_encodings_list_the_same_fields() {
        let schema = Schema::of("v1", "Pod").unwrap();
        let pods: Vec<Value> = include_str!("../../benches/pods.jsonl")
            .lines()
            .take(20)
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let protobuf =
            |value: &Value| Raw::new(Format::ProtobufItem(schema), schema.encode(value).unwrap().into());
        for pair in pods.windows(2) {
            let mut changed = pair[0].clone();
            changed["status"] = pair[1]["status"].clone();
            changed["metadata"]["resourceVersion"] = "77".into();
            changed["metadata"]["managedFields"] = pair[1]["metadata"]["managedFields"].clone();
            let (old, new) = (protobuf(&pair[0]), protobuf(&changed));
            let listed = Raw::new(Format::Protobuf(schema), new.bytes().clone());
            let mut found = old.differing_fields(&listed).unwrap();
            found.sort();
            // The encoding of JSON is that of the decoded values, whose fields have one order.
            let [old, new] = [old, new].map(|state| state.decode::<Value>(ManagedFields::Keep).unwrap());
            let mut expected = raw(&old).differing_fields(&raw(&new)).unwrap();
            expected.sort();
            assert_eq!(found, expected);
            assert!(found.contains(&"/metadata/resourceVersion".to_owned()), "{found:?}");
            assert!(!found.iter().any(|pointer| pointer.starts_with("/spec")), "{found:?}");
        }
    }

    #[test]
    fn other_encodings_and_malformed_objects_are_not_compared() {
        let schema = Schema::of("v1", "Pod").unwrap();
        let json = raw(&json!({"metadata": {"name": "a"}}));
        let protobuf = Raw::new(
            Format::ProtobufItem(schema),
            schema.encode(&json!({"metadata": {"name": "a"}})).unwrap().into(),
        );
        assert_eq!(json.differing_fields(&protobuf), None);
        let malformed = Raw::new(Format::ProtobufItem(schema), vec![0xff; 9].into());
        assert_eq!(protobuf.differing_fields(&malformed), None);
        assert_eq!(json.differing_fields(&Raw::new(Format::Json, "{\"metadata\":".into())), None);
    }

    #[test]
    fn objects_with_very_many_fields_are_not_compared() {
        let object = |fields: usize| raw(&(0..fields).map(|number| (number.to_string(), json!(1))).collect());
        assert_eq!(object(MAX_FIELDS).differing_fields(&object(0)).unwrap().len(), MAX_FIELDS);
        assert_eq!(object(MAX_FIELDS + 1).differing_fields(&object(0)), None);
    }
}
