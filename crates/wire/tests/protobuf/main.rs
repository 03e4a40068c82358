//! Protobuf, as Go writes it and malformed.

#![expect(clippy::unwrap_used, reason = "the lint sees only functions marked as tests as tests")]

mod corpus;
mod equal;
mod hostile;
mod streams;
