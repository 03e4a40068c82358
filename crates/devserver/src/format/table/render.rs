//! A table: heads of columns, and a row for each object.

use crate::format::partial::partial;
use crate::format::table::column::{Cell, Column};
use crate::format::table::{custom, kinds};
use crate::registry::Resource;
use jiff::Timestamp;
use serde_json::{Value, json};

/// The options of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableOptions {
    /// The time to which ages are computed.
    pub(crate) now: Timestamp,
    /// The part of the object in each row.
    pub(crate) include: Include,
}

/// The part of the object in each row, from the parameter `includeObject`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Include {
    /// No object.
    None,
    /// Its metadata.
    #[default]
    Metadata,
    /// All of it.
    Object,
}

/// Returns a table of objects of one resource. The caller sets its metadata.
pub(crate) fn table<'a>(
    resource: &Resource,
    objects: impl IntoIterator<Item = &'a Value>,
    options: &TableOptions,
) -> Value {
    let columns = Columns::of(resource);
    let rows = objects.into_iter().map(|object| {
        let carried = match options.include {
            Include::None => Value::Null,
            Include::Metadata => partial(object),
            Include::Object => object.clone(),
        };
        json!({"cells": columns.cells(object, options.now), "object": carried})
    });
    let rows: Vec<_> = rows.collect();
    json!({
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {},
        "columnDefinitions": columns.heads(),
        "rows": rows,
    })
}

/// The columns of a resource: those of its kind, or its name and those of its definition.
struct Columns<'a> {
    resource: &'a Resource,
    fixed: &'static [Column],
}

const NAME: &[Column] = &[Column::new("Name", Cell::Text("metadata.name"))];

impl<'a> Columns<'a> {
    fn of(resource: &'a Resource) -> Self {
        let fixed = if resource.columns.is_empty() { kinds::columns(resource) } else { NAME };
        Self { resource, fixed }
    }

    fn heads(&self) -> Vec<Value> {
        let fixed = self.fixed.iter().map(Column::definition);
        fixed.chain(self.resource.columns.iter().map(custom::head)).collect()
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let fixed = self.fixed.iter().map(|column| column.cell(object, now));
        fixed.chain(self.resource.columns.iter().map(|column| custom::cell(column, object, now))).collect()
    }
}
