//! Whether an object that is to be deleted goes at once, or waits for its finalizers.

use crate::object::metadata;
use serde_json::Value;

/// What a client demands of the object that it deletes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Preconditions {
    /// It must be this very object.
    pub(crate) uid: Option<String>,
    /// It must not have changed since.
    pub(crate) resource_version: Option<String>,
}

/// What becomes of an object that is to be deleted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Decision {
    /// It goes.
    Remove,
    /// It waits for its finalizers, in this state.
    MarkDeleting(Value),
    /// It is waiting already.
    AlreadyDeleting,
}

/// An object that is not what the client demanded; the answer is 409 with this text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Mismatch {
    /// It is another object of the same name.
    #[error("Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}")]
    Uid {
        /// What the client demanded.
        wanted: String,
        /// What the object has.
        found: String,
    },
    /// It has changed.
    #[error(
        "Precondition failed: ResourceVersion in precondition: {wanted}, ResourceVersion in object meta: {found}"
    )]
    Version {
        /// What the client demanded.
        wanted: String,
        /// What the object has.
        found: String,
    },
}

/// Decides what becomes of an object that is deleted at this time.
///
/// No kubelet ever ends a pod here, so that grace periods are not waited for.
///
/// # Errors
/// If the object is not what the client demands.
pub(crate) fn decide(object: &Value, demands: &Preconditions, now: &str) -> Result<Decision, Mismatch> {
    let found = metadata::text(object, "uid").to_owned();
    if let Some(wanted) = demands.uid.clone().filter(|wanted| *wanted != found) {
        return Err(Mismatch::Uid { wanted, found });
    }
    let found = metadata::text(object, "resourceVersion").to_owned();
    if let Some(wanted) = demands.resource_version.clone().filter(|wanted| *wanted != found) {
        return Err(Mismatch::Version { wanted, found });
    }
    if metadata::finalizers(object).next().is_none() {
        return Ok(Decision::Remove);
    }
    if metadata::is_deleting(object) {
        return Ok(Decision::AlreadyDeleting);
    }
    Ok(Decision::MarkDeleting(marked(object, now)))
}

/// Whether an object that was written has nothing left to wait for, and goes.
pub(crate) fn is_finished(object: &Value) -> bool {
    metadata::is_deleting(object) && metadata::finalizers(object).next().is_none()
}

fn marked(object: &Value, now: &str) -> Value {
    let mut object = object.clone();
    let generation = metadata::number(&object, "generation");
    let meta = metadata::of(&mut object);
    meta.insert("deletionTimestamp".to_owned(), now.into());
    meta.insert("deletionGracePeriodSeconds".to_owned(), 0.into());
    if generation > 0 {
        meta.insert("generation".to_owned(), generation.saturating_add(1).into());
    }
    object
}
