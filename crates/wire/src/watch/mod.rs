//! The events of a watch, decoded from frames and encoded to them.

mod event;

mod bookmark;

mod decode;

mod json;
mod protobuf;

mod frames;

mod encode;

#[cfg(test)]
mod tests;

pub use decode::DecodeError;
pub use encode::{encode_bookmark, encode_error, encode_event, encode_initial_events_end};
pub use event::{EventType, WatchEvent};
pub use frames::{Frame, Frames};
