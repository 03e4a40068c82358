//! Field selectors: which objects are meant, by the value of a few fields.

mod requirement;

mod selector;

mod parser;

#[cfg(test)]
mod tests;

pub use requirement::{FieldRequirement, Relation};
pub use selector::FieldSelector;
