//! What happened to the objects of one resource, as far back as is remembered.

use crate::storage::event::Event;
use std::{collections::VecDeque, sync::Arc};

/// Events in order of version, the oldest of which are forgotten.
#[derive(Debug)]
pub(crate) struct History {
    events: VecDeque<Arc<Event>>,
    capacity: usize,
    /// The version of the newest event that is forgotten.
    lost: u64,
    /// The version below which nobody may begin to read.
    floor: u64,
}

impl History {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { events: VecDeque::new(), capacity: capacity.max(1), lost: 0, floor: 0 }
    }

    /// A history of as many events, none of which has happened.
    pub(crate) fn anew(&self) -> Self {
        Self::new(self.capacity)
    }

    pub(crate) fn push(&mut self, event: Event) {
        self.events.push_back(Arc::new(event));
        while self.events.len() > self.capacity {
            self.forget_oldest();
        }
    }

    /// Forgets all there is, and lets nobody begin to read before `version`.
    pub(crate) fn forget(&mut self, version: u64) {
        while !self.events.is_empty() {
            self.forget_oldest();
        }
        self.events.shrink_to_fit();
        self.floor = version;
    }

    /// Forgets all there is, also for readers who have seen everything before `version`.
    pub(crate) fn lose(&mut self, version: u64) {
        self.forget(version);
        self.lost = version;
    }

    /// The version below which nobody may begin to read.
    pub(crate) fn floor(&self) -> u64 {
        self.floor
    }

    /// The events after `version`, for one who has seen all up to there; nothing if some are forgotten.
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
