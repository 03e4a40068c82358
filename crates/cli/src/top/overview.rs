//! The first page: all kinds, and the latest changes.

use super::{
    kind_state::KindState,
    window::{Step, Window},
};
use crate::paint::Highlight;
use std::{cmp::Ordering, collections::BTreeMap};

/// All kinds, and the latest changes.
#[derive(Clone, Debug, Default)]
pub(super) struct Overview {
    pub(super) kinds: Vec<KindState>,
    pub(super) window: Window,
    pub(super) feed: Vec<FeedLine>,
    /// The column by which kinds are sorted; `None` for the order in which they were named.
    pub(super) order: Option<KindColumn>,
}

/// A column of the kinds that can be sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KindColumn {
    Kind,
    Phase,
    Objects,
    Version,
    Rate,
    Lag,
    Lists,
    Relists,
    Errors,
}

impl KindColumn {
    const ALL: [Self; 9] = [
        Self::Kind,
        Self::Phase,
        Self::Objects,
        Self::Version,
        Self::Rate,
        Self::Lag,
        Self::Lists,
        Self::Relists,
        Self::Errors,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Kind => "kind",
            Self::Phase => "phase",
            Self::Objects => "objects",
            Self::Version => "version",
            Self::Rate => "ev/s",
            Self::Lag => "lag",
            Self::Lists => "lists",
            Self::Relists => "relists",
            Self::Errors => "errors",
        }
    }

    /// Compares two kinds: names in alphabetical order, the highest number first.
    fn compare(self, one: &KindState, other: &KindState) -> Ordering {
        let sum = |counts: &BTreeMap<String, u64>| counts.values().sum::<u64>();
        match self {
            Self::Kind => one.resource.cmp(&other.resource),
            Self::Phase => one.phase.name().cmp(other.phase.name()),
            Self::Objects => other.objects.cmp(&one.objects),
            Self::Version => number(&other.version).cmp(&number(&one.version)),
            Self::Rate => other.rate.total_cmp(&one.rate),
            Self::Lag => other.lag.cmp(&one.lag),
            Self::Lists => other.lists.cmp(&one.lists),
            Self::Relists => sum(&other.relists).cmp(&sum(&one.relists)),
            Self::Errors => sum(&other.errors).cmp(&sum(&one.errors)),
        }
    }
}

fn number(version: &str) -> Option<u64> {
    version.parse().ok()
}

/// A line of the latest changes.
#[derive(Clone, Debug)]
pub(super) struct FeedLine {
    pub(super) time: String,
    pub(super) verb: &'static str,
    pub(super) highlight: Highlight,
    /// The kind and the key of the object.
    pub(super) what: String,
    pub(super) words: String,
}

impl Overview {
    /// Replaces the kinds, and sorts them. The chosen kind stays chosen.
    pub(super) fn update(&mut self, kinds: Vec<KindState>) {
        let chosen = self.chosen().map(|kind| kind.at);
        self.kinds = kinds;
        self.sort();
        self.choose(chosen);
    }

    /// Sorts by the next column.
    pub(super) fn next_order(&mut self) {
        let chosen = self.chosen().map(|kind| kind.at);
        self.order = match self.order {
            None => KindColumn::ALL.first().copied(),
            Some(column) => KindColumn::ALL.iter().copied().skip_while(|other| *other != column).nth(1),
        };
        self.sort();
        self.choose(chosen);
    }

    fn sort(&mut self) {
        match self.order {
            Some(column) => self.kinds.sort_by(|one, other| column.compare(one, other)),
            None => self.kinds.sort_by_key(|kind| kind.at),
        }
    }

    fn choose(&mut self, at: Option<usize>) {
        if let Some(position) = at.and_then(|at| self.kinds.iter().position(|kind| kind.at == at)) {
            self.window.chosen = position;
        }
        self.window.fit(self.kinds.len());
    }

    /// Returns the kind at a position among those that are watched.
    pub(super) fn kind(&self, at: usize) -> Option<&KindState> {
        self.kinds.iter().find(|kind| kind.at == at)
    }

    pub(super) fn step(&mut self, step: Step) {
        self.window.step(step, self.kinds.len());
    }

    /// Returns the selected kind.
    pub(super) fn chosen(&self) -> Option<&KindState> {
        self.kinds.get(self.window.chosen)
    }
}
