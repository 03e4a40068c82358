//! `informer web`: a page with all changes, the state of any moment and the field managers.
//!
//! [`source`] has the changes, from live caches ([`live`]) or from a recorded history ([`recorded`]). The views are functions of a
//! source; [`api`] maps requests to them, [`stream`] sends new changes, and [`server`] is the HTTP server.

mod undo;
mod change;
mod address;
mod fact;
mod log;
mod mask;
mod parts;
mod source;
mod key_lists;
mod describe;
mod live;
mod recorded;
mod query;
mod timeline;
mod objects;
mod managers;
mod churn;
mod cause;
mod api;
mod stream;
mod export;
mod page;
mod access;
mod server;
mod demo;
mod session;
#[cfg(test)]
mod tests;

pub(crate) use session::{Server, recorded, run};
