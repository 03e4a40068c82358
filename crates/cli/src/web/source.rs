//! The interface to the sources of changes: live caches or a recorded history.

use super::{change::ObjectId, log::ChangeLog};
use kube_informer_wire::Key;
use serde::Serialize;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, RwLockReadGuard},
};
use tokio::sync::watch;

/// The current state: later than every change.
pub(super) const NOW: i64 = i64::MAX;

/// A source of changes: live caches or a recorded history.
///
/// Functions may read files and decode objects, so they are called on threads that may block.
pub(super) trait ChangeSource: fmt::Debug + Send + Sync {
    /// Returns the kinds, in the order of their positions. Kinds are added at the end.
    fn kinds(&self) -> Vec<KindInfo>;

    /// Returns the changes.
    fn log(&self) -> RwLockReadGuard<'_, ChangeLog>;

    /// Returns a channel with the number that the next change gets.
    fn progress(&self) -> watch::Receiver<u64>;

    /// Returns the keys of the objects of a kind that existed at a moment, in order.
    fn keys_at(&self, kind: usize, time: i64) -> Result<Arc<[Key]>, SourceError>;

    /// Returns the state of an object at a moment; `None` if it did not exist.
    fn state_at(&self, object: &ObjectId, time: i64) -> Result<Option<Value>, SourceError>;

    /// Returns the objects that exist or existed with this owner.
    fn children(&self, owner: &Owner) -> Vec<ObjectId>;

    /// Returns the health of the source.
    fn status(&self) -> Status;
}

/// A kind, as far as the page needs it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct KindInfo {
    /// The name of the resource, such as `deployments.apps`.
    pub(super) resource: String,
    /// The kind, such as `Deployment`.
    pub(super) kind: String,
    #[serde(skip)]
    pub(super) is_secret: bool,
}

/// An owner as owner references name it.
#[derive(Clone, Debug)]
pub(super) struct Owner {
    pub(super) kind: String,
    pub(super) namespace: Option<String>,
    pub(super) name: String,
}

impl Owner {
    /// Returns `Kind/name`.
    pub(super) fn label(&self) -> String {
        format!("{}/{}", self.kind, self.name)
    }
}

/// A state that cannot be read.
#[derive(Debug)]
pub(super) struct SourceError(pub(super) String);

/// The health of the source.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Status {
    /// `live` or `recorded`.
    pub(super) mode: &'static str,
    /// The server or the folder.
    pub(super) server: String,
    /// What restricts the view: context, namespaces and selectors.
    pub(super) scope: String,
    /// The reasons why the shown state may be outdated; empty if it is current.
    pub(super) stale: Vec<String>,
    /// The progress of reading a recorded history, from 0 to 1.
    pub(super) loaded: f64,
    pub(super) kinds: Vec<KindStatus>,
    pub(super) gaps: Vec<GapInfo>,
    /// The fault that a demo server injects.
    pub(super) notice: Option<String>,
}

/// The health of one kind.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct KindStatus {
    pub(super) resource: String,
    pub(super) phase: &'static str,
    pub(super) objects: u64,
    pub(super) version: String,
    /// Seconds that the oldest change has waited to be shown.
    pub(super) lag: f64,
    pub(super) events: u64,
    /// The number of complete lists, by LIST or by stream.
    pub(super) lists: u64,
    pub(super) relists: BTreeMap<String, u64>,
    pub(super) errors: BTreeMap<String, u64>,
    pub(super) bytes: u64,
    pub(super) error: Option<String>,
    /// Seconds since the last response of the server.
    pub(super) received: Option<f64>,
    pub(super) subscribers: Vec<Subscriber>,
}

/// A subscriber of an informer.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Subscriber {
    pub(super) name: String,
    /// The number of events that are waiting for it.
    pub(super) depth: u64,
}

/// A time in which changes may be missing.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct GapInfo {
    pub(super) resource: Option<String>,
    pub(super) from: i64,
    pub(super) to: Option<i64>,
    pub(super) reason: String,
}

/// Returns whether a kind is a Secret under any of its names. A server chooses the names.
pub(super) fn is_secret(names: &[&str]) -> bool {
    names.iter().any(|name| ["secret", "secrets"].iter().any(|secret| name.eq_ignore_ascii_case(secret)))
}
