//! The shards of a group, with the state of those that this replica holds, drains, releases or acquires.

use crate::assignment::assign;
use crate::clock::BootTime;
use crate::config::Config;
use crate::error::LeaseError;
use crate::names::{LEAVING_ANNOTATION, MEMBER_ANNOTATION, Role, shard_lease};
use crate::record::{Draft, Record, is_newer};
use crate::request::{Now, Outgoing, Request, RequestError, Response, Target};
use crate::view::{Observed, View};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The state of a shard that this replica works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Work may start.
    Active,
    /// Work in progress may continue, and none may start.
    Draining,
    /// Work in progress is cancelled.
    Cancelled,
}

/// A shard that this replica holds, from an acquisition to its loss or release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holding {
    /// Differs for each holding of this process.
    pub(crate) term: u64,
    /// The transitions of the Lease, which grow with each holder.
    pub(crate) token: i32,
    pub(crate) phase: Phase,
}

/// The membership of this replica while it is active.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Session<'a> {
    /// The uid of the member Lease.
    pub(crate) uid: &'a str,
    pub(crate) is_stopping: bool,
}

#[derive(Debug, Default)]
struct Slot {
    state: State,
    pending: Option<Write>,
    retry_at: BootTime,
    /// The reason if the API server refused the last request, as long as that is repeated.
    refusal: Option<LeaseError>,
    /// The newest version that this replica tried to release. It may have been released, although the view shows it as held.
    released: Option<String>,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Idle,
    Held(Held),
    Releasing(Record),
}

#[derive(Debug)]
struct Held {
    holding: Holding,
    record: Record,
    /// The end of the time for draining.
    drain_until: Option<BootTime>,
    is_drained: bool,
    /// The view has shown this holding.
    is_listed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Write {
    Acquire,
    Release,
}

/// All shards of the group.
#[derive(Debug)]
pub(crate) struct ShardTable {
    config: Arc<Config>,
    names: Vec<String>,
    slots: Vec<Slot>,
    next_term: u64,
}

impl Slot {
    /// Forgets that a request was refused if it will not be repeated.
    fn forget_refusal(&mut self, is_desired: bool) {
        let is_repeated = match self.state {
            State::Idle => is_desired,
            State::Releasing(_) => true,
            State::Held(_) => false,
        };
        if !is_repeated {
            self.refusal = None;
        }
    }
}

impl ShardTable {
    pub(crate) fn new(config: &Arc<Config>) -> Self {
        let count = config.shard_count();
        Self {
            config: Arc::clone(config),
            names: (0..count).map(|index| shard_lease(&config.name, index)).collect(),
            slots: (0..count).map(|_| Slot::default()).collect(),
            next_term: 0,
        }
    }

    pub(crate) fn holdings(&self) -> impl Iterator<Item = (u32, &Holding)> {
        (0..).zip(&self.slots).filter_map(|(shard, slot)| match &slot.state {
            State::Held(held) => Some((shard, &held.holding)),
            State::Idle | State::Releasing(_) => None,
        })
    }

    /// Returns the reason of the first refused request that is still needed.
    pub(crate) fn problem(&self) -> Option<&LeaseError> {
        self.slots.iter().find_map(|slot| slot.refusal.as_ref())
    }

    /// Ends all holdings at once, because the membership is not active any more.
    pub(crate) fn session_ended(&mut self) {
        for slot in &mut self.slots {
            slot.state = State::Idle;
            slot.refusal = None;
        }
    }

    /// Ends all holdings and discards all versions, because the API server was restored from a backup.
    pub(crate) fn restored(&mut self) {
        self.slots.iter_mut().for_each(|slot| *slot = Slot::default());
    }

    /// Returns true if no work is in progress.
    pub(crate) fn is_drained(&self) -> bool {
        self.slots.iter().all(|slot| match &slot.state {
            State::Held(held) => held.is_drained,
            State::Idle | State::Releasing(_) => true,
        })
    }

    /// Processes the end of all work of a holding.
    pub(crate) fn drained(&mut self, shard: u32, term: u64) {
        if let Some(State::Held(held)) = self.slots.get_mut(shard as usize).map(|slot| &mut slot.state)
            && held.holding.term == term
            && held.holding.phase != Phase::Active
        {
            held.is_drained = true;
        }
    }

    /// Returns the requests that are due.
    pub(crate) fn step(&mut self, session: Session<'_>, view: &View, now: Now) -> Vec<Outgoing> {
        self.follow_view(session, view);
        let desired = match session.is_stopping {
            true => vec![false; self.slots.len()],
            false => self.desired(session, view, now.boot),
        };
        self.plan_drains(&desired, now.boot);
        let mut requests = Vec::new();
        for (shard, is_desired) in (0..).zip(desired) {
            let request = self
                .release(shard, now)
                .or_else(|| if is_desired { self.acquire(shard, session, view, now) } else { None });
            self.slots[shard as usize].forget_refusal(is_desired);
            requests.extend(request.map(|request| Outgoing { target: Target::Shard(shard), request }));
        }
        requests
    }

    /// Returns the earliest time at which something is due without another event.
    pub(crate) fn wake_at(&self) -> Option<BootTime> {
        let times = self.slots.iter().filter_map(|slot| match &slot.state {
            State::Held(Held { drain_until: Some(until), holding, .. })
                if holding.phase == Phase::Draining =>
            {
                Some(*until)
            }
            State::Releasing(_) if slot.pending.is_none() => Some(slot.retry_at),
            State::Idle if slot.pending.is_none() && slot.retry_at > BootTime::default() => {
                Some(slot.retry_at)
            }
            State::Held(_) | State::Releasing(_) | State::Idle => None,
        });
        times.min()
    }

    pub(crate) fn responded(&mut self, shard: u32, response: Response, context: Answered<'_>) {
        let retry_period = self.config.timing.retry_period;
        let Some(slot) = self.slots.get_mut(shard as usize) else { return };
        let Some(write) = slot.pending.take() else { return };
        slot.retry_at = BootTime::default();
        slot.refusal = None;
        match (write, response) {
            (Write::Acquire, Ok(record)) => {
                let is_ours = context.session.is_some_and(|session| is_bound_to(&record, session.uid));
                if is_ours && matches!(slot.state, State::Idle) {
                    self.hold(shard, record);
                }
            }
            (Write::Release, Ok(record)) => {
                slot.released = Some(record.version().to_owned());
                slot.state = State::Idle;
            }
            (Write::Release, Err(RequestError::NotFound | RequestError::Conflict)) => {
                slot.state = State::Idle;
                slot.retry_at = context.now + retry_period / 4;
            }
            (Write::Acquire, Err(RequestError::NotFound | RequestError::Conflict)) => {
                // The watch delivers the version of the other writer.
                slot.retry_at = context.now + retry_period / 4;
            }
            (Write::Acquire | Write::Release, Err(RequestError::Unknown)) => {
                slot.retry_at = context.now + retry_period / 2;
            }
            (Write::Acquire | Write::Release, Err(RequestError::Refused(problem))) => {
                slot.refusal = Some(problem);
                slot.retry_at = context.now + retry_period;
            }
        }
    }

    /// Adopts shards that the view shows as held by this replica, and gives up those that it shows as held by another.
    fn follow_view(&mut self, session: Session<'_>, view: &View) {
        for shard in 0..self.config.shard_count() {
            let index = shard as usize;
            let record = view.get(&self.names[index]).map(|observed| &observed.record);
            let slot = &mut self.slots[index];
            match (&mut slot.state, record) {
                (State::Idle, Some(record)) if is_bound_to(record, session.uid) && slot.pending.is_none() => {
                    let record = record.clone();
                    match &slot.released {
                        // The release of this version may have failed, or its response may not have arrived.
                        Some(released) if released == record.version() => {
                            slot.state = State::Releasing(record)
                        }
                        // The view is behind.
                        Some(released) if !is_newer(record.version(), released) => {}
                        // A replica that stops does not adopt the shard; its member Lease is deleted soon.
                        Some(_) | None if session.is_stopping => {}
                        Some(_) | None => self.hold(shard, record),
                    }
                }
                (State::Held(held), Some(record)) if held.record.version() == record.version() => {
                    held.is_listed = true;
                }
                (State::Held(held), Some(record)) if held.record.is_older_than(record) => {
                    if is_bound_to(record, session.uid) {
                        held.record = record.clone();
                        held.is_listed = true;
                    } else {
                        slot.state = State::Idle;
                    }
                }
                // Another process has deleted the Lease.
                (State::Held(held), None) if held.is_listed => slot.state = State::Idle,
                (State::Releasing(old), Some(record)) if old.is_older_than(record) => {
                    slot.state = State::Idle
                }
                (State::Idle | State::Held(_) | State::Releasing(_), _) => {}
            }
        }
    }

    fn hold(&mut self, shard: u32, record: Record) {
        let term = self.next_term;
        self.next_term += 1;
        let holding = Holding { term, token: record.transitions(), phase: Phase::Active };
        let held = Held { holding, record, drain_until: None, is_drained: false, is_listed: false };
        self.slots[shard as usize].state = State::Held(held);
    }

    /// Returns for each shard whether this replica should hold it.
    fn desired(&self, session: Session<'_>, view: &View, now: BootTime) -> Vec<bool> {
        let mut members: BTreeMap<&str, &str> = view
            .members()
            .filter(|member| member.record.shard_count() == Some(self.config.shard_count()))
            .filter(|member| member.record.annotation(LEAVING_ANNOTATION).is_none())
            .filter(|member| now < member.expires_at(self.config.timing.lease_duration))
            .filter_map(|member| Some((member.record.uid(), member.record.holder()?)))
            .collect();
        // The watch may not have delivered our own member Lease yet.
        members.insert(session.uid, &self.config.identity);
        let holder = |(name, slot): (&String, &Slot)| match &slot.state {
            State::Held(_) | State::Releasing(_) => Some(session.uid.to_owned()),
            State::Idle => view.get(name)?.record.annotation(MEMBER_ANNOTATION).map(str::to_owned),
        };
        let holders: Vec<_> = self.names.iter().zip(&self.slots).map(holder).collect();
        let holders: Vec<_> = holders.iter().map(Option::as_deref).collect();
        let uids: Vec<_> = members.keys().copied().collect();
        assign(&uids, &holders).into_iter().map(|member| member == Some(session.uid)).collect()
    }

    /// Starts to drain shards that belong to others, and cancels those whose time for draining is over.
    fn plan_drains(&mut self, desired: &[bool], now: BootTime) {
        for (slot, is_desired) in self.slots.iter_mut().zip(desired) {
            let State::Held(held) = &mut slot.state else { continue };
            match (held.holding.phase, held.drain_until) {
                (Phase::Active, _) if !is_desired => {
                    held.holding.phase = Phase::Draining;
                    held.drain_until = Some(now + self.config.drain_timeout);
                }
                (Phase::Draining, Some(until)) if until <= now => held.holding.phase = Phase::Cancelled,
                (Phase::Active | Phase::Draining | Phase::Cancelled, _) => {}
            }
        }
    }

    /// Returns a request that releases a drained shard.
    fn release(&mut self, shard: u32, now: Now) -> Option<Request> {
        let slot = &mut self.slots[shard as usize];
        if slot.pending.is_some() || now.boot < slot.retry_at {
            return None;
        }
        let record = match &slot.state {
            State::Held(held) if held.is_drained => held.record.clone(),
            State::Releasing(record) => record.clone(),
            State::Held(_) | State::Idle => return None,
        };
        slot.pending = Some(Write::Release);
        slot.released = Some(record.version().to_owned());
        let draft = Draft::update(&record).release(now.wall).of_member("");
        slot.state = State::Releasing(record);
        Some(Request::Update(Box::new(draft.into_lease())))
    }

    /// Returns a request that acquires a shard, if it is free.
    fn acquire(&mut self, shard: u32, session: Session<'_>, view: &View, now: Now) -> Option<Request> {
        let index = shard as usize;
        let slot = &mut self.slots[index];
        if !matches!(slot.state, State::Idle) || slot.pending.is_some() || now.boot < slot.retry_at {
            return None;
        }
        let observed = view.get(&self.names[index]);
        let fallback = self.config.timing.lease_duration;
        if observed
            .is_some_and(|observed| !is_free(observed, view) && !is_abandoned(observed, fallback, now.boot))
        {
            return None;
        }
        let record = observed.map(|observed| &observed.record);
        slot.pending = Some(Write::Acquire);
        let draft = record.map_or_else(|| Draft::create(&self.names[index]), Draft::update);
        let draft =
            draft.in_group(&self.config, Role::Shard).acquire(&self.config, now.wall).of_member(session.uid);
        let lease = Box::new(draft.into_lease());
        Some(if record.is_some() { Request::Update(lease) } else { Request::Create(lease) })
    }
}

/// The circumstances of a response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answered<'a> {
    /// The membership, if it is active.
    pub(crate) session: Option<Session<'a>>,
    pub(crate) now: BootTime,
}

fn is_bound_to(record: &Record, uid: &str) -> bool {
    record.holder().is_some() && record.annotation(MEMBER_ANNOTATION) == Some(uid)
}

/// Returns true if no member holds the shard: it was released, or the member Lease of its holder does not exist any more.
///
/// A member creates its Lease before it acquires a shard, and the view is in the order of the watch. A member Lease that is absent
/// was therefore deleted, either by the member after it had drained, or by others after it had expired.
fn is_free(observed: &Observed, view: &View) -> bool {
    let record = &observed.record;
    match (record.holder(), record.annotation(MEMBER_ANNOTATION)) {
        (None, _) => true,
        (Some(_), Some(uid)) => !view.members().any(|member| member.record.uid() == uid),
        (Some(_), None) => false,
    }
}

/// Returns true if a holder that is not a member, such as one that was entered by hand, has not renewed the Lease.
fn is_abandoned(observed: &Observed, fallback: Duration, now: BootTime) -> bool {
    observed.record.annotation(MEMBER_ANNOTATION).is_none() && observed.expires_at(fallback) <= now
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::Mode, range::ShardKey, timing::Timing};
    use k8s_openapi::{api::coordination::v1::Lease, jiff::Timestamp};

    fn config(identity: &str) -> Arc<Config> {
        Arc::new(Config {
            name: "web".into(),
            namespace: "ops".into(),
            identity: identity.into(),
            instance: "1".into(),
            mode: Mode::Shards { count: 1, key: ShardKey::Uid },
            timing: Timing::default(),
            drain_timeout: Duration::from_secs(20),
        })
    }

    fn now(seconds: u64) -> Now {
        Now { boot: BootTime::from_start(Duration::from_secs(seconds)), wall: Timestamp::UNIX_EPOCH }
    }

    /// Returns a Lease of a replica as the API server returns it.
    fn record(identity: &str, draft: Draft, role: Role, member: &str) -> Record {
        let config = config(identity);
        let draft = draft.in_group(&config, role).acquire(&config, now(0).wall).of_member(member);
        let mut lease: Lease = draft.into_lease();
        lease.metadata.uid = Some(if role == Role::Member { member.to_owned() } else { "shard".to_owned() });
        lease.metadata.resource_version = Some("1".to_owned());
        Record::new(lease)
    }

    #[test]
    fn a_refused_request_is_no_problem_once_another_replica_holds_the_shard() {
        let session = Session { uid: "m-a", is_stopping: false };
        let mut table = ShardTable::new(&config("a"));
        let mut view = View::default();
        view.replace(vec![record("a", Draft::create("web-a"), Role::Member, "m-a")], now(0).boot);
        assert_eq!(table.step(session, &view, now(0)).len(), 1, "the shard is free");
        let refused = LeaseError::NamespaceNotFound { namespace: "ops".into() };
        let context = Answered { session: Some(session), now: now(0).boot };
        table.responded(0, Err(RequestError::Refused(refused.clone())), context);
        assert!(table.step(session, &view, now(1)).is_empty(), "the request is repeated later");
        assert_eq!(table.problem(), Some(&refused));

        view.change(record("b", Draft::create("web-b"), Role::Member, "m-b"), now(1).boot);
        let shard = shard_lease("web", 0);
        view.change(record("b", Draft::create(&shard), Role::Shard, "m-b"), now(1).boot);
        assert!(table.step(session, &view, now(9)).is_empty(), "the shard is held by another replica");
        assert_eq!(table.problem(), None);
    }
}
