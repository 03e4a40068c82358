//! A server that only replays: all objects are encoded before the first request.
//!
//! It prints a line of JSON with its URL when it is ready, and then executes commands from standard input until that is closed.

mod placeholders;
mod resource;
mod encoded_object;
mod store;
mod encoder;
mod watchers;
mod response;
mod updates;
mod commands;
mod serve;

pub(crate) use serve::{ReplayOptions, run};
