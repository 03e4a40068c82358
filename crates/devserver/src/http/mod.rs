//! HTTP on one side, verbs on the other.

mod route;

mod accept;

mod body;

mod exempt;

mod log;

mod front;

mod access;

mod identity;

mod activity;

mod control;

mod dispatch;

#[cfg(feature = "client")]
mod pipe;

mod loopback;

mod tls;

mod listen;

pub use access::{AllowedHosts, HostError};
pub(crate) use front::{Control, Front, Token};
pub(crate) use listen::{Door, Guard, listen};
pub use log::RequestRecord;
pub(crate) use loopback::Loopback;
#[cfg(feature = "client")]
pub(crate) use pipe::Pipe;
pub(crate) use tls::Tls;
