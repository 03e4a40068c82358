//! The log of all polls of all replicas.

use kube_leases::BootTime;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// One poll of a reconcile.
#[derive(Debug)]
struct Poll {
    shard: u32,
    replica: String,
    /// The fencing token and the number of the reconcile.
    reconcile: String,
    at: BootTime,
}

/// The reconcile of a shard by a replica.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Reconcile<'a> {
    shard: u32,
    replica: &'a str,
    number: &'a str,
}

pub(crate) struct Log {
    path: PathBuf,
    polls: Vec<Poll>,
}

impl Log {
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), polls: Vec::new() }
    }

    /// Reads the lines that are complete.
    pub(crate) fn read(&mut self) {
        let text = std::fs::read_to_string(&self.path).unwrap_or_default();
        let complete = text.rfind('\n').map_or("", |end| &text[..end]);
        self.polls = complete.lines().map(parse).collect();
    }

    pub(crate) fn len(&self) -> usize {
        self.polls.len()
    }

    pub(crate) fn shards(&self) -> BTreeSet<u32> {
        self.polls.iter().map(|poll| poll.shard).collect()
    }

    pub(crate) fn replicas(&self) -> BTreeSet<String> {
        self.polls.iter().map(|poll| poll.replica.clone()).collect()
    }

    pub(crate) fn replicas_since(&self, at: BootTime) -> BTreeSet<String> {
        self.polls.iter().filter(|poll| poll.at > at).map(|poll| poll.replica.clone()).collect()
    }

    /// Returns the shards that replicas other than `replica` worked on after a time.
    pub(crate) fn shards_since(&self, at: BootTime, replica: &str) -> BTreeSet<u32> {
        let later = self.polls.iter().filter(|poll| poll.at > at && poll.replica != replica);
        later.map(|poll| poll.shard).collect()
    }

    pub(crate) fn reconciles(&self) -> usize {
        self.spans().len()
    }

    /// Returns the first and last poll of each reconcile.
    fn spans(&self) -> BTreeMap<Reconcile<'_>, [BootTime; 2]> {
        let mut spans = BTreeMap::new();
        for poll in &self.polls {
            let reconcile = Reconcile { shard: poll.shard, replica: &poll.replica, number: &poll.reconcile };
            let span = spans.entry(reconcile).or_insert([poll.at; 2]);
            *span = [span[0].min(poll.at), span[1].max(poll.at)];
        }
        spans
    }

    /// Returns descriptions of polls of a shard by one replica during a reconcile of the shard by another.
    pub(crate) fn overlaps(&self) -> Vec<String> {
        let spans = self.spans();
        let mut overlaps = Vec::new();
        for (reconcile, [first, last]) in &spans {
            let other = self.polls.iter().find(|poll| {
                poll.shard == reconcile.shard
                    && poll.replica != reconcile.replica
                    && (first..=last).contains(&&poll.at)
            });
            overlaps
                .extend(other.map(|other| format!("{reconcile:?} from {first:?} to {last:?}: {other:?}")));
        }
        overlaps
    }
}

fn parse(line: &str) -> Poll {
    let mut fields = line.split(' ');
    let mut field = || fields.next().unwrap_or_default().to_owned();
    Poll {
        shard: field().parse().unwrap(),
        replica: field(),
        reconcile: field(),
        at: BootTime::from_start(Duration::from_nanos(field().parse().unwrap())),
    }
}
