//! kubectl and client-go work against the server as they do against a cluster.
//!
//! `cargo xtask test interop` builds the programs, and sets environment variables to their paths.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod child;
mod folder;
mod cluster;
mod kubectl;
mod churn;
mod client_go;

mod discovery;
mod get;
mod get_watch;
mod create;
mod apply;
mod patch;
mod scale;
mod delete;
mod custom;
mod explain;
mod generators;
mod wait;
mod rollout;
mod nodes;
mod changes;
mod columns;
mod identity;
mod unsupported;
mod tls;
mod past;
mod deploy;
mod informer;
mod informer_faults;
mod controllers;
mod programs;
