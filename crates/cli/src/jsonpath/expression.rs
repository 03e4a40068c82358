//! The parts of a template.

use serde_json::Value;
use std::fmt;

/// A parsed template: text, and paths in braces.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Template {
    pub(super) nodes: Vec<Node>,
}

/// A parsed path, such as `.metadata.name`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Path {
    pub(super) steps: Vec<Step>,
}

/// A part of a template.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Text(String),
    Path(Path),
    /// `{range PATH}BODY{end}`
    Range {
        path: Path,
        body: Vec<Node>,
    },
}

/// A part of a path, applied to each result of the parts before it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// Replaces the results by a value: a quoted text, a number, `true` or `false`.
    Literal(Value),
    Field(String),
    /// `*` and `[*]`
    Wildcard,
    /// `..`
    Recursive,
    /// `[2]`, `[-1]`
    Index(i64),
    /// `[start:end:step]`
    Slice {
        start: Option<i64>,
        end: Option<i64>,
        step: Option<i64>,
    },
    /// `[0,2]`, `['a','b']`
    Union(Vec<Path>),
    /// `[?(@.type=="Ready")]`
    Filter {
        left: Path,
        comparison: Option<Comparison>,
    },
}

/// The right side of a filter; a filter without it checks that the left side exists.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Comparison {
    pub(super) operator: Operator,
    pub(super) right: Path,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A template that cannot be parsed or evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum JsonPathError {
    Invalid {
        text: String,
        /// The position in bytes.
        at: usize,
        problem: String,
    },
    Evaluation(String),
}

impl fmt::Display for JsonPathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid { text, at, problem } => {
                write!(f, "invalid JSONPath {text:?} at byte {at}: {problem}")
            }
            Self::Evaluation(problem) => write!(f, "cannot evaluate the JSONPath: {problem}"),
        }
    }
}

impl std::error::Error for JsonPathError {}
