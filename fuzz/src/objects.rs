//! JSON objects, compared with serde_json.

use k8s_openapi::api::core::v1::Pod;
use kube_core::DynamicObject;
use kube_informer_wire::{Format, Identity, Lazy, ManagedFields, Raw, decode_object};
use serde_json::Value;

pub(crate) fn json(data: &[u8]) {
    let raw = Raw::new(Format::Json, data.to_vec().into());
    let theirs = serde_json::from_slice::<Value>(data).ok();
    let ours = raw.decode::<Value>(ManagedFields::Keep);
    assert_eq!(ours.as_ref().ok(), theirs.as_ref(), "{:?}", ours.as_ref().err());
    // Skipped fields may be malformed.
    if let Some(stripped) = theirs.clone().map(without_managed_fields) {
        let dropped = raw.decode::<Value>(ManagedFields::Drop).ok();
        assert_eq!(dropped.as_ref(), Some(&stripped), "managed fields are passed over");
        let cut = raw.without_managed_fields().decode::<Value>(ManagedFields::Drop).ok();
        assert_eq!(cut, Some(stripped), "managed fields are cut out");
    }
    typed(&raw, data);
    identity(&raw, data);
    lazy(&raw);
    drop(raw.validate_managed_fields());
    drop(raw.without_trailing_data());
}

/// Checks that an object that can be decoded can also be stored lazily, and decodes to the same value.
pub(crate) fn lazy(raw: &Raw) {
    for pointer in
        ["/", "/metadata/managedFields/0/fieldsV1", "/spec/containers/1/ports", "/data/a~1b", "/status"]
    {
        drop(raw.read::<Value>(pointer));
    }
    let all = raw.read::<Value>("");
    let decoded =
        [ManagedFields::Keep, ManagedFields::Drop].map(|fields| (fields, raw.decode::<Lazy<Pod>>(fields)));
    let Ok(whole) = raw.decode::<Value>(ManagedFields::Keep) else { return };
    assert_eq!(all.ok(), Some(Some(whole).filter(|whole| !whole.is_null())));
    for (managed_fields, lazy) in decoded {
        match lazy {
            Ok(lazy) => assert_eq!(lazy.decode().ok(), raw.decode::<Pod>(managed_fields).ok()),
            // Null or duplicate metadata is rejected, as for all untyped objects.
            Err(_) => assert!(raw.decode::<DynamicObject>(managed_fields).is_err()),
        }
    }
}

fn without_managed_fields(mut object: Value) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    object
}

/// Checks that a pod decodes if serde_json decodes it. The decoder may accept more, because it skips fields.
fn typed(raw: &Raw, data: &[u8]) {
    drop(decode_object::<DynamicObject>(data));
    let ours = raw.decode::<Pod>(ManagedFields::Drop);
    // serde_json checks skipped fields for UTF-8 only if the input is a string.
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(mut theirs) = serde_json::from_str::<Pod>(text) else { return };
    theirs.metadata.managed_fields = None;
    assert_eq!(ours.ok(), Some(theirs));
    assert!(raw.decode::<Pod>(ManagedFields::Keep).is_ok());
}

/// Checks that all ways to read the identity agree, and that an unambiguous identity is accepted.
fn identity(raw: &Raw, data: &[u8]) {
    let (Some(known), Ok(pod)) = (raw.identity(), raw.decode::<Pod>(ManagedFields::Keep)) else { return };
    let decoded = Identity::of(&pod);
    drop((known.key(), known.version()));
    if raw.check_identity(&pod).is_ok() {
        assert_eq!((&known.name, &known.namespace), (&decoded.name, &decoded.namespace));
        return;
    }
    let count = |word: &[u8]| data.windows(word.len()).filter(|window| *window == word).count();
    let words = [&b"metadata"[..], b"\"name\"", b"\"namespace\"", b"\"uid\"", b"\"resourceVersion\""];
    assert!(data.contains(&b'\\') || words.into_iter().any(|word| count(word) > 1), "{known:?} {decoded:?}");
}
