//! The behavior that clients of the server rely on, one subject per file.

#![expect(clippy::unwrap_used, reason = "the lint sees only functions marked as tests as tests")]

mod probe;

mod applying;
mod authorization;
mod browser;
mod churn;
mod control;
mod conversion;
mod data;
mod definitions;
mod deletion;
mod discovery;
mod faults;
mod field_validation;
mod formats;
mod hostile;
mod kube_programs;
mod kubelet;
mod lifecycle;
mod limits;
mod listing;
mod match_conditions;
mod namespaces;
mod objects;
mod past;
mod patching;
mod policies;
mod precedence;
mod requests;
mod runtime;
mod services;
mod snapshots;
mod sockets;
mod startup;
mod streaming;
mod validation;
mod watching;
mod webhooks;
