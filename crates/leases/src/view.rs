//! The Leases of a group as the list and the watch delivered them.

use crate::clock::BootTime;
use crate::names::Role;
use crate::record::Record;
use std::collections::BTreeMap;
use std::time::Duration;

/// A Lease, and when this process saw it change.
#[derive(Clone, Debug)]
pub(crate) struct Observed {
    pub(crate) record: Record,
    /// The local time at which this version was seen first, which is not before it was written.
    pub(crate) changed_at: BootTime,
}

impl Observed {
    /// Returns the local time at which the Lease expires if it does not change. `fallback` is for Leases without a duration.
    ///
    /// The times in the record come from the clock of another machine and are not used.
    pub(crate) fn expires_at(&self, fallback: Duration) -> BootTime {
        self.changed_at + self.record.duration().unwrap_or(fallback)
    }
}

/// All Leases of a group by name, in the order of the watch, so that later versions of any Lease follow earlier ones.
#[derive(Debug, Default)]
pub(crate) struct View {
    leases: BTreeMap<String, Observed>,
    is_listed: bool,
}

impl View {
    /// Replaces all Leases by those of a list.
    pub(crate) fn replace(&mut self, records: Vec<Record>, now: BootTime) {
        let mut old = std::mem::take(&mut self.leases);
        for record in records {
            let known = old.remove(record.name());
            let is_same = |known: &Observed| {
                known.record.uid() == record.uid() && known.record.version() == record.version()
            };
            let observed = match known {
                Some(known) if is_same(&known) => known,
                _ => Observed { record, changed_at: now },
            };
            self.leases.insert(observed.record.name().to_owned(), observed);
        }
        self.is_listed = true;
    }

    /// Applies an added or changed Lease.
    pub(crate) fn change(&mut self, record: Record, now: BootTime) {
        self.leases.insert(record.name().to_owned(), Observed { record, changed_at: now });
    }

    pub(crate) fn delete(&mut self, name: &str) {
        self.leases.remove(name);
    }

    /// Returns true if there was a list.
    pub(crate) fn is_listed(&self) -> bool {
        self.is_listed
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Observed> {
        self.leases.get(name)
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = &Observed> {
        self.leases.values().filter(|observed| observed.record.has_role(Role::Member))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::coordination::v1::Lease;

    fn record(version: &str) -> Record {
        let mut lease = Lease::default();
        lease.metadata.name = Some("a".to_owned());
        lease.metadata.resource_version = Some(version.to_owned());
        Record::new(lease)
    }

    #[test]
    fn a_list_with_the_same_version_does_not_prolong_a_lease() {
        let time = |seconds| BootTime::from_start(Duration::from_secs(seconds));
        let mut view = View::default();
        assert!(!view.is_listed());
        view.replace(vec![record("1")], time(1));
        view.replace(vec![record("1")], time(5));
        assert!(view.is_listed());
        assert_eq!(view.get("a").expect("listed").expires_at(Duration::from_secs(15)), time(16));
        view.replace(vec![record("2")], time(6));
        assert_eq!(view.get("a").expect("listed").changed_at, time(6));
        view.change(record("3"), time(7));
        assert_eq!(view.get("a").expect("changed").changed_at, time(7));
        view.delete("a");
        assert!(view.get("a").is_none());
    }
}
