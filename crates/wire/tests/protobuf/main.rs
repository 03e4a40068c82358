//! Protobuf as Go writes it, as others might, and as nobody should.

mod corpus;
mod equal;
mod hostile;
mod streams;
