//! What changed from one state of an object to the next, as fields, as words and as lines.

mod scalar;
mod path;
mod fields;
mod read;
mod manager;
mod pod;
mod summary;
mod words;
mod lines;
mod telling;
mod yaml;

pub(crate) use fields::{FieldChange, changes};
pub(crate) use lines::{Line, diff};
pub(crate) use manager::manager;
pub(crate) use summary::{is_problem, summary};
pub(crate) use telling::{Detail, EXISTING, described, key, told, updated, verb};
pub(crate) use yaml::yaml;
