//! The API server of the simulation: Leases with versions, and a log of changes.

use crate::record::{Draft, Record};
use crate::request::{Request, RequestError, Response};
use crate::restore::Listing;
use k8s_openapi::api::coordination::v1::Lease;
use std::collections::BTreeMap;

/// A change that watches deliver.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Written(Record),
    Deleted(Record),
}

#[derive(Debug, Default)]
pub(crate) struct Server {
    leases: BTreeMap<String, Record>,
    version: u64,
    /// Added to the numbers of uids, which are not used again after a restore.
    uid_offset: u64,
    /// The states after each write; `None` if the server is not restored.
    backups: Option<Vec<Backup>>,
    pub(crate) writes: u64,
    pub(crate) log: Vec<Change>,
}

/// The state of the server at an earlier time.
#[derive(Debug)]
struct Backup {
    leases: BTreeMap<String, Record>,
    version: u64,
}

impl Server {
    pub(crate) fn list(&self) -> Listing {
        let records = self.leases.values().cloned().collect();
        Listing { records, version: Some(self.version), known: None }
    }

    /// Keeps all states, so that the server can be restored.
    pub(crate) fn keep_backups(&mut self) {
        self.backups = Some(Vec::new());
    }

    /// Restores one of the last states with its version.
    pub(crate) fn restore(&mut self, pick: u64) {
        let Some(backups) = &mut self.backups else { return };
        let back = usize::try_from(pick % 40).unwrap_or(0);
        backups.truncate(backups.len().saturating_sub(back).max(1));
        if let Some(backup) = backups.last() {
            self.leases.clone_from(&backup.leases);
            self.version = backup.version;
            self.uid_offset += 1_000_000;
        }
    }

    pub(crate) fn handle(&mut self, request: Request) -> Response {
        match request {
            Request::Get { name } => self.leases.get(&name).cloned().ok_or(RequestError::NotFound),
            Request::Create(lease) => {
                let name = lease.metadata.name.clone().unwrap_or_default();
                if self.leases.contains_key(&name) {
                    return Err(RequestError::Conflict);
                }
                let mut lease = *lease;
                lease.metadata.uid = Some(format!("uid-{}", self.uid_offset + self.version + 1));
                Ok(self.write(name, lease))
            }
            Request::Update(lease) => {
                let name = lease.metadata.name.clone().unwrap_or_default();
                let current = self.leases.get(&name).ok_or(RequestError::NotFound)?;
                let is_current = current.uid() == lease.metadata.uid.as_deref().unwrap_or_default()
                    && current.version() == lease.metadata.resource_version.as_deref().unwrap_or_default();
                if is_current { Ok(self.write(name, *lease)) } else { Err(RequestError::Conflict) }
            }
            Request::Delete { name, uid, version } => {
                let current = self.leases.get(&name).ok_or(RequestError::NotFound)?;
                if current.uid() != uid || current.version() != version {
                    return Err(RequestError::Conflict);
                }
                let record = self.leases.remove(&name).ok_or(RequestError::NotFound)?;
                self.version += 1;
                self.writes += 1;
                self.back_up();
                self.log.push(Change::Deleted(record.clone()));
                Ok(record)
            }
        }
    }

    /// Changes the version of a Lease and nothing else, as a person or another controller can.
    pub(crate) fn touch(&mut self, pick: u64) {
        let index = usize::try_from(pick).unwrap_or(0) % self.leases.len().max(1);
        if let Some((name, record)) = self.leases.iter().nth(index) {
            let (name, lease) = (name.clone(), Draft::update(record).into_lease());
            self.write(name, lease);
        }
    }

    fn back_up(&mut self) {
        if let Some(backups) = &mut self.backups {
            backups.push(Backup { leases: self.leases.clone(), version: self.version });
        }
    }

    fn write(&mut self, name: String, mut lease: Lease) -> Record {
        self.version += 1;
        self.writes += 1;
        lease.metadata.resource_version = Some(self.version.to_string());
        let record = Record::new(lease);
        self.leases.insert(name, record.clone());
        self.back_up();
        self.log.push(Change::Written(record.clone()));
        record
    }
}
