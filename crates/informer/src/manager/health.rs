//! The health of a manager: whether it is alive and ready.

use crate::{
    controller::{ControllerHandle, RunState},
    informer::{Informer, InformerPhase, InformerStatus, ServedResource},
};
use kube_core::Resource;
use kube_informer_wire::Key;
use std::{fmt::Write, sync::Arc, time::Duration};
use tokio::time::Instant;

/// The maximum age of the last response of the server. It sends a bookmark about once a minute.
pub(super) const MAX_SILENCE: Duration = Duration::from_secs(300);

/// An informer of any type.
pub(super) trait ObservedInformer: Send + Sync {
    fn name(&self) -> &str;
    fn status(&self) -> InformerStatus;
    fn served_resource(&self) -> Option<&ServedResource>;
}

impl<K: Resource + Send + Sync + 'static> ObservedInformer for Informer<K> {
    fn name(&self) -> &str {
        Self::name(self)
    }

    fn status(&self) -> InformerStatus {
        Self::status(self)
    }

    fn served_resource(&self) -> Option<&ServedResource> {
        Self::served_resource(self)
    }
}

/// The controllers and informers that the endpoints report on.
#[derive(Clone, Default)]
pub(super) struct Health {
    pub(super) controllers: Vec<ControllerHandle>,
    pub(super) informers: Vec<Arc<dyn ObservedInformer>>,
}

/// The result of a check, and one line for each part.
pub(super) struct Report {
    pub(super) is_ok: bool,
    pub(super) text: String,
}

impl Report {
    fn new() -> Self {
        Self { is_ok: true, text: String::new() }
    }

    /// Adds a line in the format of kube-apiserver: `[+]name ok`.
    fn add(&mut self, name: &str, problem: Option<&str>) {
        // Writing to a string does not fail.
        let _ = match problem {
            None => writeln!(self.text, "[+]{name} ok"),
            Some(problem) => writeln!(self.text, "[-]{name} failed: {problem}"),
        };
        self.is_ok &= problem.is_none();
    }

    fn finish(mut self, check: &str) -> Self {
        let _ = writeln!(self.text, "{check} check {}", if self.is_ok { "passed" } else { "failed" });
        self
    }
}

impl Health {
    /// Checks that no controller has ended and no informer was stopped.
    pub(super) fn live(&self) -> Report {
        let mut report = Report::new();
        for controller in &self.controllers {
            let problem = (controller.state() == RunState::Ended).then_some("ended");
            report.add(&format!("controller {}", controller.name()), problem);
        }
        for informer in &self.informers {
            let problem = (informer.status().phase == InformerPhase::Stopped).then_some("stopped");
            report.add(&format!("informer {}", informer.name()), problem);
        }
        report.finish("healthz")
    }

    /// Checks that all caches are complete and receive responses, and that all controllers run.
    pub(super) fn ready(&self) -> Report {
        let mut report = Report::new();
        for controller in &self.controllers {
            let problem = match controller.state() {
                RunState::Starting => Some("waits for its caches"),
                RunState::Running => None,
                RunState::Ended => Some("ended"),
            };
            report.add(&format!("controller {}", controller.name()), problem);
        }
        let now = Instant::now();
        for informer in &self.informers {
            report.add(&format!("informer {}", informer.name()), problem_of(&informer.status(), now));
        }
        report.finish("readyz")
    }

    /// Returns the state of all controllers.
    pub(super) fn controllers(&self) -> String {
        let mut text = String::new();
        for controller in &self.controllers {
            let _ = writeln!(
                text,
                "{}: {:?}, {} queued, {} running, {} scheduled",
                controller.name(),
                controller.state(),
                controller.depth(),
                controller.running().len(),
                controller.scheduled(),
            );
            #[cfg(feature = "leases")]
            for shard in controller.shards() {
                let holder = shard.holder.as_deref().unwrap_or("nobody");
                let here = if shard.is_held_here { ", this process" } else { "" };
                let _ = writeln!(text, "  shard {}: held by {holder}{here}", shard.index);
            }
        }
        text
    }

    /// Returns the reports of one key; `None` if no controller knows it.
    pub(super) fn explain(&self, controller: &str, key: &Key) -> Option<String> {
        let handle = self.controllers.iter().find(|handle| &*handle.name() == controller)?;
        let report = handle.explain(key)?;
        let mut text = format!("{report}\n");
        for outcome in &report.outcomes {
            let age = outcome.started.elapsed();
            let _ = writeln!(
                text,
                "{age:?} ago: {} (attempt {}, {})",
                outcome.result, outcome.attempt, outcome.reason
            );
        }
        Some(text)
    }
}

fn problem_of(status: &InformerStatus, now: Instant) -> Option<&'static str> {
    match status.phase {
        InformerPhase::Idle => Some("not started"),
        // Later it lists namespaces that were added, or shards that were gained.
        InformerPhase::Syncing => status.times.synced.is_none().then_some("not synced"),
        InformerPhase::Stopped => Some("stopped"),
        InformerPhase::Synced => {
            let is_silent = |received: Instant| now.saturating_duration_since(received) > MAX_SILENCE;
            status
                .times
                .received
                // Without a namespace or a shard there is nothing to receive.
                .is_some_and(|received| !status.sources.is_empty() && is_silent(received))
                .then_some("no response from the server for five minutes")
        }
    }
}
