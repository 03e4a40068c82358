//! The log of all reconciles of all replicas, and its rules.

use kube_leases::BootTime;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    time::Duration,
};

/// A reconcile, from its first to its last logged step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reconcile {
    replica: String,
    /// `None` if the shard was draining when the reconcile started.
    token: Option<u64>,
    version: u64,
    start: BootTime,
    end: BootTime,
}

/// A change of an object by the test.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) key: String,
    pub(crate) version: u64,
    pub(crate) at: BootTime,
}

/// All reconciles by key, sorted by their start.
#[derive(Debug, Default)]
pub(crate) struct Log {
    by_key: BTreeMap<String, Vec<Reconcile>>,
}

impl Log {
    pub(crate) fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        // The last line may be incomplete.
        let complete = text.rfind('\n').map_or("", |end| &text[..end]);
        Self::parse(complete)
    }

    fn parse(text: &str) -> Self {
        let mut reconciles: BTreeMap<[&str; 3], Reconcile> = BTreeMap::new();
        for line in text.lines() {
            let fields: Vec<_> = line.split(' ').collect();
            let [key, replica, number, token, version, at] = fields[..] else {
                panic!("invalid line {line:?}")
            };
            let at = BootTime::from_start(Duration::from_nanos(at.parse().unwrap()));
            let reconcile = reconciles.entry([key, replica, number]).or_insert_with(|| Reconcile {
                replica: replica.to_owned(),
                token: token.parse().ok(),
                version: version.parse().unwrap(),
                start: at,
                end: at,
            });
            reconcile.end = reconcile.end.max(at);
        }
        let mut by_key: BTreeMap<String, Vec<Reconcile>> = BTreeMap::new();
        for ([key, ..], reconcile) in reconciles {
            by_key.entry(key.to_owned()).or_default().push(reconcile);
        }
        by_key.values_mut().for_each(|reconciles| reconciles.sort_by_key(|reconcile| reconcile.start));
        Self { by_key }
    }

    pub(crate) fn len(&self) -> usize {
        self.by_key.values().map(Vec::len).sum()
    }

    pub(crate) fn keys(&self) -> usize {
        self.by_key.len()
    }

    pub(crate) fn replicas(&self) -> BTreeSet<&str> {
        self.by_key.values().flatten().map(|reconcile| &*reconcile.replica).collect()
    }

    /// Returns the reconciles of a key by one replica that overlap with one by another.
    pub(crate) fn overlaps(&self) -> Vec<String> {
        let mut overlaps = Vec::new();
        for (key, reconciles) in &self.by_key {
            let mut latest: Option<&Reconcile> = None;
            for reconcile in reconciles {
                if let Some(before) = latest
                    .filter(|before| reconcile.start <= before.end && reconcile.replica != before.replica)
                {
                    overlaps.push(format!("{key}: {before:?} and {reconcile:?}"));
                }
                if latest.is_none_or(|before| reconcile.end >= before.end) {
                    latest = Some(reconcile);
                }
            }
        }
        overlaps
    }

    /// Returns reconciles whose fencing token is smaller than that of an earlier one of the same key.
    pub(crate) fn decreasing_tokens(&self) -> Vec<String> {
        let mut decreasing = Vec::new();
        for (key, reconciles) in &self.by_key {
            let known: Vec<_> = reconciles.iter().filter(|reconcile| reconcile.token.is_some()).collect();
            for pair in known.windows(2) {
                if pair[1].token < pair[0].token {
                    decreasing.push(format!("{key}: {:?} and {:?}", pair[0], pair[1]));
                }
            }
        }
        decreasing
    }

    /// Returns the time from `since` until the first reconcile of a state that includes the change; `None` if there is none.
    pub(crate) fn delay(&self, change: &Change, since: BootTime) -> Option<Duration> {
        let reconciles = self.by_key.get(&change.key)?;
        let first = reconciles.iter().find(|reconcile| reconcile.version >= change.version)?;
        Some(first.start.saturating_since(since.max(change.at)))
    }
}

/// Checks the rules on logs that violate them, before a run.
pub(crate) fn check_rules() {
    let log = Log::parse("a/x r1 0 1 5 100\na/x r1 0 1 5 300\na/x r2 0 2 5 200\na/x r2 0 2 5 250");
    assert_eq!(log.overlaps().len(), 1);
    let log = Log::parse("a/x r1 0 1 5 100\na/x r1 0 1 5 300\na/x r2 0 2 5 301\na/y r2 0 2 5 250");
    assert!(log.overlaps().is_empty() && log.decreasing_tokens().is_empty());
    let change = Change { key: "a/x".into(), version: 6, at: BootTime::default() };
    assert_eq!(log.delay(&change, BootTime::default()), None, "only an older state was reconciled");
    let log = Log::parse("a/x r1 0 2 5 100\na/x r2 0 1 7 300");
    assert_eq!(log.decreasing_tokens().len(), 1);
    assert_eq!(
        log.delay(&change, BootTime::from_start(Duration::from_nanos(200))),
        Some(Duration::from_nanos(100))
    );
}
