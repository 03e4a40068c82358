//! HTTP: connections, access, routing and bodies.

mod route;

mod accept;

mod body;

mod exempt;

mod log;

mod gateway;

mod access;

mod identity;

mod activity;

mod control;

mod dispatch;

#[cfg(feature = "client")]
mod in_process;

mod loopback;

mod tls;

mod listen;

pub use access::{AllowedHosts, HostError};
pub(crate) use gateway::{Control, Gateway, Token};
#[cfg(feature = "client")]
pub(crate) use in_process::InProcess;
pub(crate) use listen::{Guard, SocketSettings, listen};
pub use log::RequestRecord;
pub(crate) use loopback::Loopback;
pub(crate) use tls::Tls;
