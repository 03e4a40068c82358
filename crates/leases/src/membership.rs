//! The agreement of all members of a shard group on the number of shards and the hashed field.
//!
//! The group has a Lease of its own with both settings. A member writes to it after it has created its member Lease and before it
//! acquires a shard. The settings change only while no member with other settings exists. As both are conditional writes to the same
//! object, a member that joins and a member that changes the settings cannot both succeed without the later one having seen the earlier.

use crate::clock::BootTime;
use crate::config::{Config, Mode};
use crate::error::LeaseError;
use crate::names::{KEY_ANNOTATION, MEMBER_ANNOTATION, Role};
use crate::record::{Draft, Record};
use crate::request::{Request, RequestError, Response};
use crate::view::View;
use std::sync::Arc;

/// The progress of joining the group.
#[derive(Debug)]
pub(crate) struct Membership {
    config: Arc<Config>,
    /// The uid of the member Lease that has joined.
    joined: Option<String>,
    pending: Option<Pending>,
    retry_at: BootTime,
    /// The group Lease exists although the view does not have it.
    must_read: bool,
    problem: Option<LeaseError>,
}

#[derive(Debug)]
enum Pending {
    /// Joins with the member Lease of this uid.
    Join(String),
    Read,
}

impl Membership {
    pub(crate) fn new(config: &Arc<Config>) -> Self {
        Self {
            config: Arc::clone(config),
            joined: None,
            pending: None,
            retry_at: BootTime::default(),
            must_read: false,
            problem: None,
        }
    }

    /// Returns true if the member Lease with this uid has joined.
    pub(crate) fn has_joined(&self, uid: &str) -> bool {
        self.joined.as_deref() == Some(uid)
    }

    pub(crate) fn problem(&self) -> Option<&LeaseError> {
        self.problem.as_ref()
    }

    pub(crate) fn wake_at(&self) -> Option<BootTime> {
        self.pending.is_none().then_some(self.retry_at)
    }

    /// Returns a request that joins the group with the member Lease `uid`, if it has not joined and one is due.
    pub(crate) fn step(&mut self, uid: &str, view: &View, now: BootTime) -> Option<Request> {
        if self.has_joined(uid) || self.pending.is_some() || now < self.retry_at || !view.is_listed() {
            return None;
        }
        let group = view.get(&self.config.name).map(|observed| &observed.record);
        if let Some(problem) = self.conflict(group, view) {
            // It is checked again after each change of the view.
            self.problem = Some(problem);
            return None;
        }
        if std::mem::take(&mut self.must_read) && group.is_none() {
            self.pending = Some(Pending::Read);
            return Some(Request::Get { name: self.config.name.clone() });
        }
        self.pending = Some(Pending::Join(uid.to_owned()));
        let draft = group.map_or_else(|| Draft::create(&self.config.name), Draft::update);
        let draft = draft.in_group(&self.config, Role::Group).annotate(MEMBER_ANNOTATION, uid);
        let lease = Box::new(draft.into_lease());
        Some(if group.is_some() { Request::Update(lease) } else { Request::Create(lease) })
    }

    pub(crate) fn responded(&mut self, response: Response, now: BootTime) {
        let Some(pending) = self.pending.take() else { return };
        let retry_period = self.config.timing.retry_period;
        match (response, pending) {
            (Ok(_), Pending::Join(uid)) => {
                self.joined = Some(uid);
                self.problem = None;
            }
            (Ok(record), Pending::Read) => {
                self.problem = (!record.has_role(Role::Group)).then(|| self.name_in_use(record.holder()));
                self.retry_at = now + retry_period / 2;
            }
            (Err(RequestError::Conflict), _) => {
                // The watch delivers the newer version, unless the Lease is not one of a shard group.
                self.must_read = true;
                self.retry_at = now + retry_period / 8;
            }
            (Err(RequestError::NotFound), _) => self.retry_at = now + retry_period / 8,
            (Err(RequestError::Unknown), _) => self.retry_at = now + retry_period / 2,
            (Err(RequestError::Refused(problem)), _) => {
                self.problem = Some(problem);
                self.retry_at = now + retry_period;
            }
        }
    }

    fn name_in_use(&self, holder: Option<&str>) -> LeaseError {
        LeaseError::NameInUse {
            namespace: self.config.namespace.clone(),
            name: self.config.name.clone(),
            reason: match holder {
                Some(holder) => format!("it belongs to a leader election, and {holder:?} holds it"),
                None => "it is not the Lease of a shard group".to_owned(),
            },
        }
    }

    /// Returns the reason why this replica cannot join. All members that have joined before `group` was written are in the view.
    fn conflict(&self, group: Option<&Record>, view: &View) -> Option<LeaseError> {
        let Mode::Shards { count, key } = self.config.mode else { return None };
        if let Some(holder) = group.and_then(Record::holder) {
            return Some(self.name_in_use(Some(holder)));
        }
        let others = |differs: &dyn Fn(&Record) -> bool| -> Vec<Record> {
            view.members()
                .map(|observed| &observed.record)
                .filter(|record| differs(record))
                .cloned()
                .collect()
        };
        let identities = |records: &[Record]| {
            records.iter().map(|record| record.holder().unwrap_or(record.name()).to_owned()).collect()
        };
        let by_count = others(&|record| record.shard_count() != Some(count));
        if let Some(first) = by_count.first() {
            return Some(LeaseError::ShardCountMismatch {
                group: self.config.name.clone(),
                ours: count,
                theirs: first.shard_count().unwrap_or(0),
                members: identities(&by_count),
            });
        }
        let by_key = others(&|record| record.annotation(KEY_ANNOTATION) != Some(key.name()));
        by_key.first().map(|first| LeaseError::ShardKeyMismatch {
            group: self.config.name.clone(),
            ours: key.name().to_owned(),
            theirs: first.annotation(KEY_ANNOTATION).unwrap_or("unknown").to_owned(),
            members: identities(&by_key),
        })
    }
}
