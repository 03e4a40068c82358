//! Selects updates by the fields that changed.

use crate::args::{Output, Watch};
use crate::change::changes;
use crate::path_pattern::PathPattern;
use kube_core::DynamicObject;
use kube_informer::event::Event;

/// The fields that change all the time and have no meaning by themselves: heartbeats of nodes, probes, and renewals of leases.
const NOISE: [&str; 5] = [
    "**.lastHeartbeatTime",
    "**.lastProbeTime",
    "spec.renewTime",
    "metadata.annotations[control-plane.alpha.kubernetes.io/leader]",
    "metadata.annotations[endpoints.kubernetes.io/last-change-trigger-time]",
];

/// Decides which updates are printed.
#[derive(Clone, Debug, Default)]
pub(super) struct Relevance {
    changed: Vec<PathPattern>,
    ignored: Vec<PathPattern>,
    noise: Vec<PathPattern>,
}

/// Whether an event is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    Print,
    /// Not printed, because the user selected other fields.
    Skip,
    /// Not printed, because only fields changed that change all the time.
    Noise,
}

impl Relevance {
    pub(super) fn new(args: &Watch) -> Self {
        // Programs that read documents follow the versions of objects, and need all of them.
        let is_for_people = matches!(args.output, Output::Table | Output::Wide | Output::Diff);
        let has_noise = is_for_people && !args.all_changes && args.changed.is_empty();
        let noise = NOISE.iter().filter(|_| has_noise).filter_map(|text| PathPattern::parse(text).ok());
        Self { changed: args.changed.clone(), ignored: args.ignore.clone(), noise: noise.collect() }
    }

    /// Decides on an event. Only updates have changed fields; with `--changed`, other events are not printed.
    pub(super) fn decide(&self, event: &Event<DynamicObject>) -> Decision {
        let Event::Updated { old, new, .. } = event else {
            return if self.changed.is_empty() { Decision::Print } else { Decision::Skip };
        };
        if event.is_resync() {
            return if self.changed.is_empty() { Decision::Print } else { Decision::Skip };
        }
        if self.changed.is_empty() && self.ignored.is_empty() && self.noise.is_empty() {
            return Decision::Print;
        }
        let changes = changes(old.get(), new.get());
        let matches = |patterns: &[PathPattern], at: usize| {
            patterns.iter().any(|pattern| pattern.matches(&changes[at].path.names()))
        };
        let all = || 0..changes.len();
        if !self.changed.is_empty() && !all().any(|at| matches(&self.changed, at)) {
            return Decision::Skip;
        }
        if !self.ignored.is_empty() && all().all(|at| matches(&self.ignored, at)) {
            return Decision::Skip;
        }
        let is_noise = |at: usize| matches(&self.noise, at) || matches(&self.ignored, at);
        if !self.noise.is_empty() && all().all(is_noise) { Decision::Noise } else { Decision::Print }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser;
    use serde_json::{Value, json};
    use std::sync::Arc;

    fn object(version: &str, mut value: Value) -> Arc<DynamicObject> {
        value["metadata"] = json!({"name": "a", "uid": "u", "resourceVersion": version});
        Arc::new(serde_json::from_value(value).unwrap())
    }

    fn decide(options: &str, old: Value, new: Value) -> Decision {
        let words = ["informer", "watch", "pods"].into_iter().chain(options.split_whitespace());
        let Some(Command::Watch(watch)) = Cli::parse_from(words).command else { panic!("it is a watch") };
        Relevance::new(&watch).decide(&Event::update(object("1", old), object("2", new)).unwrap())
    }

    #[test]
    fn updates_are_selected_by_changed_field() {
        let old = json!({"spec": {"replicas": 1}, "status": {"ready": 1}});
        let status = json!({"spec": {"replicas": 1}, "status": {"ready": 2}});
        let both = json!({"spec": {"replicas": 2}, "status": {"ready": 2}});
        let of = |options: &str, new: &Value| decide(options, old.clone(), new.clone());
        assert_eq!(of("", &status), Decision::Print);
        assert_eq!(of("--changed spec", &status), Decision::Skip);
        assert_eq!(of("--changed spec", &both), Decision::Print);
        assert_eq!(of("--changed spec --changed status.ready", &status), Decision::Print);
        assert_eq!(of("--ignore status", &status), Decision::Skip);
        assert_eq!(of("--ignore status", &both), Decision::Print);
        assert_eq!(of("-o json --ignore status", &status), Decision::Skip);
        let added = Event::create(object("1", json!({}))).unwrap();
        let relevance = |options: &[&str]| {
            let words = ["informer", "watch", "pods"].iter().chain(options);
            let Some(Command::Watch(watch)) = Cli::parse_from(words).command else { panic!("it is a watch") };
            Relevance::new(&watch).decide(&added)
        };
        assert_eq!(relevance(&["--ignore", "status"]), Decision::Print);
        assert_eq!(relevance(&["--changed", "status"]), Decision::Skip);
    }

    #[test]
    fn heartbeats_and_renewals_are_noise_unless_all_changes_are_requested() {
        let node = |time: &str, status: &str| json!({"status": {"conditions": [{"type": "Ready", "status": status, "lastHeartbeatTime": time}]}});
        let of = |options: &str| decide(options, node("1", "True"), node("2", "True"));
        assert_eq!(of(""), Decision::Noise);
        assert_eq!(of("-o diff"), Decision::Noise);
        for options in ["--all-changes", "-o json", "-o name", "--changed **.lastHeartbeatTime"] {
            assert_eq!(of(options), Decision::Print, "{options}");
        }
        assert_eq!(decide("", node("1", "True"), node("2", "False")), Decision::Print);
        let lease = |time: &str| json!({"spec": {"renewTime": time, "holderIdentity": "a"}});
        assert_eq!(decide("", lease("1"), lease("2")), Decision::Noise);
        assert_eq!(decide("", json!({}), json!({})), Decision::Noise);
    }
}
