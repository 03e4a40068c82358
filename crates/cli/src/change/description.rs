//! Summarizes an event.

use super::{
    fields::changes,
    summary::{event, summary},
    words::words,
};
use crate::paint::Highlight;
use crate::safe::clean_name;
use kube_core::DynamicObject;
use kube_informer::event::{Deletion, Event, Phase};

/// The maximum number of phrases for one change.
const PHRASES: usize = 4;

/// The word for an object of the initial list.
pub(crate) const EXISTING: (&str, Highlight) = ("existing", Highlight::Quiet);

/// The description of an object that was missing in a relist.
pub(crate) const DELETION_NOT_RECEIVED: &str = "missing in a relist; the deletion itself was not received";

/// Returns the type of an event, and its color.
pub(crate) fn verb(event: &Event<DynamicObject>) -> (&'static str, Highlight) {
    match event {
        Event::Added { phase: Phase::Initial, .. } => EXISTING,
        Event::Added { phase: Phase::Live, .. } => ("added", Highlight::Came),
        Event::Updated { .. } if event.is_resync() => ("resynced", Highlight::Quiet),
        Event::Updated { .. } => ("updated", Highlight::Changed),
        Event::Deleted { .. } => ("deleted", Highlight::Went),
        _ => ("unknown", Highlight::Quiet),
    }
}

/// How much of a change is described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// The most important phrases.
    Short,
    /// All phrases.
    Full,
}

/// Returns the most important parts of a change, or the status of an object that was added or deleted.
pub(crate) fn description(event: &Event<DynamicObject>) -> String {
    described(event, Detail::Short)
}

/// Returns the parts of a change, or the status of an object that was added or deleted.
pub(crate) fn described(event: &Event<DynamicObject>, detail: Detail) -> String {
    match event {
        Event::Updated { .. } if event.is_resync() => String::new(),
        Event::Updated { old, new, .. } => update(old.get(), new.get(), detail),
        Event::Added { object, .. } => summary(object.get()),
        Event::Deleted { last_known, deletion: Deletion::Observed, .. } => summary(last_known.get()),
        Event::Deleted { .. } => DELETION_NOT_RECEIVED.to_owned(),
        _ => String::new(),
    }
}

/// Returns the most important parts of an update.
pub(crate) fn updated(old: &DynamicObject, new: &DynamicObject) -> String {
    update(old, new, Detail::Short)
}

/// Returns the parts of an update. An Event object is always shown completely.
fn update(old: &DynamicObject, new: &DynamicObject, detail: Detail) -> String {
    let changes = changes(old, new);
    if let Some(event) = event(&new.data).filter(|_| !changes.is_empty()) {
        return event;
    }
    let words = words(&changes, &new.data);
    match detail {
        Detail::Short => phrases(&words),
        Detail::Full => words.join(", "),
    }
}

/// Returns `namespace/name`, or the name of a cluster-scoped object.
pub(crate) fn key(object: &DynamicObject) -> String {
    let name = clean_name(object.metadata.name.as_deref().unwrap_or_default());
    let namespace = object.metadata.namespace.as_deref();
    namespace.map_or(name.clone(), |namespace| format!("{}/{name}", clean_name(namespace)))
}

fn phrases(words: &[String]) -> String {
    let phrases = words.iter().take(PHRASES).cloned().collect::<Vec<_>>().join(", ");
    match words.len().saturating_sub(PHRASES) {
        0 => phrases,
        more => format!("{phrases} and {more} more"),
    }
}
