//! The simulated world: events in virtual time, faults, and the rules that are checked.

mod rules;

use crate::config::{Config, Mode};
use crate::range::ShardKey;
use crate::request::{Outgoing, RequestError, Response, Target};
use crate::restore::Listing;
use crate::simulation::Bug;
use crate::simulation::process::{Process, SkewedClock, State};
use crate::simulation::server::{Change, Server};
use crate::timing::Timing;
use k8s_openapi::jiff::SignedDuration;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use testkit::Random;

const FAULTY: Duration = Duration::from_secs(30);
const CALM: Duration = Duration::from_secs(40);
const ROUNDS: u32 = 2;
const MAX_PROCESSES: usize = 6;
/// The rate of the slowest clock; the fastest one is as much faster than real time.
const SLOWEST_CLOCK: f64 = 0.93;
/// The time after a restore within which the holders from before it have ended.
const AFTER_RESTORE: Duration = Duration::from_secs(15);
/// The parts of the hash space for which exclusive work is checked; each number of shards of the simulation divides it.
const CELLS: u32 = 80;

#[derive(Debug)]
enum Event {
    /// A timer of the driver of a process has expired.
    Timer {
        timer: u64,
    },
    /// The runtime of a process polls its reconciles.
    Poll,
    /// The response of a request, or the error after a timeout.
    Response {
        id: u64,
        target: Target,
        response: Response,
    },
    /// A list, after which a watch of this connection starts.
    Listed {
        connection: u64,
        listing: Listing,
    },
    Watched {
        connection: u64,
        change: Change,
    },
    /// The process notices that its watch is broken.
    WatchBroken {
        connection: u64,
    },
    Stop,
}

#[derive(Debug)]
enum Queued {
    Process {
        process: usize,
        event: Event,
    },
    /// A request reaches the server.
    Request {
        process: usize,
        id: u64,
        outgoing: Box<Outgoing>,
        reply: Option<Duration>,
    },
    /// A request for a list reaches the server.
    List {
        process: usize,
        connection: u64,
        /// The newest version that the process knew when it sent the request.
        known: Option<u64>,
    },
    Fault,
    Resume {
        process: usize,
    },
    CalmStarts,
    CheckHeld,
    CheckBalance,
}

/// The network of one process.
#[derive(Debug, Default)]
struct Network {
    partitioned_until: Duration,
    /// The open watch, and the time of its last delivery, which later ones must follow.
    watch: Option<OpenWatch>,
}

#[derive(Debug)]
struct OpenWatch {
    connection: u64,
    delivered_until: Duration,
}

/// The last poll of a cell by any process, and the last one by any other process.
#[derive(Clone, Copy, Debug, Default)]
struct LastPolls {
    process: Option<usize>,
    at: Option<Duration>,
    by_others_at: Option<Duration>,
}

impl LastPolls {
    fn by_others(&self, process: usize) -> Option<Duration> {
        if self.process == Some(process) { self.by_others_at } else { self.at }
    }

    fn record(&mut self, process: usize, at: Duration) {
        if self.process != Some(process) {
            self.by_others_at = self.at;
            self.process = Some(process);
        }
        self.at = Some(at);
    }
}

/// The settings that a seed determines.
#[derive(Debug)]
struct Plan {
    modes: Vec<Mode>,
    /// Restarted processes have the identity of an earlier one.
    reuses_identities: bool,
}

#[derive(Debug)]
pub(crate) struct World {
    rng: Random,
    bug: Option<Bug>,
    plan: Plan,
    now: Duration,
    queue: BTreeMap<(Duration, u64), Queued>,
    sequence: u64,
    server: Server,
    processes: Vec<Process>,
    networks: Vec<Network>,
    /// The events of paused processes.
    inboxes: BTreeMap<usize, Vec<Event>>,
    outage_until: Duration,
    /// The server is restored from backups.
    has_restores: bool,
    /// Exclusive work is not checked before this time, because of a restore.
    exclusive_from: Duration,
    calm_since: Option<Duration>,
    /// The last polls of each cell.
    polled: Vec<LastPolls>,
    /// The start of the last reconcile of each cell.
    reconciled: Vec<Option<Duration>>,
}

/// A rule that was violated.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Violation(pub(crate) String);

impl World {
    pub(crate) fn new(seed: u64, bug: Option<Bug>) -> Self {
        let mut rng = Random::from_state(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
        let counts = [1, 4, 5, 8, 16, 16];
        let count = *rng.pick(&counts);
        let shards = |count| Mode::Shards { count, key: ShardKey::Namespace };
        let modes = match rng.below(8) {
            0 | 1 => vec![Mode::Leader],
            2 => vec![shards(count), shards(count), shards(*rng.pick(&counts))],
            _ => vec![shards(count)],
        };
        let plan = Plan { modes, reuses_identities: rng.one_in(4) };
        Self {
            rng,
            bug,
            plan,
            now: Duration::from_secs(100),
            queue: BTreeMap::new(),
            sequence: 0,
            server: Server::default(),
            processes: Vec::new(),
            networks: Vec::new(),
            inboxes: BTreeMap::new(),
            outage_until: Duration::ZERO,
            has_restores: false,
            exclusive_from: Duration::ZERO,
            calm_since: None,
            polled: vec![LastPolls::default(); CELLS as usize],
            reconciled: vec![None; CELLS as usize],
        }
    }

    /// Adds restores of the server from a backup to the faults.
    pub(crate) fn with_restores(mut self) -> Self {
        self.has_restores = true;
        self.server.keep_backups();
        self
    }

    /// Runs all rounds. Returns the number of writes that reached the server.
    pub(crate) fn run(mut self) -> Result<u64, Violation> {
        for _ in 0..3 {
            self.start_process();
        }
        let mut end = self.now;
        for _ in 0..ROUNDS {
            let mut at = end;
            while at < end + FAULTY {
                at += self.rng.millis(500, 5000);
                self.push(at, Queued::Fault);
            }
            let calm = end + FAULTY + Duration::from_secs(5);
            let held = Timing::default().lease_duration.div_f64(SLOWEST_CLOCK) + Duration::from_secs(5);
            // After a restore, replicas wait for the lease duration before they acquire anything.
            let held = if self.has_restores { held + AFTER_RESTORE } else { held };
            self.push(calm, Queued::CalmStarts);
            self.push(calm + held, Queued::CheckHeld);
            self.push(calm + CALM, Queued::CheckBalance);
            end = calm + CALM;
        }
        while let Some(((time, _), queued)) = self.queue.pop_first() {
            if time > end {
                break;
            }
            self.now = time;
            self.process_queued(queued)?;
        }
        Ok(self.server.writes)
    }

    fn process_queued(&mut self, queued: Queued) -> Result<(), Violation> {
        match queued {
            Queued::Process { process, event } => self.deliver(process, event)?,
            Queued::Request { process, id, outgoing, reply } => {
                let response = self.server.handle(outgoing.request);
                self.publish();
                if let Some(delay) = reply {
                    let event = Event::Response { id, target: outgoing.target, response };
                    self.push(self.now + delay, Queued::Process { process, event });
                }
            }
            Queued::List { process, connection, known } => self.list(process, connection, known),
            Queued::Fault => self.inject_fault(),
            Queued::Resume { process } => self.resume(process)?,
            Queued::CalmStarts => self.start_calm()?,
            Queued::CheckHeld => self.check_held()?,
            Queued::CheckBalance => self.check_balance()?,
        }
        Ok(())
    }

    fn push(&mut self, at: Duration, queued: Queued) {
        self.sequence += 1;
        self.queue.insert((at, self.sequence), queued);
    }

    // Processes

    fn start_process(&mut self) {
        let index = self.processes.len();
        let mode = *self.rng.pick(&self.plan.modes.clone());
        let identity = match self.plan.reuses_identities {
            true => {
                let running: BTreeSet<_> =
                    self.alive().map(|(_, process)| process.config.identity.clone()).collect();
                let free =
                    (0..).map(|number| format!("replica-{number}")).find(|name| !running.contains(name));
                free.expect("there are more names than processes")
            }
            false => format!("replica-{index}"),
        };
        let config = Config {
            name: "group".into(),
            namespace: "default".into(),
            identity,
            instance: format!("instance-{index}"),
            mode,
            timing: Timing::default(),
            drain_timeout: Duration::from_secs(2 + self.rng.below(4)),
        };
        #[expect(clippy::cast_precision_loss, reason = "the numbers are small")]
        let rate = SLOWEST_CLOCK + self.rng.below(140) as f64 / 1000.0;
        let wall_offset = i64::try_from(self.rng.below(120)).unwrap_or(0) - 60;
        let clock = SkewedClock {
            rate,
            boot_offset: Duration::from_secs(self.rng.below(100_000)),
            wall_offset: SignedDuration::from_secs(wall_offset),
        };
        self.processes.push(Process::new(Arc::new(config), clock, self.bug));
        self.networks.push(Network::default());
        self.push(self.now, Queued::Process { process: index, event: Event::WatchBroken { connection: 0 } });
        self.push(self.now, Queued::Process { process: index, event: Event::Timer { timer: 0 } });
        self.push(self.now, Queued::Process { process: index, event: Event::Poll });
    }

    fn alive(&self) -> impl Iterator<Item = (usize, &Process)> {
        self.processes.iter().enumerate().filter(|(_, process)| process.state != State::Dead)
    }

    fn deliver(&mut self, index: usize, event: Event) -> Result<(), Violation> {
        match self.processes[index].state {
            State::Dead => return Ok(()),
            State::Paused => {
                self.inboxes.entry(index).or_default().push(event);
                return Ok(());
            }
            State::Running => {}
        }
        let real = self.now;
        let process = &mut self.processes[index];
        let now = process.now(real).boot;
        match event {
            Event::Timer { timer } if timer != process.timer => return Ok(()),
            Event::Timer { .. } => {}
            Event::Stop => process.replica.stop(now),
            Event::Poll => {
                self.poll(index)?;
                let next = self.now + self.rng.millis(150, 600);
                self.push(next, Queued::Process { process: index, event: Event::Poll });
                if !self.processes[index].is_draining() {
                    return Ok(());
                }
            }
            Event::Response { id, target, response } => {
                if process.requests.remove(&id) {
                    process.replica.responded(&target, response, now);
                }
            }
            Event::Listed { connection, listing } => {
                if connection == process.connection {
                    process.replica.listed(listing, now);
                }
            }
            Event::Watched { connection, change } => {
                if connection == process.connection {
                    match change {
                        Change::Written(record) => {
                            let at = process.observation_time(&record, real);
                            process.replica.changed(record, at);
                        }
                        Change::Deleted(record) => process.replica.deleted(&record, now),
                    }
                }
            }
            Event::WatchBroken { connection } => {
                if connection == process.connection {
                    self.request_list(index);
                }
            }
        }
        self.advance(index);
        Ok(())
    }

    /// Sends the requests of the driver of a process and sets its timer.
    fn advance(&mut self, index: usize) {
        let real = self.now;
        for _ in 0..2 {
            let process = &mut self.processes[index];
            let outgoing = process.replica.step(process.now(real));
            for outgoing in outgoing {
                self.send(index, outgoing);
            }
            self.processes[index].report_drained();
        }
        if self.processes[index].starts_relist() {
            self.request_list(index);
        }
        let process = &mut self.processes[index];
        let now = process.now(real).boot;
        if process.replica.is_stopped(now) {
            process.state = State::Dead;
            return;
        }
        process.timer += 1;
        let event = Event::Timer { timer: process.timer };
        let at = process.real(process.replica.wake_at(now)).max(real + Duration::from_micros(1));
        self.push(at, Queued::Process { process: index, event });
    }

    fn send(&mut self, index: usize, outgoing: Outgoing) {
        self.sequence += 1;
        let id = self.sequence;
        let process = &mut self.processes[index];
        process.requests.insert(id);
        let timeout = process.real_duration(process.config.timing.request_timeout());
        let event =
            Event::Response { id, target: outgoing.target.clone(), response: Err(RequestError::Unknown) };
        self.push(self.now + timeout, Queued::Process { process: index, event });

        let is_cut = self.now < self.networks[index].partitioned_until;
        let is_outage = self.now < self.outage_until;
        let is_faulty = self.calm_since.is_none();
        if is_cut || is_outage && self.rng.one_in(2) || is_faulty && self.rng.one_in(20) {
            return;
        }
        let delay = self.latency();
        let loses_reply = is_outage || is_faulty && self.rng.one_in(20);
        let reply = (!loses_reply).then(|| self.latency());
        self.push(
            self.now + delay,
            Queued::Request { process: index, id, outgoing: Box::new(outgoing), reply },
        );
    }

    fn latency(&mut self) -> Duration {
        let is_slow = self.calm_since.is_none() && self.rng.one_in(8);
        if is_slow { self.rng.millis(50, 6000) } else { self.rng.millis(1, 40) }
    }

    // Watches

    /// Sends the request for a list, after which a new watch starts.
    fn request_list(&mut self, index: usize) {
        let process = &mut self.processes[index];
        process.connection += 1;
        let (connection, known) = (process.connection, process.replica.newest_version());
        let delay = self.latency();
        self.push(self.now + delay, Queued::List { process: index, connection, known });
    }

    fn list(&mut self, index: usize, connection: u64, known: Option<u64>) {
        if self.processes[index].state == State::Dead {
            return;
        }
        let network = &self.networks[index];
        if self.now < network.partitioned_until || self.now < self.outage_until {
            let retry = self.now + self.rng.millis(200, 1000);
            self.push(retry, Queued::List { process: index, connection, known });
            return;
        }
        let at = self.now + self.latency();
        self.networks[index].watch = Some(OpenWatch { connection, delivered_until: at });
        let listing = Listing { known, ..self.server.list() };
        if self.bug == Some(Bug::CompareClocks) {
            let empty = Event::Listed { connection, listing: Listing { records: Vec::new(), ..listing } };
            self.push(at, Queued::Process { process: index, event: empty });
            for record in self.server.list().records {
                let event = Event::Watched { connection, change: Change::Written(record) };
                self.push(at, Queued::Process { process: index, event });
            }
            return;
        }
        self.push(at, Queued::Process { process: index, event: Event::Listed { connection, listing } });
    }

    /// Schedules the delivery of new changes to all open watches.
    fn publish(&mut self) {
        let changes: Vec<_> = self.server.log.drain(..).collect();
        for change in changes {
            for index in 0..self.networks.len() {
                let at = self.now + self.latency();
                let Some(watch) = &mut self.networks[index].watch else { continue };
                watch.delivered_until = watch.delivered_until.max(at);
                let (connection, at) = (watch.connection, watch.delivered_until);
                let event = Event::Watched { connection, change: change.clone() };
                self.push(at, Queued::Process { process: index, event });
            }
        }
    }

    fn cut_watch(&mut self, index: usize) {
        if let Some(watch) = self.networks[index].watch.take() {
            let notices = match self.calm_since {
                None => self.rng.millis(1, 8000),
                Some(_) => self.rng.millis(1, 100),
            };
            let event = Event::WatchBroken { connection: watch.connection };
            self.push(self.now + notices, Queued::Process { process: index, event });
        }
    }

    // Faults

    fn inject_fault(&mut self) {
        let alive: Vec<_> = self.alive().map(|(index, _)| index).collect();
        let any = if alive.is_empty() { None } else { Some(*self.rng.pick(&alive)) };
        if self.has_restores && self.rng.one_in(5) {
            return self.restore_server();
        }
        match (self.rng.below(10), any) {
            (0, Some(index)) => self.processes[index].state = State::Dead,
            (1, Some(index)) => self.push(self.now, Queued::Process { process: index, event: Event::Stop }),
            (2 | 3, Some(index)) => {
                self.processes[index].state = State::Paused;
                let resume = self.now + self.rng.millis(100, 30_000);
                self.push(resume, Queued::Resume { process: index });
            }
            (4, Some(index)) => {
                self.networks[index].partitioned_until = self.now + self.rng.millis(1000, 25_000);
                self.cut_watch(index);
            }
            (5, Some(index)) => self.cut_watch(index),
            (6, _) => {
                self.outage_until = self.now + self.rng.millis(1000, 10_000);
                (0..self.networks.len()).for_each(|index| self.cut_watch(index));
            }
            (7, _) => {
                let pick = self.rng.next_u64();
                self.server.touch(pick);
                self.publish();
            }
            _ if alive.len() < MAX_PROCESSES => self.start_process(),
            _ => {}
        }
    }

    /// Restores the server from a backup. All watches are cut.
    fn restore_server(&mut self) {
        let pick = self.rng.next_u64();
        self.server.restore(pick);
        self.exclusive_from = self.now + 2 * AFTER_RESTORE;
        (0..self.networks.len()).for_each(|index| self.cut_watch(index));
    }

    fn resume(&mut self, index: usize) -> Result<(), Violation> {
        if self.processes[index].state != State::Paused {
            return Ok(());
        }
        self.processes[index].state = State::Running;
        let mut events = self.inboxes.remove(&index).unwrap_or_default();
        // The reconciles and the driver wake up in any order; watch events and responses stay in their order.
        if let Some(position) = events.iter().position(|event| matches!(event, Event::Poll))
            && self.rng.one_in(2)
        {
            let poll = events.remove(position);
            events.insert(0, poll);
        }
        for event in events {
            self.deliver(index, event)?;
        }
        Ok(())
    }

    fn start_calm(&mut self) -> Result<(), Violation> {
        self.calm_since = Some(self.now);
        self.outage_until = self.now;
        self.deliver_delayed();
        for index in 0..self.processes.len() {
            self.networks[index].partitioned_until = self.now;
            self.resume(index)?;
        }
        if self.alive().next().is_none() {
            self.start_process();
        }
        Ok(())
    }

    /// Ends the delays of requests and deliveries, in their order, so that no fault has an effect in the calm phase.
    fn deliver_delayed(&mut self) {
        let latest = self.now + Duration::from_millis(50);
        let later = self.queue.split_off(&(latest, 0));
        for ((at, sequence), queued) in later {
            let is_delayed = match &queued {
                Queued::Request { .. } | Queued::List { .. } => true,
                Queued::Process { event, .. } => match event {
                    // A timeout stays.
                    Event::Response { response, .. } => !matches!(response, Err(RequestError::Unknown)),
                    Event::Listed { .. } | Event::Watched { .. } | Event::WatchBroken { .. } => true,
                    Event::Timer { .. } | Event::Poll | Event::Stop => false,
                },
                Queued::Fault | Queued::Resume { .. } => false,
                Queued::CalmStarts | Queued::CheckHeld | Queued::CheckBalance => false,
            };
            let mut queued = queued;
            if let Queued::Request { reply: Some(delay), .. } = &mut queued {
                *delay = (*delay).min(Duration::from_millis(50));
            }
            if is_delayed {
                self.push(latest, queued);
            } else {
                self.queue.insert((at, sequence), queued);
            }
        }
        for watch in self.networks.iter_mut().filter_map(|network| network.watch.as_mut()) {
            watch.delivered_until = watch.delivered_until.min(latest);
        }
    }
}
