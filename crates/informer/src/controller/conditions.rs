//! Status conditions.

use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
    jiff::Timestamp,
};
use kube_core::Resource;

/// The status of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionStatus {
    /// The condition holds.
    True,
    /// The condition does not hold.
    False,
    /// The controller does not know the state.
    Unknown,
}

impl ConditionStatus {
    /// Returns the text in the API.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

impl From<bool> for ConditionStatus {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

/// A condition to set with [`set_condition`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct NewCondition {
    kind: String,
    status: ConditionStatus,
    reason: String,
    message: String,
    observed_generation: Option<i64>,
}

impl NewCondition {
    /// Creates a condition, such as `Ready`. The reason is one word in CamelCase.
    pub fn new(
        kind: impl Into<String>,
        status: impl Into<ConditionStatus>,
        reason: impl Into<String>,
    ) -> Self {
        Self {
            kind: kind.into(),
            status: status.into(),
            reason: reason.into(),
            message: String::new(),
            observed_generation: None,
        }
    }

    /// Sets the message for people.
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    /// Sets `observedGeneration` to the generation of the object that was reconciled.
    pub fn observed<K: Resource>(mut self, object: &K) -> Self {
        self.observed_generation = object.meta().generation;
        self
    }
}

/// Sets a condition. Returns true if the conditions changed, so that a controller can skip a status update that changes nothing.
///
/// `lastTransitionTime` changes only if the status does, as with `meta.SetStatusCondition` of apimachinery.
///
/// ```
/// use k8s_openapi::{api::apps::v1::Deployment, jiff::Timestamp};
/// use kube_informer::controller::{NewCondition, set_condition};
///
/// let mut conditions = Vec::new();
/// let website = Deployment::default();
/// let ready = NewCondition::new("Ready", false, "Starting").message("0 of 3 pods are ready").observed(&website);
/// assert!(set_condition(&mut conditions, ready.clone(), Timestamp::now()));
/// assert!(!set_condition(&mut conditions, ready, Timestamp::now()), "unchanged");
/// ```
#[doc(alias = "SetStatusCondition")]
pub fn set_condition(conditions: &mut Vec<Condition>, new: NewCondition, now: Timestamp) -> bool {
    let status = new.status.as_str();
    let Some(known) = conditions.iter_mut().find(|known| known.type_ == new.kind) else {
        conditions.push(Condition {
            last_transition_time: Time(now),
            message: new.message,
            observed_generation: new.observed_generation,
            reason: new.reason,
            status: status.to_owned(),
            type_: new.kind,
        });
        return true;
    };
    let last_transition_time =
        if known.status == status { known.last_transition_time.clone() } else { Time(now) };
    let condition = Condition {
        last_transition_time,
        message: new.message,
        observed_generation: new.observed_generation,
        reason: new.reason,
        status: status.to_owned(),
        type_: new.kind,
    };
    let has_changed = *known != condition;
    *known = condition;
    has_changed
}

/// Returns the condition of this type.
#[must_use]
#[doc(alias = "FindStatusCondition")]
pub fn find_condition<'a>(conditions: &'a [Condition], kind: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == kind)
}

/// Returns true if the condition of this type is `True`.
#[must_use]
#[doc(alias = "IsStatusConditionTrue")]
pub fn is_condition_true(conditions: &[Condition], kind: &str) -> bool {
    find_condition(conditions, kind).is_some_and(|condition| condition.status == "True")
}

/// Removes the condition of this type. Returns true if there was one.
#[doc(alias = "RemoveStatusCondition")]
pub fn remove_condition(conditions: &mut Vec<Condition>, kind: &str) -> bool {
    let before = conditions.len();
    conditions.retain(|condition| condition.type_ != kind);
    conditions.len() < before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transition_time_follows_the_status() {
        let at = |seconds| Timestamp::from_second(seconds).expect("valid");
        let mut conditions = Vec::new();
        let ready = |status: bool, message: &str| NewCondition::new("Ready", status, "R").message(message);
        assert!(set_condition(&mut conditions, ready(false, "a"), at(1)));
        assert!(!set_condition(&mut conditions, ready(false, "a"), at(2)), "unchanged");
        assert!(set_condition(&mut conditions, ready(false, "b"), at(3)), "another message");
        assert_eq!(conditions[0].last_transition_time, Time(at(1)));
        assert!(set_condition(&mut conditions, ready(true, "b"), at(4)));
        assert_eq!(conditions[0].last_transition_time, Time(at(4)));
        assert!(is_condition_true(&conditions, "Ready") && !is_condition_true(&conditions, "Other"));

        let mut pod = k8s_openapi::api::core::v1::Pod::default();
        pod.metadata.generation = Some(7);
        assert!(set_condition(&mut conditions, ready(true, "b").observed(&pod), at(5)));
        assert_eq!(find_condition(&conditions, "Ready").and_then(|ready| ready.observed_generation), Some(7));
        set_condition(&mut conditions, NewCondition::new("Other", ConditionStatus::Unknown, "R"), at(6));
        assert!(remove_condition(&mut conditions, "Ready") && !remove_condition(&mut conditions, "Ready"));
        assert_eq!(conditions.len(), 1);
    }
}
