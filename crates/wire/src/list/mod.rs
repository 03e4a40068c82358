//! The body of a list: items as they arrive, and what the list says of itself.

mod scanner;
mod splitter;

#[cfg(test)]
mod tests;

pub use splitter::{JsonList, ListError, ListMeta};
