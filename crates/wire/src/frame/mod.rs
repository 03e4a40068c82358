//! Splits the body of a watch into frames as it arrives.

mod error;

mod lines;

mod lengths;

#[cfg(test)]
mod tests;

pub use error::FrameError;
pub use lengths::ProtobufFrames;
pub use lines::JsonLines;
