//! Shard selectors, by the hash of one field (KEP-5866).

mod selector;

mod parser;

#[cfg(test)]
mod tests;

pub use selector::{ShardField, ShardRange, ShardSelector};
