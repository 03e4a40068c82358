//! The configuration of the cluster, and the connection to it.

mod config_source;
mod config;
mod embedded;
mod connection;

pub(crate) use connection::{Connection, DISCOVERY, connect, connect_all, contexts, name};
pub(crate) use embedded::EmbeddedServer;
