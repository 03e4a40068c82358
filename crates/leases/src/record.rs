//! A Lease as this crate reads and writes it.

use crate::config::{Config, Mode};
use crate::names::{
    GROUP_LABEL, INSTANCE_ANNOTATION, KEY_ANNOTATION, MEMBER_ANNOTATION, ROLE_LABEL, Role, SHARDS_ANNOTATION,
    group_label,
};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use k8s_openapi::jiff::Timestamp;
use std::sync::Arc;
use std::time::Duration;

/// A Lease that was read from the API server or returned by it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Record(Arc<Lease>);

impl Record {
    pub(crate) fn new(lease: Lease) -> Self {
        Self(Arc::new(lease))
    }

    pub(crate) fn name(&self) -> &str {
        self.0.metadata.name.as_deref().unwrap_or_default()
    }

    pub(crate) fn uid(&self) -> &str {
        self.0.metadata.uid.as_deref().unwrap_or_default()
    }

    pub(crate) fn version(&self) -> &str {
        self.0.metadata.resource_version.as_deref().unwrap_or_default()
    }

    /// Returns the version as a number; `None` if it is absent or not a number.
    pub(crate) fn version_number(&self) -> Option<u64> {
        self.version().parse().ok()
    }

    /// Returns the identity of the holder. An empty one means that the Lease was released, as in client-go.
    pub(crate) fn holder(&self) -> Option<&str> {
        self.spec()?.holder_identity.as_deref().filter(|holder| !holder.is_empty())
    }

    /// Returns the lease duration that the holder declared; `None` if it is absent or not positive.
    pub(crate) fn duration(&self) -> Option<Duration> {
        let seconds = u64::try_from(self.spec()?.lease_duration_seconds?).ok()?;
        (seconds > 0).then(|| Duration::from_secs(seconds))
    }

    pub(crate) fn transitions(&self) -> i32 {
        self.spec().and_then(|spec| spec.lease_transitions).unwrap_or(0)
    }

    pub(crate) fn renew_time(&self) -> Option<Timestamp> {
        Some(self.spec()?.renew_time.as_ref()?.0)
    }

    pub(crate) fn acquire_time(&self) -> Option<Timestamp> {
        Some(self.spec()?.acquire_time.as_ref()?.0)
    }

    pub(crate) fn created_at(&self) -> Option<Timestamp> {
        Some(self.0.metadata.creation_timestamp.as_ref()?.0)
    }

    pub(crate) fn annotation(&self, key: &str) -> Option<&str> {
        self.0.metadata.annotations.as_ref()?.get(key).map(String::as_str)
    }

    pub(crate) fn has_role(&self, role: Role) -> bool {
        let labels = self.0.metadata.labels.as_ref();
        labels.and_then(|labels| labels.get(ROLE_LABEL)).is_some_and(|label| label == role.label())
    }

    pub(crate) fn shard_count(&self) -> Option<u32> {
        self.annotation(SHARDS_ANNOTATION)?.parse().ok()
    }

    /// Returns true if this process wrote the current holder.
    pub(crate) fn is_held_by(&self, config: &Config) -> bool {
        self.holder() == Some(&config.identity)
            && self.annotation(INSTANCE_ANNOTATION) == Some(&config.instance)
    }

    /// Returns true if `other` is a later version of the same object. Versions are decimal numbers of the same counter.
    pub(crate) fn is_older_than(&self, other: &Self) -> bool {
        self.uid() != other.uid() || is_newer(other.version(), self.version())
    }

    fn spec(&self) -> Option<&LeaseSpec> {
        self.0.spec.as_ref()
    }
}

/// Returns true if version `a` is newer than `b`. Versions that are not decimal numbers are newer if they differ.
pub(crate) fn is_newer(a: &str, b: &str) -> bool {
    match (a.parse::<u128>(), b.parse::<u128>()) {
        (Ok(a), Ok(b)) => a > b,
        _ => a != b,
    }
}

/// A change to a Lease, applied to the last known object or to a new one.
#[derive(Debug)]
pub(crate) struct Draft(Lease);

impl Draft {
    /// Creates a new Lease. Its name must be unique, so that a second one is refused.
    pub(crate) fn create(name: &str) -> Self {
        let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        Self(Lease { metadata, spec: Some(LeaseSpec::default()) })
    }

    /// Changes a Lease; the write fails if the Lease has another version by then.
    pub(crate) fn update(record: &Record) -> Self {
        let mut lease = Lease::clone(&record.0);
        lease.spec.get_or_insert_default();
        lease.metadata.managed_fields = None;
        Self(lease)
    }

    /// Makes this process the holder from now on.
    pub(crate) fn acquire(mut self, config: &Config, now: Timestamp) -> Self {
        let spec = self.spec();
        spec.acquire_time = Some(MicroTime(now));
        // The first holder is not a transition.
        spec.lease_transitions = Some(match (&spec.renew_time, spec.lease_transitions) {
            (None, transitions) => transitions.unwrap_or(0),
            (Some(_), transitions) => transitions.unwrap_or(0).saturating_add(1),
        });
        self.renew(config, now)
    }

    /// Extends the holding of this process.
    pub(crate) fn renew(mut self, config: &Config, now: Timestamp) -> Self {
        let spec = self.spec();
        spec.holder_identity = Some(config.identity.clone());
        spec.lease_duration_seconds = i32::try_from(config.timing.lease_duration.as_secs()).ok();
        spec.renew_time = Some(MicroTime(now));
        // A holder that is not elected by the coordinated leader election of the API server has no strategy.
        spec.preferred_holder = None;
        spec.strategy = None;
        self.annotate(INSTANCE_ANNOTATION, &config.instance)
    }

    /// Removes the holder, as client-go does it.
    pub(crate) fn release(mut self, now: Timestamp) -> Self {
        let spec = self.spec();
        spec.holder_identity = Some(String::new());
        spec.lease_duration_seconds = Some(1);
        spec.acquire_time = Some(MicroTime(now));
        spec.renew_time = Some(MicroTime(now));
        self
    }

    /// Sets the labels and annotations of a Lease of a shard group.
    pub(crate) fn in_group(mut self, config: &Config, role: Role) -> Self {
        let labels = self.0.metadata.labels.get_or_insert_default();
        labels.insert(GROUP_LABEL.to_owned(), group_label(&config.name));
        labels.insert(ROLE_LABEL.to_owned(), role.label().to_owned());
        match config.mode {
            Mode::Leader => self,
            Mode::Shards { count, key } => {
                self.annotate(SHARDS_ANNOTATION, &count.to_string()).annotate(KEY_ANNOTATION, key.name())
            }
        }
    }

    /// Binds a shard to the member Lease of its holder.
    pub(crate) fn of_member(self, uid: &str) -> Self {
        self.annotate(MEMBER_ANNOTATION, uid)
    }

    pub(crate) fn annotate(mut self, key: &str, value: &str) -> Self {
        self.0.metadata.annotations.get_or_insert_default().insert(key.to_owned(), value.to_owned());
        self
    }

    pub(crate) fn into_lease(self) -> Lease {
        self.0
    }

    fn spec(&mut self) -> &mut LeaseSpec {
        self.0.spec.get_or_insert_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert!(is_newer("10", "9"));
        assert!(!is_newer("9", "10"));
        assert!(!is_newer("9", "9"));
        assert!(is_newer("a", "b") && is_newer("b", "a") && !is_newer("a", "a"));
    }

    #[test]
    fn a_lease_edited_by_hand_has_defaults_for_invalid_fields() {
        let empty = Record::new(Lease::default());
        assert_eq!(empty.holder(), None);
        assert_eq!(empty.duration(), None);
        assert_eq!(empty.transitions(), 0);
        assert_eq!(empty.shard_count(), None);
        let spec = LeaseSpec {
            holder_identity: Some(String::new()),
            lease_duration_seconds: Some(-5),
            ..LeaseSpec::default()
        };
        let edited = Record::new(Lease { spec: Some(spec), ..Lease::default() });
        assert_eq!(edited.holder(), None);
        assert_eq!(edited.duration(), None);
    }
}
