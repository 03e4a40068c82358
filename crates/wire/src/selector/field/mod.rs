//! Field selectors.

mod requirement;

mod selector;

mod parser;

#[cfg(test)]
mod tests;

pub use requirement::{FieldOperator, FieldRequirement};
pub use selector::FieldSelector;
