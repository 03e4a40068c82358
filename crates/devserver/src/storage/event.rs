//! A change of an object, and the event for a watch with a selector.

use crate::storage::{record::Record, selection::Selection};
use kube_informer_wire::EventType;

/// A change of one object; its version is the record's.
#[derive(Debug)]
pub(crate) struct Event {
    /// True if the object was deleted.
    pub(crate) end: End,
    /// The state after the change; for a deletion, the last state under the version of the deletion.
    pub(crate) record: Record,
    /// The state before the change, if there was one.
    pub(crate) previous: Option<Record>,
}

/// True if the object exists after the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It exists.
    Present,
    /// It was deleted.
    Deleted,
}

impl Event {
    pub(crate) fn version(&self) -> u64 {
        self.record.version()
    }

    /// Returns the event for a watch of `selection`: an object that enters it is added, and one that leaves it is deleted.
    pub(crate) fn seen_by(&self, selection: &Selection) -> Option<(EventType, Record)> {
        let was = self.previous.as_ref().filter(|previous| selection.matches(previous.content()));
        let is = self.end == End::Present && selection.matches(self.record.content());
        match (was, is) {
            (None, false) => None,
            (None, true) => Some((EventType::Added, self.record.clone())),
            (Some(_), true) => Some((EventType::Modified, self.record.clone())),
            (Some(_), false) if self.end == End::Deleted => Some((EventType::Deleted, self.record.clone())),
            (Some(previous), false) => Some((EventType::Deleted, previous.at(self.version()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::record::Content;
    use serde_json::json;
    use std::sync::Arc;

    fn record(tier: &str, version: u64) -> Record {
        let object = json!({ "metadata": { "labels": { "tier": tier } } });
        Record::new(Arc::new(Content::new("a/b".parse().unwrap(), object, vec![])), version)
    }

    fn seen(end: End, now: &str, before: Option<&str>) -> Option<(EventType, u64, String)> {
        let previous = before.map(|tier| record(tier, 1));
        let event = Event { end, record: record(now, 2), previous };
        let selection = Selection { labels: "tier=front".parse().unwrap(), ..Selection::default() };
        let (kind, record) = event.seen_by(&selection)?;
        Some((kind, record.version(), record.content().labels()["tier"].clone()))
    }

    #[test]
    fn entering_and_leaving_a_selection_are_births_and_deaths() {
        let front = |kind| Some((kind, 2, "front".to_owned()));
        let table = [
            (End::Present, "front", None, front(EventType::Added)),
            (End::Present, "back", None, None),
            (End::Present, "front", Some("back"), front(EventType::Added)),
            (End::Present, "front", Some("front"), front(EventType::Modified)),
            (End::Present, "back", Some("front"), front(EventType::Deleted)),
            (End::Present, "back", Some("back"), None),
            (End::Deleted, "front", Some("front"), front(EventType::Deleted)),
            (End::Deleted, "back", Some("back"), None),
        ];
        for (end, now, before, expected) in table {
            assert_eq!(seen(end, now, before), expected, "{end:?} {now} {before:?}");
        }
    }
}
