//! Aggregates changes into lanes and buckets, so that a page draws a million changes from a few kilobytes.

use super::{
    change::{Change, Verb},
    query::{Filter, Range},
    source::{ChangeSource, KindInfo, NOW},
};
use serde::Serialize;
use std::{borrow::Cow, collections::HashMap};

/// The maximum number of lanes; the rest is one lane.
const MAX_LANES: usize = 60;
/// Up to this number, every change is a mark of its own.
const MAX_MARKS: usize = 2_000;

/// The property of changes that selects their lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lanes {
    Kind,
    Namespace,
    Owner,
    Manager,
    Object,
}

impl Lanes {
    pub(super) fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "kind" => Self::Kind,
            "namespace" => Self::Namespace,
            "owner" => Self::Owner,
            "manager" => Self::Manager,
            "object" => Self::Object,
            _ => return None,
        })
    }

    /// Returns the lane of a change. It is borrowed if possible, because there may be a million changes.
    fn label<'c>(self, kinds: &'c [KindInfo], change: &'c Change) -> Cow<'c, str> {
        let (kind, key) = (&kinds[change.object.kind], &change.object.key);
        match self {
            Self::Kind => kind.resource.as_str().into(),
            Self::Namespace => key.namespace().unwrap_or("(cluster)").into(),
            Self::Owner => match &change.owner {
                Some(owner) => (&**owner).into(),
                None => format!("{}/{}", kind.kind, key.name()).into(),
            },
            Self::Manager => change.manager.as_deref().unwrap_or("(unknown)").into(),
            Self::Object => format!("{} {}", kind.resource, key).into(),
        }
    }
}

/// A timeline.
#[derive(Debug, Serialize)]
pub(super) struct Timeline {
    from: i64,
    to: i64,
    /// The duration of a bucket in microseconds.
    bucket: i64,
    total: usize,
    lanes: Vec<Lane>,
}

/// One lane.
#[derive(Debug, Default, Serialize)]
pub(super) struct Lane {
    label: String,
    count: usize,
    /// The buckets with changes: position, added, updated, deleted.
    buckets: Vec<[usize; 4]>,
    /// The changes, if there are few: number, time, verb (0 added, 1 updated, 2 deleted).
    marks: Vec<[i64; 3]>,
}

/// The range, filter and resolution of a timeline.
#[derive(Debug)]
pub(super) struct TimelineQuery {
    pub(super) range: Range,
    pub(super) filter: Filter,
    pub(super) lanes: Lanes,
    pub(super) buckets: usize,
}

/// Computes a timeline.
pub(super) fn timeline(source: &dyn ChangeSource, query: &TimelineQuery) -> Timeline {
    let kinds = source.kinds();
    let log = source.log();
    let from = query.range.from.max(log.start() - 1);
    let to = if query.range.to == NOW { log.end() } else { query.range.to }.max(from + 1);
    let bucket = ((to - from) / query.buckets as i64).max(1);
    let mut lanes: HashMap<Cow<'_, str>, Lane> = HashMap::new();
    let mut total = 0;
    for change in log.between(from, to).filter(|change| query.filter.accepts(change)) {
        total += 1;
        let lane = lanes.entry(query.lanes.label(&kinds, change)).or_default();
        lane.add(change, ((change.time - from) / bucket) as usize);
    }
    let named = |(label, lane): (Cow<'_, str>, Lane)| Lane { label: label.into_owned(), ..lane };
    let mut lanes: Vec<Lane> = lanes.into_iter().map(named).collect();
    lanes.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.label.cmp(&b.label)));
    if lanes.len() > MAX_LANES {
        let rest = lanes.split_off(MAX_LANES - 1);
        lanes.push(merge(&rest));
    }
    if total > MAX_MARKS {
        lanes.iter_mut().for_each(|lane| lane.marks.clear());
    }
    Timeline { from, to, bucket, total, lanes }
}

impl Lane {
    fn add(&mut self, change: &Change, position: usize) {
        let verb = match change.verb {
            Verb::Added => 0,
            Verb::Updated => 1,
            Verb::Deleted => 2,
        };
        self.count += 1;
        // Changes arrive in the order of time.
        match self.buckets.last_mut() {
            Some(last) if last[0] == position => last[verb + 1] += 1,
            _ => {
                let mut bucket = [position, 0, 0, 0];
                bucket[verb + 1] = 1;
                self.buckets.push(bucket);
            }
        }
        if self.marks.len() <= MAX_MARKS {
            self.marks.push([i64::try_from(change.number).unwrap_or(i64::MAX), change.time, verb as i64]);
        }
    }
}

/// Merges the lanes with the fewest changes.
fn merge(lanes: &[Lane]) -> Lane {
    let mut buckets: HashMap<usize, [usize; 4]> = HashMap::new();
    for [position, added, updated, deleted] in lanes.iter().flat_map(|lane| &lane.buckets) {
        let sum = buckets.entry(*position).or_insert([*position, 0, 0, 0]);
        sum[1] += added;
        sum[2] += updated;
        sum[3] += deleted;
    }
    let mut buckets: Vec<_> = buckets.into_values().collect();
    buckets.sort_unstable();
    let mut marks: Vec<_> = lanes.iter().flat_map(|lane| lane.marks.iter().copied()).collect();
    marks.sort_unstable_by_key(|mark| mark[1]);
    let count = lanes.iter().map(|lane| lane.count).sum();
    Lane { label: format!("{} more", lanes.len()), count, buckets, marks }
}
