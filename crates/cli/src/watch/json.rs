//! An event as a JSON document.
//!
//! The fields are documented in docs/command.md.

use super::table::Source;
use crate::change::{FieldChange, changes, manager, verb};
use crate::kinds::whole;
use jiff::Timestamp;
use kube_core::DynamicObject;
use kube_informer::event::{Deletion, Event, Phase};
use serde_json::{Map, Value, json};

/// Returns the document of an event.
pub(super) fn document(source: &Source, event: &Event<DynamicObject>, now: Timestamp) -> Value {
    let object = event.object().get();
    let mut document = match event {
        Event::Added { phase: Phase::Initial, .. } => initial(source, object, now),
        Event::Added { .. } => fields(source, object, "added", now),
        _ => fields(source, object, verb(event).0, now),
    };
    match event {
        Event::Updated { old, new, .. } if !event.is_resync() => {
            document["changes"] = changes(old.get(), new.get()).iter().map(change).collect();
            document["manager"] = manager(Some(old.get()), new.get()).into();
        }
        Event::Added { phase: Phase::Live, object, .. } => {
            document["manager"] = manager(None, object.get()).into();
        }
        Event::Deleted { deletion, .. } => document["observed"] = (*deletion == Deletion::Observed).into(),
        _ => {}
    }
    document
}

/// Returns the document of an object that existed before.
pub(super) fn initial(source: &Source, object: &DynamicObject, now: Timestamp) -> Value {
    let mut document = fields(source, object, "added", now);
    document["initial"] = true.into();
    document
}

/// Returns the fields of every document.
fn fields(source: &Source, object: &DynamicObject, event: &str, now: Timestamp) -> Value {
    let meta = &object.metadata;
    let mut document = json!({
        "time": now.to_string(),
        "event": event,
        "initial": false,
        "resource": source.kind.resource(),
        "namespace": meta.namespace,
        "name": meta.name,
        "uid": meta.uid,
        "resourceVersion": meta.resource_version,
        "object": whole(&source.kind, object),
    });
    if let Some(context) = &source.context {
        document["context"] = context.as_str().into();
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
    use crate::kinds::Kind;
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
        let source = Source::new(kind, None);
        let event = Event::update(object("1", "Pending"), object("2", "Running")).unwrap();
        let expected = json!({
            "time": "1970-01-01T00:00:00Z", "event": "updated", "initial": false, "resource": "pods",
            "namespace": "web", "name": "a", "uid": "u", "resourceVersion": "2", "manager": null,
            "changes": [{"path": "status.phase", "old": "Pending", "new": "Running"}],
            "object": {
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": "a", "namespace": "web", "uid": "u", "resourceVersion": "2"},
                "status": {"phase": "Running"},
            },
        });
        assert_eq!(document(&source, &event, Timestamp::UNIX_EPOCH), expected);
    }
}
