//! Reads the contents of the screen from the informers.

use super::{
    history::{Change, Deleted, History},
    kind_state::{KindState, Phase, ProcessUsage},
    object::{Object, Shown, Tab},
    objects::{Objects, Row},
    overview::FeedLine,
    query::Listed,
};
use crate::change::{Line, summary, yaml};
use crate::informers::WatchedResource;
use crate::kinds::whole;
use crate::meter::{MetricValues, Usage};
use crate::number::age;
use crate::paint::Highlight;
use crate::safe::clean_name;
use jiff::{Timestamp, Zoned};
use kube_core::DynamicObject;
use kube_informer::{
    informer::{InformerPhase, InformerStatus, SourceStatus},
    reflector::{
        self,
        metrics::{BYTES, ERRORS, RELISTS},
    },
    subscription::metrics::HANDLER_LAG,
};
use kube_informer_wire::Key;
use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

/// The time over which changes are counted.
const SPAN: Duration = Duration::from_secs(3);

/// Reads the state of the informers, and computes rates.
#[derive(Debug)]
pub(super) struct StateReader {
    began: Instant,
    counts: Vec<VecDeque<(Instant, u64)>>,
    cpu: VecDeque<(Instant, f64)>,
}

impl StateReader {
    pub(super) fn new() -> Self {
        Self { began: Instant::now(), counts: Vec::new(), cpu: VecDeque::new() }
    }

    /// Returns the state of every kind.
    pub(super) fn kinds(
        &mut self,
        watched: &[WatchedResource],
        metric_values: &MetricValues,
    ) -> Vec<KindState> {
        let now = Instant::now();
        self.counts.resize(watched.len(), VecDeque::new());
        let one = |(at, (watched, counts)): (usize, (&WatchedResource, &mut VecDeque<_>))| {
            let (status, name) = (watched.informer.status(), watched.informer.name());
            counts.push_back((now, status.counts.events));
            KindState {
                at,
                resource: watched.kind.resource(),
                phase: phase(&status),
                objects: objects(&status),
                version: status.version.as_ref().map(ToString::to_string).unwrap_or_default(),
                rate: rate(counts, now, |later, earlier| later.saturating_sub(earlier) as f64),
                lag: Duration::try_from_secs_f64(metric_values.highest(HANDLER_LAG, name).unwrap_or(0.0))
                    .unwrap_or_default(),
                lists: status.counts.lists + status.counts.streams,
                relists: metric_values.by(RELISTS, name, "reason"),
                errors: metric_values.by(ERRORS, name, "kind"),
                bytes: metric_values.total(BYTES, name),
                kept: None,
                last_error: status.last_error.as_deref().map(clean_name),
                since_received: status.times.received.map(|received| received.elapsed()),
            }
        };
        watched.iter().zip(&mut self.counts).enumerate().map(one).collect()
    }

    /// Returns the resource usage of the process.
    pub(super) fn usage(&mut self) -> ProcessUsage {
        let (now, usage) = (Instant::now(), Usage::now());
        self.cpu.extend(usage.cpu_seconds.map(|seconds| (now, seconds)));
        let percent =
            usage.cpu_seconds.map(|_| 100.0 * rate(&mut self.cpu, now, |later, earlier| later - earlier));
        ProcessUsage { uptime: self.began.elapsed(), rss_bytes: usage.rss_bytes, cpu_percent: percent }
    }
}

/// Returns the number of objects; during the initial list, the number of received objects.
fn objects(status: &InformerStatus) -> u64 {
    let arrived = |source: &SourceStatus| source.status.progress.received;
    match status.objects as u64 {
        0 if status.phase != InformerPhase::Synced => status.sources.iter().map(arrived).sum(),
        objects => objects,
    }
}

/// Returns the growth per second over the last seconds.
fn rate<N: Copy>(counts: &mut VecDeque<(Instant, N)>, now: Instant, grown: fn(N, N) -> f64) -> f64 {
    while counts.len() > 2 && counts.front().is_some_and(|(then, _)| now - *then > SPAN) {
        counts.pop_front();
    }
    let (Some((first, from)), Some((last, to))) = (counts.front(), counts.back()) else { return 0.0 };
    let time = (*last - *first).as_secs_f64();
    if time > 0.0 { grown(*to, *from) / time } else { 0.0 }
}

fn phase(status: &InformerStatus) -> Phase {
    let is = |phase| status.sources.iter().any(|source| source.status.phase == phase);
    match status.phase {
        InformerPhase::Stopped => Phase::Stopped,
        _ if is(reflector::ReflectorPhase::Waiting) => Phase::Waiting,
        _ if is(reflector::ReflectorPhase::Listing) => Phase::Listing,
        InformerPhase::Synced => Phase::Watching,
        _ => Phase::Starting,
    }
}

/// Returns the latest changes.
pub(super) fn feed(history: &History, watched: &[WatchedResource], count: usize) -> Vec<FeedLine> {
    let line = |change: &Change| {
        let prefix = watched[change.at].kind.prefix();
        FeedLine {
            time: change.time.strftime("%H:%M:%S").to_string(),
            verb: change.verb,
            highlight: change.highlight,
            what: format!("{prefix} {}", clean_name(change.key.as_str())),
            words: match &change.manager {
                Some(manager) => format!("{}  (by {})", change.words, clean_name(manager)),
                None => change.words.clone(),
            },
        }
    };
    history.latest(count).iter().map(line).collect()
}

/// Returns the rows of the objects in sight.
pub(super) fn rows(objects: &Objects, watched: &WatchedResource, history: &History) -> Vec<Row> {
    let now = Timestamp::now();
    let row = |key: &Key| {
        if let Some(deleted) =
            history.deleted_object(objects.at, key).filter(|_| objects.query.listed == Listed::Deleted)
        {
            return Row {
                namespace: key.namespace().map(clean_name).unwrap_or_default(),
                name: clean_name(key.name()),
                age: age(deleted.since.elapsed()),
                status: format!(
                    "deleted at {}: {}",
                    deleted.time.strftime("%H:%M:%S"),
                    summary(&deleted.last)
                ),
            };
        }
        let object = watched.informer.get(key);
        Row {
            namespace: key.namespace().map(clean_name).unwrap_or_default(),
            name: clean_name(key.name()),
            age: object.as_ref().map(|object| age_of(object, now)).unwrap_or_default(),
            status: object.map_or_else(|| "deleted".to_owned(), |object| summary(&object)),
        }
    };
    objects.in_sight().iter().map(row).collect()
}

fn age_of(object: &DynamicObject, now: Timestamp) -> String {
    let Some(created) = &object.metadata.creation_timestamp else { return String::new() };
    age(Duration::try_from(now.duration_since(created.0)).unwrap_or_default())
}

/// Updates the page of an object if the object changed.
pub(super) fn refresh(page: &mut Object, watched: &WatchedResource, history: &History) {
    let object = watched.informer.get(&page.key);
    let version = object.as_ref().and_then(|object| object.metadata.resource_version.clone());
    let last_change = history.last_of(page.at, &page.key);
    let wanted = Shown { tab: page.tab, version, last_change };
    if page.shown.as_ref() == Some(&wanted) {
        return;
    }
    page.lines = match page.tab {
        Tab::Yaml => match object {
            Some(object) => {
                yaml(&whole(&watched.kind, &object)).into_iter().map(|line| (None, line)).collect()
            }
            None => deleted(history.deleted_object(page.at, &page.key), watched),
        },
        Tab::Changes => last_changes(&history.of(page.at, &page.key), history.since()),
    };
    let last = page.lines.len().saturating_sub(page.window.height);
    page.window.first = page.window.first.min(last);
    page.shown = Some(wanted);
}

/// Returns the last state of a deleted object.
fn deleted(deleted: Option<Deleted>, watched: &WatchedResource) -> Vec<(Option<Highlight>, String)> {
    let Some(Deleted { time, last, .. }) = deleted else {
        return vec![(Some(Highlight::Went), "deleted; its last state is not kept any more".to_owned())];
    };
    let title = format!("deleted at {}; Tab shows its last changes", time.strftime("%H:%M:%S"));
    let lines = yaml(&whole(&watched.kind, &last)).into_iter().map(|line| (None, line));
    std::iter::once((Some(Highlight::Went), title)).chain(lines).collect()
}

fn last_changes(history: &[Change], since: Option<Zoned>) -> Vec<(Option<Highlight>, String)> {
    if history.is_empty() {
        let text = match since {
            Some(since) => {
                format!(
                    "no changes remembered; those of all objects reach back to {}",
                    since.strftime("%H:%M:%S")
                )
            }
            None => "no changes since the start".to_owned(),
        };
        return vec![(Some(Highlight::Quiet), text)];
    }
    let mut lines = Vec::new();
    for change in history {
        let (time, verb) = (change.time.strftime("%H:%M:%S%.3f"), change.verb);
        let manager = change.manager.as_deref().map(|manager| format!("  by {}", clean_name(manager)));
        lines.push((Some(Highlight::Strong), format!("{time}  {verb}{}", manager.unwrap_or_default())));
        lines.extend(change.lines.iter().map(|line| match line {
            Line::Went(line) => (Some(Highlight::Went), format!("  - {line}")),
            Line::Came(line) => (Some(Highlight::Came), format!("  + {line}")),
        }));
    }
    lines
}
