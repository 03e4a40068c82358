//! Finds the fields in which two states of an object differ, without decoding them.

use super::raw::{Format, Raw};
use crate::{
    json::Scanner,
    protobuf::{field_bytes, metadata_field_bytes},
};
use serde_json::Value;
use std::borrow::Cow;

/// The maximum number of fields, because each one is compared with all others.
const MAX_FIELDS: usize = 200;

/// A field and its encoded value.
type FieldBytes<'a> = (Cow<'a, str>, &'a [u8]);

/// The name or pointer of a field that differs, and its encoded values in both states.
type Difference<'a> = (Cow<'a, str>, [Option<&'a [u8]>; 2]);

impl Raw {
    /// Returns the fields that differ between two states of an object, with their values in both: top-level fields, and fields of
    /// `metadata`, each with its JSON pointer. `apiVersion` and `kind` are skipped, which objects in lists do not have.
    ///
    /// Fields are compared by their bytes, and only the values of those that differ are decoded, if `is_wanted` returns true for the
    /// pointer. A value is `None` if the field is absent or null.
    ///
    /// ```
    /// use kube_informer_wire::{Format, Raw};
    /// use serde_json::json;
    ///
    /// let raw = |json: &str| Raw::new(Format::Json, json.to_owned().into());
    /// let old = raw(r#"{"metadata":{"name":"a","resourceVersion":"1"},"spec":{"x":1},"status":{"phase":"Pending"}}"#);
    /// let new = raw(r#"{"metadata":{"name":"a","resourceVersion":"2"},"spec":{"x":1}}"#);
    /// let values = old.differing_values(&new, |pointer| pointer != "/metadata/resourceVersion").unwrap();
    /// assert_eq!(values, [("/status".to_owned(), [Some(json!({"phase": "Pending"})), None])]);
    /// ```
    ///
    /// Returns `None` if the encodings differ, if an object is malformed, or if it or its metadata has more than 200 fields.
    #[must_use]
    pub fn differing_values(
        &self,
        other: &Self,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Option<Vec<(String, [Option<Value>; 2])>> {
        let wanted = self.differences(other)?.into_iter().filter(|(pointer, _)| is_wanted(pointer));
        let decode = |(pointer, [old, new]): Difference<'_>| {
            let values = [self.value_of(&pointer, old)?, other.value_of(&pointer, new)?];
            Some((pointer.into_owned(), values))
        };
        wanted.map(decode).collect()
    }

    /// Decodes a field from its bytes; `Some(None)` if it is absent or null, and `None` if it is malformed.
    fn value_of(&self, pointer: &str, bytes: Option<&[u8]>) -> Option<Option<Value>> {
        match (self.format(), bytes) {
            (_, None) => Some(None),
            (Format::Json, Some(bytes)) => serde_json::from_slice(bytes).ok(),
            (Format::Protobuf(_) | Format::ProtobufItem(_), Some(_)) => self.read(pointer).ok(),
        }
    }

    /// Returns the JSON pointers of the fields that differ, with their bytes in both states.
    fn differences<'a>(&'a self, other: &'a Self) -> Option<Vec<Difference<'a>>> {
        let (is_json, is_other_json) = (self.format() == Format::Json, other.format() == Format::Json);
        if is_json != is_other_json {
            return None;
        }
        let mut found = Vec::new();
        for (name, values) in differing(&self.fields()?, &other.fields()?) {
            match &*name {
                "apiVersion" | "kind" => {}
                "metadata" => {
                    let [old, new] = values;
                    let fields = differing(&self.metadata_fields(old)?, &other.metadata_fields(new)?);
                    let pointer = |name: &str| format!("/metadata/{}", escaped(name)).into();
                    found.extend(fields.into_iter().map(|(name, values)| (pointer(&name), values)));
                }
                name => found.push((format!("/{}", escaped(name)).into(), values)),
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

    /// Returns the fields of the metadata, which has these bytes.
    fn metadata_fields<'a>(&'a self, metadata: Option<&'a [u8]>) -> Option<Vec<FieldBytes<'a>>> {
        match self.format() {
            Format::Json => metadata.map_or(Some(Vec::new()), json_fields),
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

/// Returns the fields that differ or are missing in one state.
fn differing<'a>(old: &[FieldBytes<'a>], new: &[FieldBytes<'a>]) -> Vec<Difference<'a>> {
    let value = |fields: &[FieldBytes<'a>], name: &str| {
        fields.iter().find(|(known, _)| known == name).map(|(_, bytes)| *bytes)
    };
    let of_old = old.iter().map(|(name, bytes)| (name.clone(), [Some(*bytes), value(new, name)]));
    let added = new.iter().filter(|(name, _)| value(old, name).is_none());
    let of_new = added.map(|(name, bytes)| (name.clone(), [None, Some(*bytes)]));
    of_old.filter(|(_, [old, new])| old != new).chain(of_new).collect()
}

/// Escapes a name for a JSON pointer.
fn escaped(name: &str) -> Cow<'_, str> {
    if name.contains(['~', '/']) { name.replace('~', "~0").replace('/', "~1").into() } else { name.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ManagedFields, Schema};
    use serde_json::json;

    fn raw(value: &Value) -> Raw {
        Raw::new(Format::Json, value.to_string().into())
    }

    fn pointers(old: &Raw, new: &Raw) -> Option<Vec<String>> {
        Some(old.differing_values(new, |_| true)?.into_iter().map(|(pointer, _)| pointer).collect())
    }

    #[test]
    fn only_the_fields_that_differ_are_listed() {
        let old = json!({"kind": "A", "metadata": {"name": "a", "labels": {"x": "1"}, "a/b~c": 1}, "spec": {"y": 1}, "gone": 1});
        let new =
            json!({"metadata": {"name": "a", "labels": {"x": "2"}, "a/b~c": 2}, "spec": {"y": 1}, "new": {}});
        let mut found = pointers(&raw(&old), &raw(&new)).unwrap();
        found.sort();
        assert_eq!(found, ["/gone", "/metadata/a~1b~0c", "/metadata/labels", "/new"]);
        for pointer in &found {
            assert_ne!(old.pointer(pointer), new.pointer(pointer), "{pointer}");
        }
        for (pointer, values) in raw(&old).differing_values(&raw(&new), |pointer| pointer != "/gone").unwrap()
        {
            assert_eq!(values, [&old, &new].map(|state| state.pointer(&pointer).cloned()), "{pointer}");
            found.retain(|known| *known != pointer);
        }
        assert_eq!(found, ["/gone"]);
        assert_eq!(pointers(&raw(&old), &raw(&old)), Some(Vec::new()));
        assert_eq!(pointers(&raw(&old), &raw(&json!([1]))), None);
        assert_eq!(
            pointers(&raw(&json!({"a": 1})), &raw(&json!({"metadata": {"name": "a"}}))).unwrap().len(),
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
            let mut found = pointers(&old, &listed).unwrap();
            found.sort();
            // The encoding of JSON is that of the decoded values, whose fields have one order.
            let [old, new] = [old, new].map(|state| state.decode::<Value>(ManagedFields::Keep).unwrap());
            let mut expected = pointers(&raw(&old), &raw(&new)).unwrap();
            expected.sort();
            assert_eq!(found, expected);
            for (pointer, values) in protobuf(&pair[0]).differing_values(&listed, |_| true).unwrap() {
                let [old_value, new_value] = [&old, &new].map(|state| state.pointer(&pointer).cloned());
                assert_eq!(values, [old_value, new_value], "{pointer}");
            }
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
        assert_eq!(pointers(&json, &protobuf), None);
        let malformed = Raw::new(Format::ProtobufItem(schema), vec![0xff; 9].into());
        assert_eq!(pointers(&protobuf, &malformed), None);
        assert_eq!(pointers(&json, &Raw::new(Format::Json, "{\"metadata\":".into())), None);
    }

    #[test]
    fn objects_with_very_many_fields_are_not_compared() {
        let object = |fields: usize| raw(&(0..fields).map(|number| (number.to_string(), json!(1))).collect());
        assert_eq!(pointers(&object(MAX_FIELDS), &object(0)).unwrap().len(), MAX_FIELDS);
        assert_eq!(pointers(&object(MAX_FIELDS + 1), &object(0)), None);
    }
}
