//! An event as a JSON document, whose fields docs/command.md promises.

use crate::change::{FieldChange, changes, verb};
use crate::kinds::{Kind, whole};
use jiff::Timestamp;
use kube_core::DynamicObject;
use kube_informer::Event;
use serde_json::{Map, Value, json};

/// The document of an event.
pub(super) fn document(kind: &Kind, event: &Event<DynamicObject>, now: Timestamp) -> Value {
    let object = event.object();
    let meta = &object.metadata;
    let (event_name, is_initial) = match event {
        Event::Added { initial, .. } => ("added", *initial),
        Event::Updated { .. } | Event::Deleted { .. } => (verb(event).0, false),
    };
    let mut document = json!({
        "time": now.to_string(),
        "event": event_name,
        "initial": is_initial,
        "resource": kind.resource(),
        "namespace": meta.namespace,
        "name": meta.name,
        "uid": meta.uid,
        "resourceVersion": meta.resource_version,
        "object": whole(kind, object),
    });
    match event {
        Event::Updated { old, new } if !event.is_resync() => {
            document["changes"] = changes(old, new).iter().map(change).collect();
        }
        Event::Deleted { observed, .. } => document["observed"] = (*observed).into(),
        Event::Added { .. } | Event::Updated { .. } => {}
    }
    document
}

fn change(change: &FieldChange) -> Value {
    let mut fields = Map::from_iter([("path".to_owned(), change.path.to_string().into())]);
    let sides = [("old", &change.old), ("new", &change.new)];
    fields.extend(sides.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.clone()?))));
    Value::Object(fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_document_has_the_promised_fields() {
        let object = |version: &str, phase: &str| {
            let value = json!({
                "metadata": {"name": "a", "namespace": "web", "uid": "u", "resourceVersion": version},
                "status": {"phase": phase},
            });
            Arc::new(serde_json::from_value::<DynamicObject>(value).unwrap())
        };
        let kind =
            Kind { version: "v1".into(), kind: "Pod".into(), plural: "pods".into(), ..Kind::default() };
        let event = Event::Updated { old: object("1", "Pending").into(), new: object("2", "Running").into() };
        let expected = json!({
            "time": "1970-01-01T00:00:00Z", "event": "updated", "initial": false, "resource": "pods",
            "namespace": "web", "name": "a", "uid": "u", "resourceVersion": "2",
            "changes": [{"path": "status.phase", "old": "Pending", "new": "Running"}],
            "object": {
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": "a", "namespace": "web", "uid": "u", "resourceVersion": "2"},
                "status": {"phase": "Running"},
            },
        });
        assert_eq!(document(&kind, &event, Timestamp::UNIX_EPOCH), expected);
    }
}
