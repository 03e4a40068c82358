//! An event, told in few words.

use super::{
    fields::changes,
    summary::{event, summary},
    words::words,
};
use crate::paint::Tone;
use crate::safe::clean_name;
use kube_core::DynamicObject;
use kube_informer::event::{Deletion, Event, Phase};

/// So many phrases of one change are told.
const PHRASES: usize = 4;

/// The word for an object of the initial list.
pub(crate) const EXISTING: (&str, Tone) = ("existing", Tone::Quiet);

/// What happened, in a word.
pub(crate) fn verb(event: &Event<DynamicObject>) -> (&'static str, Tone) {
    match event {
        Event::Added { phase: Phase::Initial, .. } => EXISTING,
        Event::Added { phase: Phase::Live, .. } => ("added", Tone::Came),
        Event::Updated { .. } if event.is_resync() => ("resynced", Tone::Quiet),
        Event::Updated { .. } => ("updated", Tone::Changed),
        Event::Deleted { .. } => ("deleted", Tone::Went),
        _ => ("unknown", Tone::Quiet),
    }
}

/// What changed, or how the object fares that came or went.
pub(crate) fn told(event: &Event<DynamicObject>) -> String {
    match event {
        Event::Updated { .. } if event.is_resync() => String::new(),
        Event::Updated { old, new, .. } => updated(old.get(), new.get()),
        Event::Added { object, .. } => summary(object.get()),
        Event::Deleted { last_known, deletion: Deletion::Observed, .. } => summary(last_known.get()),
        Event::Deleted { .. } => "missing in a relist; the deletion itself was not received".to_owned(),
        _ => String::new(),
    }
}

/// What changed. An Event object has one meaning as a whole, so it is shown as if it were new.
pub(crate) fn updated(old: &DynamicObject, new: &DynamicObject) -> String {
    let changes = changes(old, new);
    if let Some(event) = event(&new.data).filter(|_| !changes.is_empty()) {
        return event;
    }
    phrases(&words(&changes, &new.data))
}

/// `namespace/name`, or the name of what has no namespace.
pub(crate) fn key(object: &DynamicObject) -> String {
    let name = clean_name(object.metadata.name.as_deref().unwrap_or_default());
    let namespace = object.metadata.namespace.as_deref();
    namespace.map_or(name.clone(), |namespace| format!("{}/{name}", clean_name(namespace)))
}

fn phrases(words: &[String]) -> String {
    let told = words.iter().take(PHRASES).cloned().collect::<Vec<_>>().join(", ");
    match words.len().saturating_sub(PHRASES) {
        0 => told,
        more => format!("{told} and {more} more"),
    }
}
