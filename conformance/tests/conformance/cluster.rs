//! Claims that need kubectl, the command or controllers of Kubernetes, checked against the devserver and a kube-apiserver.
//!
//! `cargo xtask test cluster` builds the programs, and selects this target by name.

#![expect(clippy::unwrap_used, reason = "the lint sees only functions marked as tests as tests")]

mod kinds;
mod programs;
mod command;
mod deploy;
mod rollout;
