//! Acquires, renews, and releases one Lease for which this process is a candidate, like client-go's LeaderElector.

use crate::clock::BootTime;
use crate::config::Config;
use crate::error::LeaseError;
use crate::names::{LEAVING_ANNOTATION, Role, SHARDS_ANNOTATION};
use crate::record::{Draft, Record, is_newer};
use crate::request::{Now, Request, RequestError, Response};
use crate::view::Observed;
use std::sync::Arc;
use std::time::Duration;

/// The state of one Lease, without IO and without a clock.
#[derive(Debug)]
pub(crate) struct Election {
    config: Arc<Config>,
    name: String,
    kind: Kind,
    known: Known,
    /// The uid of the last Lease that the watch reported as deleted. A late response can still contain this
    /// Lease.
    deleted: Option<String>,
    /// The time at which the last successful write of this holding was sent; `None` while the Lease is not held.
    renewed_at: Option<BootTime>,
    pending: Option<Pending>,
    /// No request is sent before this time.
    retry_at: BootTime,
    /// The number of conflicts since the last success.
    conflicts: u32,
    /// The Lease has to be read by a request that is sent after this time.
    must_read: Option<BootTime>,
    is_leaving: bool,
    is_releasing: bool,
    problem: Option<LeaseError>,
}

/// The use of the Lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Any candidate takes the Lease over when it has expired.
    Leader,
    /// Only this process holds the Lease. Others delete it when it has expired, and it gets a new uid.
    Member,
}

/// The newest known version of the Lease.
#[derive(Debug)]
enum Known {
    /// It was never read.
    Unread,
    Absent,
    Present(Box<Observed>),
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    action: Action,
    sent_at: BootTime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Read,
    /// Acquires or renews the Lease.
    Hold,
    Release,
}

impl Election {
    pub(crate) fn new(config: &Arc<Config>, kind: Kind, name: String) -> Self {
        Self {
            config: Arc::clone(config),
            name,
            kind,
            known: Known::Unread,
            deleted: None,
            renewed_at: None,
            pending: None,
            retry_at: BootTime::default(),
            conflicts: 0,
            must_read: None,
            is_leaving: false,
            is_releasing: false,
            problem: None,
        }
    }

    /// Returns the time until which the Lease is held; `None` if it is not held.
    pub(crate) fn held_until(&self) -> Option<BootTime> {
        self.renewed_at.map(|sent_at| sent_at + self.config.timing.renew_deadline)
    }

    /// Ends the holding if its deadline has passed. Must be called before any other event at the same time.
    pub(crate) fn check_deadline(&mut self, now: BootTime) {
        if self.held_until().is_some_and(|deadline| deadline <= now) {
            self.renewed_at = None;
        }
    }

    /// Returns the Lease if this process wrote its current holder, also after the deadline.
    pub(crate) fn own_record(&self) -> Option<&Record> {
        match &self.known {
            Known::Present(observed) if observed.record.is_held_by(&self.config) => Some(&observed.record),
            Known::Present(_) | Known::Absent | Known::Unread => None,
        }
    }

    /// Returns the newest known version of the Lease.
    pub(crate) fn known_record(&self) -> Option<&Record> {
        match &self.known {
            Known::Present(observed) => Some(&observed.record),
            Known::Absent | Known::Unread => None,
        }
    }

    pub(crate) fn problem(&self) -> Option<&LeaseError> {
        self.problem.as_ref()
    }

    /// Discards everything that is known, because the API server was restored from a backup. No request is sent before `resume_at`.
    pub(crate) fn restored(&mut self, resume_at: BootTime) {
        self.known = Known::Unread;
        self.deleted = None;
        self.renewed_at = None;
        self.pending = None;
        self.must_read = None;
        self.conflicts = 0;
        self.retry_at = resume_at;
    }

    /// Announces that the Lease is going to be released, so that no shards are assigned to this member.
    pub(crate) fn leave(&mut self) {
        self.is_leaving = true;
    }

    /// Starts to release the Lease. The work must have been drained.
    pub(crate) fn release(&mut self) {
        self.is_releasing = true;
        self.renewed_at = None;
    }

    /// Returns true if there is nothing left to release.
    pub(crate) fn is_released(&self) -> bool {
        self.is_releasing && self.pending.is_none() && self.must_read.is_none() && self.own_record().is_none()
    }

    /// Processes a version of the Lease that the watch or a list delivered.
    ///
    /// A watch or a list can be behind the responses, and deliver the deleted predecessor of a Lease that this process has created. It
    /// is ignored by its version, which is of the same counter for all objects of a type.
    pub(crate) fn observed(&mut self, record: &Record, now: BootTime) {
        let is_predecessor = match &self.known {
            Known::Present(known) => {
                known.record.uid() != record.uid() && !is_newer(record.version(), known.record.version())
            }
            Known::Absent | Known::Unread => false,
        };
        if !is_predecessor {
            self.learn(record.clone(), now);
        }
    }

    /// Processes the deletion of the Lease with this uid.
    pub(crate) fn observed_deletion(&mut self, uid: &str) {
        let is_current = match &self.known {
            Known::Present(observed) => observed.record.uid() == uid,
            Known::Absent | Known::Unread => true,
        };
        self.deleted = Some(uid.to_owned());
        if is_current {
            self.known = Known::Absent;
            self.renewed_at = None;
        }
    }

    /// Processes a list without the Lease. The list can be older than our own write, so that the Lease is read again.
    pub(crate) fn observed_absence(&mut self, now: BootTime) {
        match &self.known {
            Known::Present(_) => self.must_read = Some(now),
            Known::Absent | Known::Unread => self.known = Known::Absent,
        }
    }

    /// Returns the next request, if one is due.
    pub(crate) fn step(&mut self, now: Now) -> Option<Request> {
        if self.wake_at().is_none_or(|due| now.boot < due) {
            return None;
        }
        let (action, request) = self.decide(now)?;
        self.pending = Some(Pending { action, sent_at: now.boot });
        Some(request)
    }

    fn decide(&self, now: Now) -> Option<(Action, Request)> {
        let read = (Action::Read, Request::Get { name: self.name.clone() });
        if self.must_read.is_some() {
            return Some(read);
        }
        let config = &*self.config;
        let observed = match &self.known {
            Known::Unread => return Some(read),
            Known::Absent if self.is_releasing => return None,
            Known::Absent => {
                let draft = self.in_group(Draft::create(&self.name)).acquire(config, now.wall);
                return Some((Action::Hold, Request::Create(Box::new(draft.into_lease()))));
            }
            Known::Present(observed) => observed,
        };
        let record = &observed.record;
        let is_own = record.is_held_by(config);
        match (is_own, self.is_releasing, self.kind) {
            (true, true, Kind::Leader) => {
                let draft = Draft::update(record).release(now.wall);
                Some((Action::Release, Request::Update(Box::new(draft.into_lease()))))
            }
            (true, true, Kind::Member) => {
                let (name, uid, version) = (self.name.clone(), record.uid().into(), record.version().into());
                Some((Action::Release, Request::Delete { name, uid, version }))
            }
            (false, true, Kind::Leader | Kind::Member) => None,
            (true, false, Kind::Leader | Kind::Member) => {
                let draft = self.in_group(Draft::update(record)).renew(config, now.wall);
                Some((Action::Hold, Request::Update(Box::new(draft.into_lease()))))
            }
            // The request is due, so that the Lease has expired or was released.
            (false, false, Kind::Leader) => {
                let draft = Draft::update(record).acquire(config, now.wall);
                Some((Action::Hold, Request::Update(Box::new(draft.into_lease()))))
            }
            // Another member should have deleted it.
            (false, false, Kind::Member) => Some(read),
        }
    }

    fn in_group(&self, draft: Draft) -> Draft {
        match self.kind {
            Kind::Leader => draft,
            Kind::Member if self.is_leaving => {
                draft.in_group(&self.config, Role::Member).annotate(LEAVING_ANNOTATION, "true")
            }
            Kind::Member => draft.in_group(&self.config, Role::Member),
        }
    }

    /// Returns the time at which the next request is due; `None` if another event has to come first.
    pub(crate) fn wake_at(&self) -> Option<BootTime> {
        if self.pending.is_some() {
            return None;
        }
        if self.must_read.is_some() {
            return Some(self.retry_at);
        }
        let due = match &self.known {
            Known::Unread => self.retry_at,
            Known::Absent if self.is_releasing => return None,
            Known::Absent => self.retry_at,
            Known::Present(observed) => self.due(observed)?,
        };
        Some(due.max(self.retry_at))
    }

    /// Returns the time at which a Lease that exists is renewed, released or acquired.
    fn due(&self, observed: &Observed) -> Option<BootTime> {
        let is_own = observed.record.is_held_by(&self.config);
        let has_conflict = matches!(self.problem, Some(LeaseError::NameInUse { .. }));
        match (is_own, self.is_releasing, self.kind) {
            (true, true, Kind::Leader | Kind::Member) => Some(self.retry_at),
            (true, false, Kind::Member)
                if self.is_leaving && observed.record.annotation(LEAVING_ANNOTATION).is_none() =>
            {
                Some(self.retry_at)
            }
            (true, false, Kind::Leader | Kind::Member) => {
                // A failed attempt is retried at `retry_at`.
                let next = self.renewed_at.map(|renewed_at| renewed_at + self.config.timing.renew_interval());
                Some(next.unwrap_or(self.retry_at))
            }
            (false, false, Kind::Leader) if !has_conflict => Some(self.available_at(observed)),
            (false, false, Kind::Member) => Some(observed.expires_at(self.config.timing.lease_duration)),
            (false, _, Kind::Leader | Kind::Member) => None,
        }
    }

    /// Returns the time at which the Lease of another holder can be acquired.
    fn available_at(&self, observed: &Observed) -> BootTime {
        match observed.record.holder() {
            None => self.retry_at,
            Some(_) => observed.expires_at(self.config.timing.lease_duration),
        }
    }

    /// Processes the result of the last request.
    pub(crate) fn responded(&mut self, response: Response, now: BootTime) {
        let Some(Pending { action, sent_at }) = self.pending.take() else { return };
        let retry_period = self.config.timing.retry_period;
        match response {
            Ok(record) => {
                self.has_read(sent_at);
                self.succeeded(record, Pending { action, sent_at }, now);
            }
            Err(RequestError::NotFound) => {
                self.known = Known::Absent;
                self.has_read(sent_at);
                self.renewed_at = None;
                self.clear_problem();
                self.retry_at = now;
            }
            Err(RequestError::Conflict) => {
                self.must_read = Some(now);
                self.conflicts = self.conflicts.saturating_add(1);
                // The first conflict is retried at once. Repeated conflicts of candidates increase the delay.
                self.retry_at = now + (retry_period / 8).saturating_mul(self.conflicts.min(8) - 1);
            }
            Err(RequestError::Refused(problem)) => {
                self.problem = Some(problem);
                self.retry_at = now + retry_period;
            }
            Err(RequestError::Unknown) => self.retry_at = now + self.retry_delay(),
        }
    }

    fn succeeded(&mut self, record: Record, pending: Pending, now: BootTime) {
        self.retry_at = now;
        match pending.action {
            Action::Read => {
                self.learn(record, now);
                if let (Kind::Member, Known::Present(_), None) = (self.kind, &self.known, self.own_record()) {
                    self.retry_at = now + self.config.timing.retry_period;
                }
            }
            Action::Hold => {
                self.conflicts = 0;
                self.problem = None;
                let uid = record.uid().to_owned();
                self.learn(record, now);
                // The watch may already have delivered a later holder, or another Lease.
                let is_held = self.own_record().is_some_and(|own| own.uid() == uid);
                if is_held && !self.is_releasing {
                    self.renewed_at = Some(pending.sent_at);
                    self.check_deadline(now);
                }
            }
            Action::Release => match self.kind {
                Kind::Leader => self.learn(record, now),
                Kind::Member => self.known = Known::Absent,
            },
        }
    }

    fn has_read(&mut self, sent_at: BootTime) {
        self.must_read = self.must_read.filter(|since| *since > sent_at);
    }

    /// Returns the delay of the next attempt, which is shorter when the deadline is closer.
    fn retry_delay(&self) -> Duration {
        let retry_period = self.config.timing.retry_period;
        if self.renewed_at.is_some() { retry_period / 4 } else { retry_period }
    }

    /// Records a version of the Lease unless a newer one is known, or it was deleted. Uids are not used again.
    fn learn(&mut self, record: Record, now: BootTime) {
        if self.deleted.as_deref() == Some(record.uid()) {
            return;
        }
        let mut other_instance = false;
        let mut is_same_lease = true;
        if let Known::Present(known) = &self.known {
            if !known.record.is_older_than(&record) {
                return;
            }
            is_same_lease = known.record.uid() == record.uid();
            other_instance = self.is_other_instance(&known.record)
                && self.is_other_instance(&record)
                && is_same_lease
                && known.record.renew_time() != record.renew_time();
        }
        self.inspect(&record);
        if other_instance {
            let (identity, lease) = (self.config.identity.clone(), self.name.clone());
            self.problem = Some(LeaseError::IdentityInUse { identity, lease });
        }
        // A renewal holds only the Lease that was written, not another one of the same name.
        if !record.is_held_by(&self.config) || !is_same_lease {
            self.renewed_at = None;
        }
        self.known = Known::Present(Box::new(Observed { record, changed_at: now }));
    }

    /// Returns true if another process with the same identity holds the Lease.
    fn is_other_instance(&self, record: &Record) -> bool {
        record.holder() == Some(&self.config.identity) && !record.is_held_by(&self.config)
    }

    /// Detects a Lease that is not used for an election.
    fn inspect(&mut self, record: &Record) {
        if self.kind == Kind::Leader && record.has_role(Role::Group) {
            let shards = record.annotation(SHARDS_ANNOTATION).unwrap_or("some");
            self.problem = Some(LeaseError::NameInUse {
                namespace: self.config.namespace.clone(),
                name: self.name.clone(),
                reason: format!("it belongs to a group of {shards} shards"),
            });
        } else if !self.is_other_instance(record) {
            self.clear_problem();
        }
    }

    fn clear_problem(&mut self) {
        self.problem = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Mode;
    use crate::range::ShardKey;
    use crate::timing::Timing;
    use k8s_openapi::api::coordination::v1::Lease;
    use k8s_openapi::jiff::Timestamp;

    fn config() -> Arc<Config> {
        Arc::new(Config {
            name: "web".into(),
            namespace: "default".into(),
            identity: "a".into(),
            instance: "first".into(),
            mode: Mode::Shards { count: 4, key: ShardKey::Namespace },
            timing: Timing::default(),
            drain_timeout: Duration::from_secs(20),
        })
    }

    fn at(seconds: u64) -> Now {
        Now { boot: BootTime::from_start(Duration::from_secs(seconds)), wall: Timestamp::UNIX_EPOCH }
    }

    /// Returns a version of the Lease as the server stores it.
    fn stored(mut lease: Lease, uid: &str, version: u64) -> Record {
        lease.metadata.uid = Some(uid.into());
        lease.metadata.resource_version = Some(version.to_string());
        Record::new(lease)
    }

    /// Creates the Lease, which is held since second 1.
    fn held(election: &mut Election) -> Record {
        election.observed_absence(at(1).boot);
        let Some(Request::Create(lease)) = election.step(at(1)) else { panic!("the Lease is created") };
        let record = stored(*lease, "uid-1", 5);
        election.responded(Ok(record.clone()), at(1).boot);
        assert_eq!(election.held_until(), Some(at(11).boot));
        record
    }

    #[test]
    fn a_renewal_that_a_deletion_overtook_does_not_hold_the_lease() {
        let mut election = Election::new(&config(), Kind::Member, "web-member".into());
        let record = held(&mut election);
        let Some(Request::Update(lease)) = election.step(at(6)) else { panic!("the Lease is renewed") };
        election.observed_deletion(record.uid());
        assert_eq!(election.held_until(), None);
        election.responded(Ok(stored(*lease, "uid-1", 6)), at(7).boot);
        assert_eq!(election.held_until(), None);
        assert!(matches!(election.step(at(7)), Some(Request::Create(_))), "a new Lease is created at once");
    }

    #[test]
    fn a_read_that_a_deletion_overtook_does_not_restore_the_lease_of_another_process() {
        let mut other = Election::new(&config(), Kind::Member, "web-member".into());
        let record = held(&mut other);
        let restarted = Arc::new(Config { instance: "second".into(), ..Config::clone(&config()) });
        let mut election = Election::new(&restarted, Kind::Member, "web-member".into());
        election.observed(&record, at(10).boot);
        assert!(matches!(election.step(at(26)), Some(Request::Get { .. })), "the Lease has expired");
        election.observed_deletion(record.uid());
        election.responded(Ok(record), at(27).boot);
        assert!(matches!(election.step(at(27)), Some(Request::Create(_))), "it is not waited for again");
    }

    /// Replaces the deleted Lease `uid-1` by `uid-2`, which is held since second 9.
    fn replaced(election: &mut Election) {
        assert!(matches!(election.step(at(8)), Some(Request::Update(_))), "the Lease is renewed");
        election.responded(Err(RequestError::NotFound), at(8).boot);
        let Some(Request::Create(lease)) = election.step(at(9)) else { panic!("the Lease is created again") };
        election.responded(Ok(stored(*lease, "uid-2", 9)), at(9).boot);
    }

    fn own_uid(election: &Election) -> Option<&str> {
        election.own_record().map(Record::uid)
    }

    #[test]
    fn a_list_that_is_behind_does_not_replace_a_new_lease_by_its_predecessor() {
        let mut election = Election::new(&config(), Kind::Member, "web-member".into());
        let old = held(&mut election);
        replaced(&mut election);
        election.observed(&old, at(10).boot);
        assert_eq!(own_uid(&election), Some("uid-2"));
        assert_eq!(election.held_until(), Some(at(19).boot));
        election.observed_deletion(old.uid());
        assert_eq!(own_uid(&election), Some("uid-2"));
    }

    #[test]
    fn a_renewal_does_not_hold_another_lease_of_the_same_name() {
        let mut election = Election::new(&config(), Kind::Member, "web-member".into());
        let old = held(&mut election);
        replaced(&mut election);
        // Versions of an API server that was restored from a backup are lower.
        let restored = stored(Draft::update(&old).into_lease(), "uid-1", 2);
        election.observed_absence(at(10).boot);
        assert!(matches!(election.step(at(11)), Some(Request::Get { .. })));
        election.responded(Ok(restored), at(11).boot);
        assert_eq!(own_uid(&election), Some("uid-1"));
        assert_eq!(election.held_until(), None);
    }

    #[test]
    fn a_renewal_counts_from_the_time_at_which_it_was_first_sent() {
        for (answered, held_until) in [(15, Some(at(16).boot)), (16, None)] {
            let mut election = Election::new(&config(), Kind::Leader, "web".into());
            held(&mut election);
            let Some(Request::Update(lease)) = election.step(at(6)) else { panic!("the Lease is renewed") };
            // The client can repeat the request at any time in between.
            election.responded(Ok(stored(*lease, "uid-1", 6)), at(answered).boot);
            assert_eq!(election.held_until(), held_until, "answered at {answered} s");
        }
    }
}
