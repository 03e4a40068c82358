//! HTTP on one side, verbs on the other.

mod route;

mod accept;

mod body;

mod front;

mod access;

mod identity;

mod activity;

mod control;

mod dispatch;

#[cfg(feature = "client")]
mod pipe;

mod tls;

mod listen;

pub use access::{AllowedHosts, HostError};
pub(crate) use front::{Control, Front, Token};
pub(crate) use listen::{Door, Guard, listen};
#[cfg(feature = "client")]
pub(crate) use pipe::Pipe;
pub(crate) use tls::Tls;
