//! The command `informer`: watches any Kubernetes resource, its changes and the health of the watch.
//!
//! It is a library so that fuzz targets can call its parsers and printers.

mod jsonpath;
mod path_pattern;
mod args;
mod safe;
mod number;
mod cores;
mod paint;
mod notice;
mod cli_error;
mod change;
mod kinds;
mod route;
mod advice;
mod seed;
mod cluster;
mod meter;
mod informers;
mod signal;
mod watch;
mod wait;
mod web;
mod history;
mod record;
mod devserver;
mod leases;
mod top;
mod demo;
mod complete;
mod shell;
mod new_operator;
mod run;

#[doc(hidden)]
pub mod untrusted;

pub use run::main;
