//! Detects that the API server was restored from a backup, after which versions are lower than known ones.
//!
//! Reads and writes are linearizable: the result of a request includes all changes that were known when the
//! request was sent. A result with a lower version is therefore from an older history.

use crate::record::Record;
use crate::request::{Outgoing, Request, Response, Target};
use std::collections::BTreeMap;

/// The newest known version, and the versions that were known when each request was sent.
#[derive(Debug, Default)]
pub(crate) struct RestoreDetector {
    newest: Option<u64>,
    sent: BTreeMap<Target, Sent>,
}

/// The versions that were known when a request was sent.
#[derive(Debug)]
enum Sent {
    /// The newest version of all Leases, and the version of the Lease that is changed. A write without a change keeps the latter.
    Write {
        newest: Option<u64>,
        current: Option<u64>,
    },
    /// The Lease that is read.
    Read {
        known: Option<Record>,
    },
    Delete,
}

/// A list of the Leases.
#[derive(Clone, Debug, Default)]
pub(crate) struct Listing {
    pub(crate) records: Vec<Record>,
    pub(crate) version: Option<u64>,
    /// The newest version that was known when the list was requested.
    pub(crate) known: Option<u64>,
}

impl RestoreDetector {
    /// Returns the newest known version. Versions that are not numbers are not compared.
    pub(crate) fn newest(&self) -> Option<u64> {
        self.newest
    }

    /// Records a version that the server has assigned.
    pub(crate) fn saw(&mut self, version: Option<u64>) {
        self.newest = self.newest.max(version);
    }

    /// Records a request. `known` is the newest known version of the Lease of the election.
    pub(crate) fn sent(&mut self, outgoing: &Outgoing, known: Option<&Record>) {
        let write = |version: Option<&String>| Sent::Write {
            newest: self.newest,
            current: version.and_then(|version| version.parse().ok()),
        };
        let sent = match &outgoing.request {
            Request::Create(lease) | Request::Update(lease) => {
                write(lease.metadata.resource_version.as_ref())
            }
            Request::Get { name } => {
                Sent::Read { known: known.filter(|record| record.name() == name).cloned() }
            }
            Request::Delete { .. } => Sent::Delete,
        };
        self.sent.insert(outgoing.target.clone(), sent);
    }

    /// Records the result of a request. Returns true if the server has an older history than when the request was sent.
    pub(crate) fn responded(&mut self, target: &Target, response: &Response) -> bool {
        // A request from before the last restore is ignored.
        let (Some(sent), Ok(record)) = (self.sent.remove(target), response) else { return false };
        let Some(version) = record.version_number() else { return false };
        let is_restored = match sent {
            Sent::Write { newest, current } => Some(version) != current && Some(version) < newest,
            Sent::Read { known } => known
                .is_some_and(|known| known.uid() == record.uid() && Some(version) < known.version_number()),
            Sent::Delete => false,
        };
        if is_restored {
            self.restored(version);
        } else {
            self.saw(Some(version));
        }
        is_restored
    }

    /// Records a list. Returns true if the server has an older history than when the list was requested.
    pub(crate) fn listed(&mut self, listing: &Listing) -> bool {
        let Some(version) = listing.version else { return false };
        let is_restored = Some(version) < listing.known;
        if is_restored {
            self.restored(version);
        } else {
            self.saw(Some(version));
        }
        is_restored
    }

    fn restored(&mut self, version: u64) {
        self.newest = Some(version);
        self.sent.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Draft;
    use crate::request::RequestError;

    fn record(uid: &str, version: u64) -> Record {
        let mut lease = Draft::create("a").into_lease();
        lease.metadata.uid = Some(uid.into());
        lease.metadata.resource_version = Some(version.to_string());
        Record::new(lease)
    }

    fn update(version: u64) -> Outgoing {
        let lease = Draft::update(&record("1", version)).into_lease();
        Outgoing { target: Target::Election, request: Request::Update(Box::new(lease)) }
    }

    #[test]
    fn a_write_with_a_lower_version_than_a_known_one_shows_a_restore() {
        let mut detector = RestoreDetector::default();
        detector.saw(Some(9));
        detector.sent(&update(5), None);
        assert!(!detector.responded(&Target::Election, &Ok(record("1", 10))));
        detector.sent(&update(5), None);
        assert!(!detector.responded(&Target::Election, &Ok(record("1", 5))), "a write without a change");
        detector.sent(&update(5), None);
        assert!(!detector.responded(&Target::Election, &Err(RequestError::Conflict)));
        detector.sent(&update(5), None);
        detector.saw(Some(30));
        assert!(!detector.responded(&Target::Election, &Ok(record("1", 20))), "30 was seen later");
        detector.sent(&update(5), None);
        assert!(detector.responded(&Target::Election, &Ok(record("1", 6))));
        assert_eq!(detector.newest(), Some(6));
        assert!(!detector.responded(&Target::Election, &Ok(record("1", 30))), "a response that is late");
        assert_eq!(detector.newest(), Some(6));
    }

    #[test]
    fn a_read_is_compared_with_the_lease_that_was_known_before() {
        let get = Outgoing { target: Target::Election, request: Request::Get { name: "a".into() } };
        for (uid, version, is_restored) in [("1", 4, true), ("1", 5, false), ("2", 4, false)] {
            let mut detector = RestoreDetector::default();
            detector.saw(Some(9));
            detector.sent(&get, Some(&record("1", 5)));
            let response = Ok(record(uid, version));
            assert_eq!(detector.responded(&Target::Election, &response), is_restored, "{uid} {version}");
        }
    }

    #[test]
    fn a_list_is_compared_with_the_version_that_was_known_when_it_was_requested() {
        let mut detector = RestoreDetector::default();
        detector.saw(Some(9));
        let list = |version, known| Listing { records: Vec::new(), version: Some(version), known };
        assert!(!detector.listed(&list(7, Some(6))), "9 was seen later");
        assert_eq!(detector.newest(), Some(9));
        assert!(!detector.listed(&list(9, Some(9))));
        assert!(detector.listed(&list(7, Some(9))));
        assert_eq!(detector.newest(), Some(7));
        assert!(!detector.listed(&Listing::default()));
    }
}
