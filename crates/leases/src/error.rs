//! Errors of the configuration, and problems that stop a replica from acquiring leases.

use std::time::Duration;

/// An invalid setting, which is detected before a request is sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// There are no shards.
    #[error("shard group {name:?} has 0 shards; use at least 1")]
    ZeroShards {
        /// The name of the group.
        name: String,
    },
    /// There are too many shards.
    #[error("shard group {name:?} has {count} shards; use at most {max}")]
    TooManyShards {
        /// The name of the group.
        name: String,
        /// The requested number of shards.
        count: u32,
        /// The largest number of shards.
        max: u32,
    },
    /// The name cannot be the name of a Lease.
    #[error("invalid lease name {name:?}: {reason}")]
    InvalidName {
        /// The name.
        name: String,
        /// The violated rule.
        reason: &'static str,
    },
    /// A Lease name derived from the name is too long.
    #[error(
        "lease name {name:?} is too long: {longest:?} would have {length} characters, and the limit is 253; shorten it by {excess}",
        excess = length - 253
    )]
    NameTooLong {
        /// The name.
        name: String,
        /// The longest Lease name that is derived from it.
        longest: String,
        /// The length of the longest Lease name.
        length: usize,
    },
    /// The namespace cannot be the name of a namespace.
    #[error(
        "invalid namespace {namespace:?}: use 1 to 63 lower case letters, digits and '-', with a letter or digit at both ends"
    )]
    InvalidNamespace {
        /// The namespace.
        namespace: String,
    },
    /// The identity is empty or too long.
    #[error("invalid identity {identity:?}: use 1 to 253 characters without control characters")]
    InvalidIdentity {
        /// The identity.
        identity: String,
    },
    /// A duration is zero.
    #[error(
        "lease duration {lease_duration:?}, renew deadline {renew_deadline:?} and retry period {retry_period:?} must be greater than zero"
    )]
    ZeroDuration {
        /// The lease duration.
        lease_duration: Duration,
        /// The renew deadline.
        renew_deadline: Duration,
        /// The retry period.
        retry_period: Duration,
    },
    /// The lease duration has a fraction of a second, or is too long for a Lease.
    #[error(
        "lease duration {lease_duration:?} must be a whole number of seconds, at most 2147483647, as leaseDurationSeconds of a Lease is a 32-bit integer"
    )]
    LeaseDurationNotSeconds {
        /// The lease duration.
        lease_duration: Duration,
    },
    /// The renew deadline is not less than the lease duration.
    #[error("renew deadline {renew_deadline:?} must be less than the lease duration {lease_duration:?}")]
    RenewDeadlineTooLong {
        /// The renew deadline.
        renew_deadline: Duration,
        /// The lease duration.
        lease_duration: Duration,
    },
    /// The retry period is too long for the renew deadline.
    #[error(
        "retry period {retry_period:?} times 1.2 must be less than the renew deadline {renew_deadline:?}"
    )]
    RetryPeriodTooLong {
        /// The retry period.
        retry_period: Duration,
        /// The renew deadline.
        renew_deadline: Duration,
    },
}

/// A problem that retries alone do not solve.
///
/// The replica repeats the refused request at each retry period. Leases that it holds stay held as long as they are renewed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LeaseError {
    /// The API server denied a request (403).
    #[error(
        "forbidden: {message}; leases in namespace {namespace:?} need this Role, bound to the service account of the pod:\n{role}"
    )]
    Forbidden {
        /// The namespace of the Leases.
        namespace: String,
        /// The message of the API server.
        message: String,
        /// The manifest of the Role that is needed.
        role: String,
    },
    /// The namespace does not exist.
    #[error(
        "namespace {namespace:?} not found; create it, or set the namespace of the leases to an existing one"
    )]
    NamespaceNotFound {
        /// The namespace.
        namespace: String,
    },
    /// Running members of the group use another number of shards.
    #[error(
        "shard group {group:?} has {theirs} shards, and this replica is configured with {ours}; \
         it holds no shards until all other members have stopped: {members}",
        members = members.join(", ")
    )]
    ShardCountMismatch {
        /// The name of the group.
        group: String,
        /// The number of shards of this replica.
        ours: u32,
        /// The number of shards of the group.
        theirs: u32,
        /// The identities of the members that use another number, as far as known.
        members: Vec<String>,
    },
    /// Running members of the group shard by another field.
    #[error(
        "shard group {group:?} is sharded by {theirs}, and this replica by {ours}; \
         it holds no shards until all other members have stopped: {members}",
        members = members.join(", ")
    )]
    ShardKeyMismatch {
        /// The name of the group.
        group: String,
        /// The field of this replica.
        ours: String,
        /// The field of the group.
        theirs: String,
        /// The identities of the members that use another field, as far as known.
        members: Vec<String>,
    },
    /// The Lease belongs to another kind of group.
    #[error("Lease {namespace}/{name} is in use: {reason}; use another name for one of the two")]
    NameInUse {
        /// The namespace of the Lease.
        namespace: String,
        /// The name of the Lease.
        name: String,
        /// The purpose that the Lease is used for.
        reason: String,
    },
    /// Another process renews a Lease with the same identity.
    #[error(
        "identity {identity:?} is used by another process, which renews Lease {lease:?}; give each replica an identity of its own"
    )]
    IdentityInUse {
        /// The identity.
        identity: String,
        /// The name of the Lease.
        lease: String,
    },
    /// The API server rejected a Lease as invalid.
    #[error("Lease {name:?} was rejected: {message}")]
    Rejected {
        /// The name of the Lease.
        name: String,
        /// The message of the API server.
        message: String,
    },
    /// The leases were stopped.
    #[error("leases were stopped")]
    Stopped,
}
