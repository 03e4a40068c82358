//! Objects in JSON, beside what serde_json makes of them.

use k8s_openapi::api::core::v1::Pod;
use kube_core::DynamicObject;
use kube_informer_wire::{Format, ManagedFields, Raw, decode_object};
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
    // Of a name that comes twice the identity has the first, and whoever decodes the last: to look for a second takes as long as
    // decoding does.
    let once = |word: &[u8]| data.windows(word.len()).filter(|window| *window == word).count() == 1;
    if once(b"metadata") && [&b"\"name\""[..], b"\"namespace\"", b"\"resourceVersion\""].into_iter().all(once)
    {
        identity(&raw, theirs.as_ref());
    }
    drop(raw.check_managed_fields());
    drop(raw.alone());
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

/// Who an object is does not depend on who asks, where it says so once.
fn identity(raw: &Raw, theirs: Option<&Value>) {
    let (Some(identity), Some(theirs)) = (raw.identity(), theirs) else { return };
    drop((identity.key(), identity.version()));
    let metadata = &theirs["metadata"];
    for (name, ours) in
        [("name", &identity.name), ("namespace", &identity.namespace), ("resourceVersion", &identity.version)]
    {
        assert_eq!(ours, metadata[name].as_str().unwrap_or_default(), "{name}");
    }
}
