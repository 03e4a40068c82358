//! The errors of a controller.

use crate::{informer::SyncError, subscription::AddHandlerError};
use kube_informer_wire::Key;

/// The reason why a controller did not start, or ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ControllerError {
    /// A cache cannot sync. With an incomplete cache, a controller could delete objects that are in use.
    #[error(transparent)]
    Sync(#[from] SyncError),
    /// An informer was not started, so that the controller would wait forever.
    #[error("informer {informer} was not started; call `start` before the controller runs")]
    #[non_exhaustive]
    NotStarted {
        /// The name of the informer.
        informer: String,
    },
    /// An informer follows leases, and the controller has none or others, so that it would reconcile without a lease or wait
    /// forever.
    #[error(
        "informer {informer} follows the leases {followed}, but the controller {}; pass the same `Leases` to `InformerBuilder::shards` and `Controller::leases`",
        leases.as_ref().map_or_else(|| "has no leases".to_owned(), |leases| format!("has the leases {leases}"))
    )]
    #[non_exhaustive]
    DifferentLeases {
        /// The name of the informer.
        informer: String,
        /// The leases that the informer follows: their name and the identity of the replica.
        followed: String,
        /// The leases of the controller; `None` if it has none.
        leases: Option<String>,
    },
    /// An informer was stopped before the start, or there is no tokio runtime.
    #[error(transparent)]
    AddHandler(#[from] AddHandlerError),
    /// An informer was stopped.
    #[error("an informer was stopped")]
    Stopped,
    /// The concurrency is zero.
    #[error("invalid concurrency 0: a controller needs at least one worker")]
    NoWorkers,
    /// `owns` was called for a source that does not describe its kind.
    #[error(
        "cannot find owners of kind {resource:?}: expected a description such as \"apps/v1 Deployment\"; use `watches` with a mapper"
    )]
    #[non_exhaustive]
    UnknownOwnerKind {
        /// The description of the source.
        resource: String,
    },
    /// Reconciles were still running at the shutdown deadline, and were dropped.
    #[error("{} reconciles were dropped at the shutdown deadline: {}", keys.len(), list(keys))]
    #[non_exhaustive]
    ShutdownDeadline {
        /// The keys.
        keys: Vec<Key>,
    },
}

/// The controller has ended, so that no key can be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the controller has ended")]
pub struct ControllerEnded;

/// Lists the first keys.
fn list(keys: &[Key]) -> String {
    const MAX_LISTED: usize = 5;
    let listed: Vec<_> = keys.iter().take(MAX_LISTED).map(Key::as_str).collect();
    let more = if keys.len() > MAX_LISTED { ", .." } else { "" };
    format!("{}{more}", listed.join(", "))
}
