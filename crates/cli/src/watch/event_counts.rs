//! The number of printed events by type.

use crate::number::{count, grouped};
use kube_core::DynamicObject;
use kube_informer::event::{Event, Phase};
use serde::Serialize;
use std::time::Duration;

/// The number of printed events by type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct EventCounts {
    pub(super) initial: u64,
    pub(super) added: u64,
    pub(super) updated: u64,
    pub(super) deleted: u64,
    pub(super) resynced: u64,
}

impl EventCounts {
    pub(super) fn count(&mut self, event: &Event<DynamicObject>) {
        let counter = match event {
            Event::Added { phase: Phase::Initial, .. } => &mut self.initial,
            Event::Added { phase: Phase::Live, .. } => &mut self.added,
            Event::Updated { .. } if event.is_resync() => &mut self.resynced,
            Event::Updated { .. } => &mut self.updated,
            Event::Deleted { .. } => &mut self.deleted,
            _ => return,
        };
        *counter += 1;
    }

    /// Returns a summary in one line.
    pub(super) fn summary(&self, objects: u64, took: Duration, errors: u64) -> String {
        let Self { added, updated, deleted, .. } = self;
        let mut text = format!("{} at the end; ", count(objects, "object"));
        text += &format!(
            "{} added, {} updated, {} deleted",
            grouped(*added),
            grouped(*updated),
            grouped(*deleted)
        );
        text += &format!(" in {:.1} s", took.as_secs_f64());
        if errors > 0 {
            text += &format!("; {}", count(errors, "error"));
        }
        text
    }
}
