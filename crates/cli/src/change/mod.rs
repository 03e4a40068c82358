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
mod description;
mod yaml;

pub(crate) use description::{
    DELETION_NOT_RECEIVED, Detail, EXISTING, described, description, key, updated, verb,
};
pub(crate) use fields::{FieldChange, changes};
pub(crate) use lines::{Line, diff};
pub(crate) use manager::manager;
pub(crate) use summary::{is_problem, summary};
pub(crate) use yaml::yaml;
