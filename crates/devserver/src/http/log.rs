//! The log of requests, each with its response code.

use crate::fault::{Call, Verb};
use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};

/// The maximum number of requests in the log; older ones are dropped.
const MOST: usize = 4096;

/// A request and the code of its response.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestRecord {
    /// The HTTP method.
    pub method: String,
    /// The path, with the query string.
    pub path: String,
    /// The requested verb; `None` for discovery and other paths without objects.
    pub verb: Option<Verb>,
    /// The plural name of the resource; empty for paths without objects.
    pub resource: String,
    /// The namespace in the path; empty without one.
    pub namespace: String,
    /// The name in the path; empty without one.
    pub name: String,
    /// The subresource; empty for the object itself.
    pub subresource: String,
    /// The name of the user.
    pub user: String,
    /// The header `User-Agent`.
    pub user_agent: String,
    /// The HTTP status code of the response; for a watch, the one at its start.
    pub code: u16,
}

/// The last requests, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct RequestLog(Mutex<VecDeque<RequestRecord>>);

impl RequestRecord {
    /// Creates a record of a request that has no response yet.
    pub(crate) fn new(method: &str, path: String, call: &Call<'_>) -> Self {
        Self {
            method: method.to_owned(),
            path,
            verb: call.verb,
            resource: call.resource.to_owned(),
            namespace: call.namespace.to_owned(),
            name: call.name.to_owned(),
            subresource: call.subresource.to_owned(),
            user: call.user.to_owned(),
            user_agent: call.user_agent.to_owned(),
            code: 0,
        }
    }
}

impl RequestLog {
    pub(crate) fn add(&self, record: RequestRecord) {
        let mut records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if records.len() == MOST {
            records.pop_front();
        }
        records.push_back(record);
    }

    pub(crate) fn all(&self) -> Vec<RequestRecord> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    pub(crate) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
