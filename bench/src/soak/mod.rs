//! Load for a long time: a server that is written to and misbehaves, and many informers that follow it.
//!
//! They are two programs, `soak-server` and `soak-clients`. Each says a line of JSON when it is ready, then takes orders on
//! standard input, one a line, and answers each with a line. `cargo xtask soak` gives the orders and judges.

mod options;

mod histogram;

mod moments;

mod fold;

mod writer;

mod faults;

mod server;

mod followed;

mod clients;

pub(crate) use clients::run as follow;
pub(crate) use server::run as serve;
