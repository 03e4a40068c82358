//! `informer top`: live caches on a full screen.
//!
//! [`screen`] is plain data that keys change and `draw` shows; `session` fills it from the informers.

mod window;
mod kind_state;
mod query;
mod history;
mod overview;
mod objects;
mod object;
mod screen;
mod draw;
mod state_reader;
mod memory_meter;
mod session;
#[cfg(test)]
mod tests;

pub(crate) use session::{Stage, is_terminal, run, show};
