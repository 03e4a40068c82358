//! Expressions in the Common Expression Language: rules of custom resources, and conditions of admission.

mod program;

mod selection;

mod output;

mod json;

pub(crate) use json::from_json;
pub(crate) use output::{DYNAMIC, output_type};
pub(crate) use program::{EvaluationError, Expression, Variables, entry_parts, map, text_key};
pub(crate) use selection::{Selection, selections};
