//! A difference as lines, old above new.

use super::{fields::FieldChange, scalar::scalar};
use serde_json::Value;

/// A line of a difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Went(String),
    Came(String),
}

/// Each field that changed: what it was, what it is. The values of a `Secret` are not shown.
pub(crate) fn diff(changes: &[FieldChange], kind: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    for FieldChange { path, old, new } in changes {
        let names = path.names();
        let is_secret = kind == "Secret" && matches!(names.first(), Some(&("data" | "stringData")));
        let show = |value: &Value| if is_secret { "***".to_owned() } else { scalar(value) };
        lines.extend(old.as_ref().map(|old| Line::Went(format!("{path}: {}", show(old)))));
        lines.extend(new.as_ref().map(|new| Line::Came(format!("{path}: {}", show(new)))));
    }
    lines
}
