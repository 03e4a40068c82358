//! Objects in JSON, beside what serde_json makes of them.

use k8s_openapi::api::core::v1::Pod;
use kube_core::DynamicObject;
use kube_informer_wire::{Format, Identity, Lazy, ManagedFields, Raw, decode_object};
use serde_json::Value;

pub(crate) fn json(data: &[u8]) {
    let raw = Raw::new(Format::Json, data.to_vec().into());
    let theirs = serde_json::from_slice::<Value>(data).ok();
    let ours = raw.decode::<Value>(ManagedFields::Keep);
    assert_eq!(ours.as_ref().ok(), theirs.as_ref(), "{:?}", ours.as_ref().err());
    // What is passed over may be malformed.
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

/// What can be decoded can be kept as it is, and is the same when it is decoded then. What is malformed need not.
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
            // Metadata that are null or there twice are refused, as they are of any untyped object.
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

/// Where serde_json reads a pod, so do we; what it does not read may be more to us, since we look at less.
fn typed(raw: &Raw, data: &[u8]) {
    drop(decode_object::<DynamicObject>(data));
    let ours = raw.decode::<Pod>(ManagedFields::Drop);
    // What it passes over, serde_json does not even hold against UTF-8, unless it is given text.
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(mut theirs) = serde_json::from_str::<Pod>(text) else { return };
    theirs.metadata.managed_fields = None;
    assert_eq!(ours.ok(), Some(theirs));
    assert!(raw.decode::<Pod>(ManagedFields::Keep).is_ok());
}

/// Who an object is does not depend on who asks, or it is refused; and it is not refused if it says so once.
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
