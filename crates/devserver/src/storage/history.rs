//! The recent changes of the objects of one resource.

use crate::storage::event::Event;
use std::{collections::VecDeque, sync::Arc};

/// Events in the order of their versions. The oldest are dropped.
#[derive(Debug)]
pub(crate) struct History {
    events: VecDeque<Arc<Event>>,
    capacity: usize,
    /// The version of the newest event that was dropped.
    lost: u64,
    /// The oldest version from which a watch may start.
    floor: u64,
}

impl History {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { events: VecDeque::new(), capacity: capacity.max(1), lost: 0, floor: 0 }
    }

    /// Creates an empty history with this capacity.
    pub(crate) fn new_like(&self) -> Self {
        Self::new(self.capacity)
    }

    pub(crate) fn push(&mut self, event: Event) {
        self.events.push_back(Arc::new(event));
        while self.events.len() > self.capacity {
            self.forget_oldest();
        }
    }

    /// Drops all events. No watch can start before `version`.
    pub(crate) fn forget(&mut self, version: u64) {
        while !self.events.is_empty() {
            self.forget_oldest();
        }
        self.events.shrink_to_fit();
        self.floor = version;
    }

    /// Drops all events, also for watches that have received everything before `version`.
    pub(crate) fn lose(&mut self, version: u64) {
        self.forget(version);
        self.lost = version;
    }

    /// Returns the oldest version from which a watch can start.
    pub(crate) fn floor(&self) -> u64 {
        self.floor
    }

    /// Returns the events after `version`; `None` if some of them were dropped.
    pub(crate) fn after(&self, version: u64) -> Option<impl DoubleEndedIterator<Item = &Arc<Event>>> {
        let start = self.events.partition_point(|event| event.version() <= version);
        (version >= self.lost).then(|| self.events.range(start..))
    }

    fn forget_oldest(&mut self) {
        if let Some(event) = self.events.pop_front() {
            self.lost = event.version();
            self.floor = self.floor.max(self.lost);
        }
    }
}
