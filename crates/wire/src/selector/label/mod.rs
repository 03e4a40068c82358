//! Label selectors.

mod text;

mod requirement;

mod parser;

mod selector;

mod expression;

#[cfg(test)]
mod tests;

pub use requirement::{LabelOperator, LabelRequirement};
pub use selector::LabelSelector;
