//! Decides whether an object is deleted at once, or after its finalizers or its grace period.

use crate::object::metadata;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

/// The finalizer of an object that waits for the deletion of its dependents.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer of an object that waits until its dependents are orphaned.
pub(crate) const ORPHAN: &str = "orphan";

/// The preconditions of a deletion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Preconditions {
    /// The uid.
    pub(crate) uid: Option<String>,
    /// The resourceVersion.
    pub(crate) resource_version: Option<String>,
}

/// The propagation policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    /// Background: the dependents are deleted after the object.
    Background,
    /// Foreground: the dependents are deleted before the object.
    Foreground,
    /// Orphan: the dependents remain, without an owner.
    Orphan,
    /// The client specifies no policy. The policy of an earlier deletion applies, or else the default of the
    /// kind.
    Unspecified {
        /// True if the dependents of the kind are orphaned by default.
        orphans: bool,
    },
}

/// The finalizers and the grace period of a deletion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    /// The finalizers of the object after the deletion request.
    pub(crate) finalizers: Vec<String>,
    /// The grace period in seconds; 0 for none.
    pub(crate) grace: i64,
}

/// The result of a deletion.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Decision {
    /// Remove the object.
    Remove,
    /// Store this state of the object, which waits for its deletion.
    MarkDeleting(Value),
    /// Do nothing, because the object already waits for its deletion.
    AlreadyDeleting,
}

/// Reports a failed precondition, with the message of the response (409).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Mismatch {
    /// The uid differs.
    #[error("the UID in the precondition ({wanted}) does not match the UID in record ({found})")]
    Uid {
        /// The expected value.
        wanted: String,
        /// The actual value.
        found: String,
    },
    /// The resourceVersion differs.
    #[error(
        "the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record ({found})"
    )]
    Version {
        /// The expected value.
        wanted: String,
        /// The actual value.
        found: String,
    },
}

impl Terms {
    /// Returns the terms of a deletion without a grace period.
    pub(crate) fn at_once(object: &Value, policy: Policy) -> Self {
        let has = |finalizer: &str| metadata::finalizers(object).any(|one| one == finalizer);
        let collected = match policy {
            Policy::Background => None,
            Policy::Foreground => Some(FOREGROUND),
            Policy::Orphan => Some(ORPHAN),
            Policy::Unspecified { .. } if has(ORPHAN) => Some(ORPHAN),
            Policy::Unspecified { .. } if has(FOREGROUND) => Some(FOREGROUND),
            Policy::Unspecified { orphans } => orphans.then_some(ORPHAN),
        };
        let others = metadata::finalizers(object).filter(|one| *one != ORPHAN && *one != FOREGROUND);
        Self { finalizers: others.chain(collected).map(str::to_owned).collect(), grace: 0 }
    }
}

/// Decides the result of a deletion at this time.
///
/// # Errors
/// Returns an error if a precondition fails.
pub(crate) fn decide(
    object: &Value,
    demands: &Preconditions,
    terms: &Terms,
    now: &str,
) -> Result<Decision, Mismatch> {
    let found = metadata::text(object, "uid").to_owned();
    if let Some(wanted) = demands.uid.clone().filter(|wanted| *wanted != found) {
        return Err(Mismatch::Uid { wanted, found });
    }
    let found = metadata::text(object, "resourceVersion").to_owned();
    if let Some(wanted) = demands.resource_version.clone().filter(|wanted| *wanted != found) {
        return Err(Mismatch::Version { wanted, found });
    }
    if terms.finalizers.is_empty() && terms.grace == 0 {
        return Ok(Decision::Remove);
    }
    let is_shorter = terms.grace < metadata::number(object, "deletionGracePeriodSeconds");
    let is_same = metadata::finalizers(object).eq(terms.finalizers.iter().map(String::as_str));
    if metadata::is_deleting(object) && is_same && !is_shorter {
        return Ok(Decision::AlreadyDeleting);
    }
    Ok(Decision::MarkDeleting(marked(object, terms, now)))
}

/// Returns true if an updated object has no finalizers and no grace period left, so that it is removed.
pub(crate) fn is_finished(object: &Value) -> bool {
    metadata::is_deleting(object)
        && metadata::finalizers(object).next().is_none()
        && metadata::number(object, "deletionGracePeriodSeconds") == 0
}

/// Returns the state of a pod in the response to its deletion: it is deleted gracefully, even without a grace period.
pub(crate) fn last_state(pod: &Value, terms: &Terms, now: &str) -> Value {
    match metadata::is_deleting(pod) && metadata::number(pod, "deletionGracePeriodSeconds") == 0 {
        true => pod.clone(),
        false => marked(pod, terms, now),
    }
}

fn marked(object: &Value, terms: &Terms, now: &str) -> Value {
    let mut object = object.clone();
    let generation = metadata::number(&object, "generation");
    let was_deleting = metadata::is_deleting(&object);
    let is_shorter = terms.grace < metadata::number(&object, "deletionGracePeriodSeconds");
    let meta = metadata::of(&mut object);
    meta.insert("finalizers".to_owned(), json!(terms.finalizers));
    if was_deleting && !is_shorter {
        return object;
    }
    let end = now
        .parse::<Timestamp>()
        .ok()
        .and_then(|now| now.checked_add(SignedDuration::from_secs(terms.grace)).ok());
    let end = end.map_or_else(|| now.to_owned(), |end| end.to_string());
    meta.insert("deletionTimestamp".to_owned(), end.into());
    meta.insert("deletionGracePeriodSeconds".to_owned(), terms.grace.into());
    if generation > 0 && !was_deleting {
        meta.insert("generation".to_owned(), generation.saturating_add(1).into());
    }
    object
}
