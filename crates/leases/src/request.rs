//! Requests of the state machine, and their results.

use crate::clock::BootTime;
use crate::error::LeaseError;
use crate::record::Record;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::jiff::Timestamp;

/// The current time, of both kinds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    /// For deadlines and expiry.
    pub(crate) boot: BootTime,
    /// For the times in a Lease, which are for people only.
    pub(crate) wall: Timestamp,
}

/// The part of the state machine that a request belongs to. There is at most one request of each at a time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    /// The leader Lease, or the member Lease of this replica.
    Election,
    /// The Lease of the shard group.
    Group,
    /// The Lease of a shard.
    Shard(u32),
    /// The expired member Lease with this name.
    ExpiredMember(String),
}

/// A request to the API server.
#[derive(Clone, Debug)]
pub(crate) enum Request {
    Get {
        name: String,
    },
    Create(Box<Lease>),
    /// Fails with a conflict unless the Lease has the version of the object.
    Update(Box<Lease>),
    /// Fails with a conflict unless the Lease has this uid and version.
    Delete {
        name: String,
        uid: String,
        version: String,
    },
}

/// A request with its target.
#[derive(Clone, Debug)]
pub(crate) struct Outgoing {
    pub(crate) target: Target,
    pub(crate) request: Request,
}

/// The result of a request: the Lease as it is now, or was when it was deleted.
pub(crate) type Response = Result<Record, RequestError>;

/// The reason why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequestError {
    /// The Lease has another version, or exists already.
    Conflict,
    /// The Lease does not exist.
    NotFound,
    /// Retries alone do not help.
    Refused(LeaseError),
    /// No response, or a temporary error. The write may have been applied, or may still be.
    Unknown,
}
