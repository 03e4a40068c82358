//! The patch types: JSON patch, merge patch and strategic merge patch.

mod error;

mod pointer;

mod json;

mod merge;

mod strategy;

mod directive;

mod list;

mod strategic;

#[cfg(test)]
mod tests;

pub(crate) use error::PatchError;
pub(crate) use json::{DEEPEST, depth, json};
pub(crate) use merge::merge;
pub(crate) use strategic::strategic;
