//! The first page: every kind, and what changes.

use super::{
    reading::Reading,
    window::{Step, Window},
};
use crate::paint::Tone;

/// Every kind, and what changes.
#[derive(Clone, Debug, Default)]
pub(super) struct Overview {
    pub(super) kinds: Vec<Reading>,
    pub(super) window: Window,
    pub(super) feed: Vec<FeedLine>,
}

/// A change, as the feed shows it.
#[derive(Clone, Debug)]
pub(super) struct FeedLine {
    pub(super) time: String,
    pub(super) verb: &'static str,
    pub(super) tone: Tone,
    /// What kind of object, and which.
    pub(super) what: String,
    pub(super) words: String,
}

impl Overview {
    pub(super) fn step(&mut self, step: Step) {
        self.window.step(step, self.kinds.len());
    }

    /// The kind that is chosen.
    pub(super) fn chosen(&self) -> Option<&Reading> {
        self.kinds.get(self.window.chosen)
    }
}
