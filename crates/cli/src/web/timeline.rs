//! Aggregates changes into lanes and buckets, so that a page draws a million changes from a few kilobytes.

use super::{
    address::TextMap,
    change::{Change, Verb},
    fact::Fact,
    log::{ChangeLog, parts},
    query::{Filter, Range},
    source::{ChangeSource, KindInfo, NOW},
};
use crate::cores::on_all_cores;
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
    /// Whether this is the lane of all others.
    #[serde(skip)]
    is_rest: bool,
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
///
/// There may be a million changes, and as many lanes as objects. The changes of each lane are counted first, and only the lanes with most
/// changes get buckets.
pub(super) fn timeline(source: &dyn ChangeSource, query: &TimelineQuery) -> Timeline {
    let kinds = source.kinds();
    let log = source.log();
    let from = query.range.from.max(log.start() - 1);
    let to = if query.range.to == NOW { log.end() } else { query.range.to }.max(from + 1);
    let bucket = ((to - from) / query.buckets as i64).max(1);
    let numbers = log.numbers(from, to);
    let facts = |numbers| query.filter.facts(&log, numbers);
    let shares = on_all_cores(parts(numbers.clone()), |numbers| {
        let mut finder = LaneFinder::new(query.lanes, &log);
        let positions: Vec<u32> =
            facts(numbers).map(|(number, fact)| finder.position(number, fact)).collect();
        (finder.found, positions)
    });
    let total = shares.iter().map(|(_, positions)| positions.len()).sum();
    // Lanes of several parts have several positions.
    let found: Vec<_> = shares.iter().flat_map(|(found, _)| found).copied().collect();
    let firsts = shares.iter().scan(0, |next, (found, _)| Some(std::mem::replace(next, *next + found.len())));
    let positions = firsts
        .zip(&shares)
        .flat_map(|(first, (_, positions))| positions.iter().map(move |position| first + *position as usize));
    let labels = |number: &u64| query.lanes.label(&kinds, &log[*number]);
    let (mut lanes, lane_of) = lanes_of(&found, labels);
    for ((number, fact), position) in facts(numbers).zip(positions) {
        lanes[lane_of[position]].add(number, fact, ((fact.time - from) / bucket) as usize);
    }
    lanes.sort_by(|a, b| (a.is_rest, b.count).cmp(&(b.is_rest, a.count)).then_with(|| a.label.cmp(&b.label)));
    if total > MAX_MARKS {
        lanes.iter_mut().for_each(|lane| lane.marks.clear());
    }
    Timeline { from, to, bucket, total, lanes }
}

/// Finds the lane of each change without creating its label.
struct LaneFinder<'l> {
    lanes: Lanes,
    log: &'l ChangeLog,
    /// The positions of lanes by their identifier: a number, or the address of a text.
    by_number: TextMap<(bool, usize), u32>,
    by_namespace: HashMap<&'l str, u32>,
    /// The position of the lane of each object, for lanes by namespace.
    by_slot: Vec<Option<u32>>,
    /// For each position, the number of changes and the number of the first one.
    found: Vec<(usize, u64)>,
}

impl<'l> LaneFinder<'l> {
    fn new(lanes: Lanes, log: &'l ChangeLog) -> Self {
        Self {
            lanes,
            log,
            by_number: TextMap::default(),
            by_namespace: HashMap::new(),
            by_slot: vec![None; if lanes == Lanes::Namespace { log.slots() } else { 0 }],
            found: Vec::new(),
        }
    }

    /// Counts a change, and returns the position of its lane. Lanes with the same label may have several positions.
    fn position(&mut self, number: u64, fact: &Fact) -> u32 {
        let next = u32::try_from(self.found.len()).unwrap_or(u32::MAX);
        let slot = (true, fact.slot as usize);
        let identifier = match self.lanes {
            Lanes::Kind => Some((false, fact.kind as usize)),
            Lanes::Namespace => None,
            Lanes::Owner if fact.owner == 0 => Some(slot),
            Lanes::Owner => Some((false, fact.owner)),
            Lanes::Manager => Some((false, fact.manager)),
            Lanes::Object => Some(slot),
        };
        let position = match identifier {
            Some(identifier) => *self.by_number.entry(identifier).or_insert(next),
            None => *self.by_slot[fact.slot as usize].get_or_insert_with(|| {
                let namespace = self.log[number].object.key.namespace().unwrap_or_default();
                *self.by_namespace.entry(namespace).or_insert(next)
            }),
        };
        if position == next {
            self.found.push((0, number));
        }
        self.found[position as usize].0 += 1;
        position
    }
}

/// Returns the lanes with most changes and one for the rest, and the lane of each position.
fn lanes_of<'l>(found: &[(usize, u64)], label: impl Fn(&u64) -> Cow<'l, str>) -> (Vec<Lane>, Vec<usize>) {
    // Texts that are not shared have several addresses, and objects in several namespaces the same name.
    let mut counts: HashMap<Cow<'_, str>, usize> = HashMap::new();
    let labels: Vec<Cow<'_, str>> = found.iter().map(|(_, number)| label(number)).collect();
    for ((count, _), label) in found.iter().zip(&labels) {
        *counts.entry(label.clone()).or_default() += count;
    }
    let mut order: Vec<(&Cow<'_, str>, usize)> =
        counts.iter().map(|(label, count)| (label, *count)).collect();
    let by_count =
        |a: &(&Cow<'_, str>, usize), b: &(&Cow<'_, str>, usize)| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0));
    let shown = if order.len() > MAX_LANES { MAX_LANES - 1 } else { order.len() };
    if shown < order.len() {
        order.select_nth_unstable_by(shown, by_count);
    }
    let rest = order.len() - shown;
    let mut lanes: Vec<Lane> = Vec::new();
    let mut lane_of_label: HashMap<&str, usize> = HashMap::new();
    for (label, _) in &order[..shown] {
        lane_of_label.insert(label, lanes.len());
        lanes.push(Lane { label: label.to_string(), ..Lane::default() });
    }
    if rest > 0 {
        lanes.push(Lane { label: format!("{rest} more"), is_rest: true, ..Lane::default() });
    }
    let lane_of = labels.iter().map(|label| lane_of_label.get(&**label).copied().unwrap_or(shown)).collect();
    (lanes, lane_of)
}

impl Lane {
    fn add(&mut self, number: u64, fact: &Fact, position: usize) {
        let verb = match fact.verb {
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
            self.marks.push([i64::try_from(number).unwrap_or(i64::MAX), fact.time, verb as i64]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::log::tests::change;
    use crate::web::tests::Scripted;
    use serde_json::json;
    use std::sync::Arc;

    fn query(lanes: Lanes) -> TimelineQuery {
        TimelineQuery { range: Range { from: 0, to: NOW }, filter: Filter::default(), lanes, buckets: 10 }
    }

    #[test]
    fn the_lanes_with_most_changes_are_shown_and_the_others_are_one_lane() {
        let mut log = ChangeLog::new(1 << 20, 0);
        let mut number = 0;
        for object in 1..=MAX_LANES + 20 {
            // Objects with a larger number have more changes.
            for _ in 0..object {
                number += 1;
                log.push(change(&format!("n/object-{object:03}"), number));
            }
        }
        let source = Scripted::with(log);
        let found = timeline(&source, &query(Lanes::Object));
        assert_eq!((found.lanes.len(), found.total), (MAX_LANES, number as usize));
        assert_eq!((&*found.lanes[0].label, found.lanes[0].count), ("pods n/object-080", 80));
        let rest = found.lanes.last().unwrap();
        assert_eq!((&*rest.label, rest.count), ("21 more", (1..=21).sum()));
        for lane in &found.lanes {
            assert_eq!(
                lane.buckets.iter().map(|bucket| bucket[1..].iter().sum::<usize>()).sum::<usize>(),
                lane.count
            );
            assert!(lane.buckets.is_sorted_by(|a, b| a[0] < b[0]) && lane.marks.is_empty());
        }
    }

    #[test]
    fn each_property_selects_its_lanes() {
        let mut log = ChangeLog::new(1 << 20, 0);
        for (time, key, manager, owner) in [
            (1, "a/x", Some("kubelet"), None),
            (2, "b/y", Some("kubelet"), Some("ReplicaSet/r")),
            (3, "b/y", None, Some("ReplicaSet/r")),
            (4, "z", None, None),
        ] {
            // These texts are not shared, so that equal labels have different addresses.
            let text = |text: Option<&str>| text.map(Arc::from);
            log.push(Change { manager: text(manager), owner: text(owner), ..change(key, time) });
        }
        let source = Scripted::with(log);
        let lanes = |lanes: Lanes| {
            let found = timeline(&source, &query(lanes)).lanes;
            found.iter().map(|lane| format!("{} {}", lane.label, lane.count)).collect::<Vec<_>>()
        };
        assert_eq!(lanes(Lanes::Kind), ["pods 4"]);
        assert_eq!(lanes(Lanes::Namespace), ["b 2", "(cluster) 1", "a 1"]);
        assert_eq!(lanes(Lanes::Owner), ["ReplicaSet/r 2", "Pod/x 1", "Pod/z 1"]);
        assert_eq!(lanes(Lanes::Manager), ["(unknown) 2", "kubelet 2"]);
        assert_eq!(lanes(Lanes::Object), ["pods b/y 2", "pods a/x 1", "pods z 1"]);
        let marks = json!(timeline(&source, &query(Lanes::Kind)).lanes[0].marks);
        assert_eq!(marks, json!([[0, 1, 1], [1, 2, 1], [2, 3, 1], [3, 4, 1]]));
    }
}
