//! The task that runs the state machine: it sends the requests, watches the Leases, and publishes the held shards.

use crate::clock::Clock;
use crate::config::Config;
use crate::error::LeaseError;
use crate::lease_api::{LeaseApi, ViewEvent};
use crate::range::HashRange;
use crate::replica::Replica;
use crate::request::{Now, Request, Response, Target};
use crate::status::Status;
use crate::term::{NewTerm, Term};
use k8s_openapi::jiff::Timestamp;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinSet;
use tracing::{info, warn};

/// The published state of a replica.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    pub(crate) terms: BTreeMap<u32, Arc<Term>>,
    pub(crate) problem: Option<LeaseError>,
    pub(crate) status: Status,
    pub(crate) is_stopped: bool,
}

/// The parts of a running replica.
#[derive(Debug)]
pub(crate) struct Driver {
    config: Arc<Config>,
    api: LeaseApi,
    clock: Arc<dyn Clock>,
    replica: Replica,
    terms: BTreeMap<u32, Arc<Term>>,
    progress: Arc<Notify>,
    snapshots: watch::Sender<Snapshot>,
    stop: watch::Receiver<bool>,
    /// The reason why the Leases cannot be listed.
    view_problem: Option<LeaseError>,
    /// The newest version that the replica knows.
    newest: watch::Sender<Option<u64>>,
    reported_problem: Option<LeaseError>,
    writes: u64,
}

/// The connections of a driver to the handles of its leases.
#[derive(Debug)]
pub(crate) struct Channels {
    pub(crate) snapshots: watch::Sender<Snapshot>,
    pub(crate) stop: watch::Receiver<bool>,
}

impl Driver {
    pub(crate) fn new(
        config: &Arc<Config>,
        api: LeaseApi,
        clock: Arc<dyn Clock>,
        channels: Channels,
    ) -> Self {
        Self {
            config: Arc::clone(config),
            api,
            clock,
            replica: Replica::new(config),
            terms: BTreeMap::new(),
            progress: Arc::new(Notify::new()),
            snapshots: channels.snapshots,
            stop: channels.stop,
            view_problem: None,
            newest: watch::Sender::new(None),
            reported_problem: None,
            writes: 0,
        }
    }

    /// Runs until the leases were stopped and released.
    pub(crate) async fn run(mut self) {
        let (mut watcher, mut events) = self.watch();
        let mut requests = JoinSet::new();
        let mut is_stopping = false;
        let mut is_relisting = false;
        loop {
            let now = self.now();
            if self.replica.is_stopped(now.boot) {
                break;
            }
            self.send_requests(now, &mut requests);
            self.publish();
            if self.replica.must_list() && !is_relisting {
                warn!(name = self.config.name, "the API server has older versions; listing the leases again");
                (watcher, events) = self.watch();
            }
            is_relisting = self.replica.must_list();
            if self.report_drained() {
                continue;
            }
            // Tokio's clock stops while the machine is suspended, so that a long sleep would end late.
            let wake = self.replica.wake_at(now.boot).saturating_since(self.clock.now());
            let wake = wake.min(self.config.timing.retry_period);
            tokio::select! {
                Some(event) = events.recv() => self.observe(event),
                Some(Ok((target, response))) = requests.join_next(), if !requests.is_empty() => {
                    self.replica.responded(&target, response, self.clock.now());
                }
                () = self.progress.notified() => {}
                _ = self.stop.changed(), if !is_stopping => {}
                () = tokio::time::sleep(wake) => {}
            }
            // Dropping the sender stops as well.
            if !is_stopping && (*self.stop.borrow() || self.stop.has_changed().is_err()) {
                is_stopping = true;
                self.replica.stop(self.clock.now());
            }
        }
        self.end();
        drop(events);
        drop(watcher);
    }

    /// Starts to list and watch the Leases. Dropping the tasks ends it.
    fn watch(&self) -> (JoinSet<()>, mpsc::Receiver<ViewEvent>) {
        let (sender, events) = mpsc::channel(64);
        let mut watcher = JoinSet::new();
        watcher.spawn(self.api.clone().follow(sender, self.newest.subscribe()));
        (watcher, events)
    }

    fn now(&self) -> Now {
        Now { boot: self.clock.now(), wall: Timestamp::now() }
    }

    fn send_requests(&mut self, now: Now, requests: &mut JoinSet<(Target, Response)>) {
        for outgoing in self.replica.step(now) {
            if !matches!(outgoing.request, Request::Get { .. }) {
                self.writes += 1;
            }
            let api = self.api.clone();
            requests.spawn(async move { (outgoing.target, api.send(outgoing.request).await) });
        }
    }

    fn observe(&mut self, event: ViewEvent) {
        let now = self.clock.now();
        match event {
            ViewEvent::Listed(listing) => {
                self.view_problem = None;
                self.replica.listed(listing, now);
            }
            ViewEvent::Changed(record) => self.replica.changed(record, now),
            ViewEvent::Deleted(record) => self.replica.deleted(&record, now),
            ViewEvent::Refused(problem) => self.view_problem = Some(problem),
        }
    }

    /// Ends terms that are not held any more before it extends and starts others.
    fn publish(&mut self) {
        self.newest.send_replace(self.replica.newest_version());
        let deadline = self.replica.deadline();
        let held: BTreeMap<_, _> =
            self.replica.holdings().map(|(shard, holding)| (shard, holding.clone())).collect();
        self.terms.retain(|shard, term| {
            let is_held =
                deadline.is_some() && held.get(shard).is_some_and(|holding| holding.term == term.id);
            if !is_held {
                term.end();
                info!(name = self.config.name, shard, "released or lost a lease");
            }
            is_held
        });
        for (shard, holding) in held {
            let Some(deadline) = deadline else { continue };
            let term = self.terms.entry(shard).or_insert_with(|| {
                info!(name = self.config.name, shard, token = holding.token, "acquired a lease");
                let range = HashRange::of_shard(shard, self.config.shard_count());
                Arc::new(Term::new(NewTerm {
                    shard,
                    id: holding.term,
                    token: holding.token,
                    range: range.expect("a held shard is less than their number"),
                    clock: Arc::clone(&self.clock),
                    progress: Arc::clone(&self.progress),
                }))
            });
            term.extend(deadline);
            term.set_phase(holding.phase);
        }
        let problem = self.replica.problem().or(self.view_problem.as_ref()).cloned();
        if problem != self.reported_problem {
            if let Some(problem) = &problem {
                warn!(name = self.config.name, %problem, "cannot acquire leases");
            }
            self.reported_problem.clone_from(&problem);
        }
        let status = Status::new(&self.config, &self.replica, self.writes);
        self.snapshots.send_replace(Snapshot {
            terms: self.terms.clone(),
            problem,
            status,
            is_stopped: false,
        });
    }

    /// Reports shards whose work has ended. Returns true if there are any.
    fn report_drained(&mut self) -> bool {
        let drained: Vec<_> = self.terms.values().filter(|term| term.is_newly_drained()).cloned().collect();
        for term in &drained {
            self.replica.drained(term.shard, term.id);
        }
        !drained.is_empty()
    }

    fn end(&mut self) {
        self.terms.values().for_each(|term| term.end());
        let status = Status::new(&self.config, &self.replica, self.writes);
        let problem = Some(LeaseError::Stopped);
        self.snapshots.send_replace(Snapshot { terms: BTreeMap::new(), problem, status, is_stopped: true });
    }
}
