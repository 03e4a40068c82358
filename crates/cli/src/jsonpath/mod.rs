//! JSONPath templates as kubectl defines them: `{.metadata.name}`, `{range .items[*]}{.status.phase}{"\n"}{end}`.

mod expression;
mod parser;
mod compare;
mod evaluate;

pub(crate) use compare::compare;
pub(crate) use evaluate::shown;
pub(crate) use expression::{JsonPathError, Path, Template};
