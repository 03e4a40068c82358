//! Which cluster the command talks to.

mod choice;
mod config;
mod embedded;
mod connection;

pub(crate) use connection::{Connection, DISCOVERY, connect, name};
pub(crate) use embedded::Embedded;
