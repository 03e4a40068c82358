//! The columns of a table: their names and the sources of their cells.

use crate::format::age::age;
use crate::object::path;
use jiff::Timestamp;
use serde_json::{Value, json};

/// A column of the table of a kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    name: &'static str,
    cell: Cell,
    priority: i64,
}

/// The source of the cells of a column.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cell {
    /// The text at a path.
    Text(&'static str),
    /// The text at a path, or `<none>`.
    TextOrNone(&'static str),
    /// The number at a path, or 0.
    Number(&'static str),
    /// The number of items or fields at a path.
    Count(&'static str),
    /// The time since the time at a path.
    Age(&'static str),
    /// The time at a path.
    Time(&'static str),
    /// The result of a function of the object and the current time.
    Made(fn(&Value, Timestamp) -> Value),
}

impl Column {
    /// Creates a column that is always shown.
    pub(super) const fn new(name: &'static str, cell: Cell) -> Self {
        Self { name, cell, priority: 0 }
    }

    /// Creates a column that is shown only in wide output.
    pub(super) const fn wide(name: &'static str, cell: Cell) -> Self {
        Self { name, cell, priority: 1 }
    }

    /// Returns the definition of the column in a table.
    pub(super) fn definition(&self) -> Value {
        let value_type = match self.cell {
            Cell::Number(_) | Cell::Count(_) => "integer",
            Cell::Time(_) => "date",
            Cell::Text(_) | Cell::TextOrNone(_) | Cell::Age(_) | Cell::Made(_) => "string",
        };
        let format = if self.name == "Name" { "name" } else { "" };
        definition(self.name, value_type, format, self.priority)
    }

    /// Returns the cell of an object in this column.
    pub(super) fn cell(&self, object: &Value, now: Timestamp) -> Value {
        let text = |path| path::read(object, path).map(plain).unwrap_or_default();
        match self.cell {
            Cell::Text(path) | Cell::Time(path) => text(path).into(),
            Cell::TextOrNone(path) => match text(path).as_str() {
                "" => "<none>".into(),
                text => text.into(),
            },
            Cell::Number(path) => path::read(object, path).and_then(Value::as_i64).unwrap_or(0).into(),
            Cell::Count(path) => match path::read(object, path) {
                Some(Value::Array(items)) => items.len().into(),
                Some(Value::Object(fields)) => fields.len().into(),
                _ => 0.into(),
            },
            Cell::Age(path) => age(&text(path), now).into(),
            Cell::Made(make) => make(object, now),
        }
    }
}

/// Returns the definition of a column.
pub(super) fn definition(name: &str, value_type: &str, format: &str, priority: i64) -> Value {
    json!({"name": name, "type": value_type, "format": format, "description": "", "priority": priority})
}

/// Returns a value as the text of a cell.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}
