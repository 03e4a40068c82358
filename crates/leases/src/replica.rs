//! The state machine of one replica: it decides on all requests, and has no IO and no clock.

use crate::clock::BootTime;
use crate::config::{Config, Mode};
use crate::election::{Election, Kind};
use crate::error::LeaseError;
use crate::membership::Membership;
use crate::names::{member_lease, shard_lease};
use crate::range::rendezvous_score;
use crate::record::Record;
use crate::request::{Now, Outgoing, Request, Response, Target};
use crate::restore::{Listing, RestoreDetector};
use crate::shard_table::{Answered, Holding, Phase, Session, ShardTable};
use crate::view::{Observed, View};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// One replica.
#[derive(Debug)]
pub(crate) struct Replica {
    config: Arc<Config>,
    view: View,
    /// The name of the leader Lease or of our member Lease.
    election_name: String,
    election: Election,
    part: Part,
    restores: RestoreDetector,
    /// The view has to be listed again, although the watch is not broken.
    must_list: bool,
    stop: Option<Stop>,
}

#[derive(Debug)]
enum Part {
    Leader(Leader),
    Shards(Box<Group>),
}

/// The holding of a leader.
#[derive(Debug, Default)]
struct Leader {
    holding: Option<Holding>,
    next_term: u64,
    is_drained: bool,
}

#[derive(Debug)]
struct Group {
    membership: Membership,
    table: ShardTable,
    /// The uid of the member Lease that the holdings of the table belong to.
    session: Option<String>,
    expired: BTreeMap<String, Removal>,
}

/// The removal of an expired member Lease.
#[derive(Debug)]
enum Removal {
    Pending,
    RetryAt(BootTime),
}

#[derive(Debug)]
struct Stop {
    drain_until: BootTime,
    give_up_at: BootTime,
}

impl Replica {
    pub(crate) fn new(config: &Arc<Config>) -> Self {
        let (name, kind, part) = match config.mode {
            Mode::Leader => (config.name.clone(), Kind::Leader, Part::Leader(Leader::default())),
            Mode::Shards { .. } => {
                let name = member_lease(&config.name, &config.identity);
                let group = Group {
                    membership: Membership::new(config),
                    table: ShardTable::new(config),
                    session: None,
                    expired: BTreeMap::new(),
                };
                (name, Kind::Member, Part::Shards(Box::new(group)))
            }
        };
        let election = Election::new(config, kind, name.clone());
        let view = View::default();
        Self {
            config: Arc::clone(config),
            view,
            election_name: name,
            election,
            part,
            restores: RestoreDetector::default(),
            must_list: false,
            stop: None,
        }
    }

    /// Processes a list of the Leases.
    pub(crate) fn listed(&mut self, listing: Listing, now: BootTime) {
        self.check_deadline(now);
        self.must_list = false;
        if self.restores.listed(&listing) {
            self.restored(now);
        }
        let records = listing.records;
        match records.iter().find(|record| record.name() == self.election_name) {
            Some(record) => self.election.observed(record, now),
            None => self.election.observed_absence(now),
        }
        self.view.replace(records, now);
    }

    /// Processes a Lease that the watch reports as added or modified.
    pub(crate) fn changed(&mut self, record: Record, now: BootTime) {
        self.check_deadline(now);
        self.restores.saw(record.version_number());
        if record.name() == self.election_name {
            self.election.observed(&record, now);
        }
        self.view.change(record, now);
    }

    /// Processes a Lease that the watch reports as deleted.
    pub(crate) fn deleted(&mut self, record: &Record, now: BootTime) {
        self.check_deadline(now);
        self.restores.saw(record.version_number());
        if record.name() == self.election_name {
            self.election.observed_deletion(record.uid());
        }
        self.view.delete(record.name());
    }

    /// Processes the result of a request.
    pub(crate) fn responded(&mut self, target: &Target, response: Response, now: BootTime) {
        self.check_deadline(now);
        if self.restores.responded(target, &response) {
            self.restored(now);
            self.must_list = true;
            return;
        }
        let retry_at = now + self.config.timing.retry_period;
        match (target, &mut self.part) {
            (Target::Election, _) => self.election.responded(response, now),
            (Target::Group, Part::Shards(group)) => group.membership.responded(response, now),
            (Target::Shard(shard), Part::Shards(group)) => {
                let uid = group.session.clone();
                let session = uid.as_deref().map(|uid| Session { uid, is_stopping: self.stop.is_some() });
                group.table.responded(*shard, response, Answered { session, now });
            }
            (Target::ExpiredMember(name), Part::Shards(group)) => {
                group.expired.insert(name.clone(), Removal::RetryAt(retry_at));
            }
            (Target::Group | Target::Shard(_) | Target::ExpiredMember(_), Part::Leader(_)) => {}
        }
        self.check_deadline(now);
    }

    /// Processes the end of all work of a holding that is not active any more.
    pub(crate) fn drained(&mut self, shard: u32, term: u64) {
        match &mut self.part {
            Part::Leader(leader) => {
                let is_current = leader.holding.as_ref().is_some_and(|holding| holding.term == term);
                leader.is_drained |= is_current && self.stop.is_some();
            }
            Part::Shards(group) => group.table.drained(shard, term),
        }
    }

    /// Starts to drain and release everything.
    pub(crate) fn stop(&mut self, now: BootTime) {
        let drain_until = now + self.config.drain_timeout;
        let give_up_at = drain_until + self.config.timing.renew_deadline;
        self.stop.get_or_insert(Stop { drain_until, give_up_at });
    }

    /// Returns true if the replica has stopped.
    pub(crate) fn is_stopped(&self, now: BootTime) -> bool {
        let is_given_up = |stop: &Stop| stop.give_up_at <= now && self.holdings().next().is_none();
        self.stop.as_ref().is_some_and(|stop| self.election.is_released() || is_given_up(stop))
    }

    /// Returns the requests that are due.
    pub(crate) fn step(&mut self, now: Now) -> Vec<Outgoing> {
        self.check_deadline(now.boot);
        let mut requests = match &self.part {
            Part::Leader(_) => self.step_leader(now.boot),
            Part::Shards(_) => self.step_shards(now),
        };
        // After the decision to release, so that a drained replica releases in the same step.
        let election = self.election.step(now);
        requests.extend(election.map(|request| Outgoing { target: Target::Election, request }));
        self.check_deadline(now.boot);
        for outgoing in &requests {
            self.restores.sent(outgoing, self.election.known_record());
        }
        requests
    }

    /// Returns the newest known version of all Leases.
    pub(crate) fn newest_version(&self) -> Option<u64> {
        self.restores.newest()
    }

    /// Returns true if the Leases have to be listed, although the watch is not broken.
    pub(crate) fn must_list(&self) -> bool {
        self.must_list
    }

    /// Releases everything and starts again, because the API server was restored from a backup.
    ///
    /// The restored Leases do not show what other replicas have acquired since the backup. These replicas cannot renew that, so that
    /// this one waits for the lease duration before it acquires anything.
    fn restored(&mut self, now: BootTime) {
        self.election.restored(now + self.config.timing.lease_duration);
        self.view = View::default();
        if let Part::Shards(group) = &mut self.part {
            group.membership = Membership::new(&self.config);
            group.table.restored();
            group.expired.clear();
        }
        self.check_deadline(now);
    }

    /// Returns the time of the next step, if no event comes first.
    pub(crate) fn wake_at(&self, now: BootTime) -> BootTime {
        let mut times = vec![self.election.wake_at(), self.election.held_until()];
        if let Some(stop) = &self.stop {
            times.extend([Some(stop.drain_until), Some(stop.give_up_at)]);
        }
        if let Part::Shards(group) = &self.part {
            times.extend([group.membership.wake_at(), group.table.wake_at()]);
            times.extend(self.view.members().map(|member| Some(self.removal_at(member))));
            times.extend(group.expired.values().map(|removal| match removal {
                Removal::Pending => None,
                Removal::RetryAt(time) => Some(*time),
            }));
        }
        // Each time up to now was processed by the last step.
        let next = times.into_iter().flatten().filter(|time| *time > now).min();
        let latest = now + self.config.timing.lease_duration;
        next.map_or(latest, |next| next.min(latest))
    }

    /// Returns the time until which the holdings are valid; `None` if there are none.
    pub(crate) fn deadline(&self) -> Option<BootTime> {
        self.election.held_until()
    }

    /// Returns the shards that this replica holds; a leader has shard 0.
    pub(crate) fn holdings(&self) -> Box<dyn Iterator<Item = (u32, &Holding)> + '_> {
        match &self.part {
            Part::Leader(leader) => Box::new(leader.holding.iter().map(|holding| (0, holding))),
            Part::Shards(group) => Box::new(group.table.holdings()),
        }
    }

    /// Returns the problem that retries alone do not solve.
    pub(crate) fn problem(&self) -> Option<&LeaseError> {
        match &self.part {
            Part::Leader(_) => self.election.problem(),
            Part::Shards(group) => {
                let joining = group.session.is_none().then(|| group.membership.problem()).flatten();
                self.election.problem().or(joining).or(group.table.problem())
            }
        }
    }

    /// Returns the Lease of a shard, or of the leader, as it is known.
    pub(crate) fn shard_record(&self, shard: u32) -> Option<&Record> {
        let observed = match self.config.mode {
            Mode::Leader => self.view.get(&self.config.name),
            Mode::Shards { .. } => self.view.get(&shard_lease(&self.config.name, shard)),
        };
        observed.map(|observed| &observed.record)
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = &Record> {
        self.view.members().map(|member| &member.record)
    }

    /// Ends and starts holdings by the state of the election.
    fn check_deadline(&mut self, now: BootTime) {
        self.election.check_deadline(now);
        let is_held = self.election.held_until().is_some();
        let record = self.election.own_record().filter(|_| is_held);
        match &mut self.part {
            Part::Leader(leader) => match record {
                None => leader.holding = None,
                Some(record) if leader.holding.is_none() && self.stop.is_none() => {
                    let holding =
                        Holding { term: leader.next_term, token: record.transitions(), phase: Phase::Active };
                    leader.holding = Some(holding);
                    leader.next_term += 1;
                }
                Some(_) => {}
            },
            Part::Shards(group) => {
                let session = record.map(Record::uid).filter(|uid| group.membership.has_joined(uid));
                if group.session.as_deref() != session {
                    group.table.session_ended();
                    group.session = session.map(str::to_owned);
                }
            }
        }
    }

    fn step_leader(&mut self, now: BootTime) -> Vec<Outgoing> {
        let (Part::Leader(leader), Some(stop)) = (&mut self.part, &self.stop) else { return Vec::new() };
        match &mut leader.holding {
            Some(holding) if !leader.is_drained => {
                let is_over = stop.drain_until <= now;
                holding.phase = if is_over { Phase::Cancelled } else { Phase::Draining };
            }
            Some(_) | None => {
                leader.holding = None;
                self.election.release();
            }
        }
        Vec::new()
    }

    fn step_shards(&mut self, now: Now) -> Vec<Outgoing> {
        let mut requests = self.remove_expired(now.boot);
        let own_uid = self.election.own_record().map(|record| record.uid().to_owned());
        let is_held = self.election.held_until().is_some();
        let Part::Shards(group) = &mut self.part else { return requests };
        if self.stop.is_some() {
            if group.table.is_drained() {
                // Deleting the member Lease releases all shards with one write.
                group.table.session_ended();
                self.election.release();
                return requests;
            }
            self.election.leave();
        }
        if let Some(uid) = own_uid.filter(|_| is_held) {
            let join = group.membership.step(&uid, &self.view, now.boot);
            requests.extend(join.map(|request| Outgoing { target: Target::Group, request }));
        }
        if let Some(uid) = group.session.clone() {
            let session = Session { uid: &uid, is_stopping: self.stop.is_some() };
            requests.extend(group.table.step(session, &self.view, now));
            if self.stop.is_some() && group.table.is_drained() {
                group.table.session_ended();
                self.election.release();
            }
        }
        requests
    }

    /// Returns requests that delete the Leases of expired members, which frees their shards.
    ///
    /// The version in the request proves that the member has not renewed its Lease since it was observed.
    fn remove_expired(&mut self, now: BootTime) -> Vec<Outgoing> {
        let own_uid = self.election.own_record().map(Record::uid);
        let is_due =
            |member: &&Observed| self.removal_at(member) <= now && Some(member.record.uid()) != own_uid;
        let due: Vec<_> = self.view.members().filter(is_due).map(|member| member.record.clone()).collect();
        let Part::Shards(group) = &mut self.part else { return Vec::new() };
        group.expired.retain(|name, removal| {
            matches!(removal, Removal::Pending) || due.iter().any(|record| record.name() == name)
        });
        let mut requests = Vec::new();
        for record in due {
            let name = record.name().to_owned();
            let is_ready = match group.expired.get(&name) {
                None => true,
                Some(Removal::RetryAt(time)) => *time <= now,
                Some(Removal::Pending) => false,
            };
            if is_ready {
                group.expired.insert(name.clone(), Removal::Pending);
                let (uid, version) = (record.uid().to_owned(), record.version().to_owned());
                let request = Request::Delete { name: name.clone(), uid, version };
                requests.push(Outgoing { target: Target::ExpiredMember(name), request });
            }
        }
        requests
    }

    /// Returns the time at which this replica deletes a member Lease that does not change. It differs by replica, so that usually one
    /// of them deletes it and the others see that.
    fn removal_at(&self, member: &Observed) -> BootTime {
        let timing = &self.config.timing;
        let delay = rendezvous_score(&self.config.identity, 0) ^ rendezvous_score(member.record.uid(), 1);
        let slots = timing.retry_period / 4 / 8;
        let own = slots * u32::try_from(delay % 8).unwrap_or(0);
        member.expires_at(timing.lease_duration) + own + Duration::from_millis(1)
    }
}
