//! Label selectors: which objects are meant, by their labels.

mod text;

mod requirement;

mod parser;

mod selector;

mod expression;

#[cfg(test)]
mod tests;

pub use requirement::{Condition, LabelRequirement};
pub use selector::LabelSelector;
