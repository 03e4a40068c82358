//! The command `informer`: follow any Kubernetes resource, and see what changes and how the cache fares.
//!
//! It is a library so that its program is short, and so that what it makes of the text of others can be tried by itself.

mod args;
mod safe;
mod number;
mod paint;
mod notice;
mod trouble;
mod change;
mod kinds;
mod advice;
mod seed;
mod cluster;
mod meter;
mod follow;
mod signal;
mod watch;
mod history;
mod record;
mod devserver;
mod leases;
mod top;
mod web;
mod demo;
mod shell;
mod new_operator;
mod run;

#[doc(hidden)]
pub mod untrusted;

pub use run::main;
