//! `informer top`: caches at work, on a screen.
//!
//! [`screen`] is plain data that keys change and `draw` shows; `session` fills it with what the informers know.

mod window;
mod reading;
mod query;
mod history;
mod overview;
mod objects;
mod object;
mod screen;
mod draw;
mod gather;
mod scales;
mod session;
#[cfg(test)]
mod tests;

pub(crate) use session::{Stage, is_terminal, run, show};
