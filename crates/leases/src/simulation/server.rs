//! The API server of the simulation: Leases with versions, and a log of changes.

use crate::record::{Draft, Record};
use crate::request::{Request, RequestError, Response};
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
    pub(crate) writes: u64,
    pub(crate) log: Vec<Change>,
}

impl Server {
    pub(crate) fn list(&self) -> Vec<Record> {
        self.leases.values().cloned().collect()
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
                lease.metadata.uid = Some(format!("uid-{}", self.version + 1));
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

    fn write(&mut self, name: String, mut lease: Lease) -> Record {
        self.version += 1;
        self.writes += 1;
        lease.metadata.resource_version = Some(self.version.to_string());
        let record = Record::new(lease);
        self.leases.insert(name, record.clone());
        self.log.push(Change::Written(record.clone()));
        record
    }
}
