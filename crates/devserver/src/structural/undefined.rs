//! Finds the fields that a rule selects and that its schema does not have.

use crate::expression::{Expression, entry_parts};
use crate::structural::escape::unescaped;
use crate::structural::schema::{Additional, Structural};
use cel::common::ast::{Expr, IdedExpr};

/// Whether a schema is that of an object, which has the fields of all objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Object,
    Value,
}

/// Returns the first field that an expression selects from `self` or `oldSelf` and that their schema does not have.
pub(crate) fn find_undefined(expression: &Expression, schema: &Structural, level: Level) -> Option<String> {
    undefined_field(expression.syntax(), schema, level)
}

fn undefined_field(expression: &IdedExpr, schema: &Structural, level: Level) -> Option<String> {
    let first =
        |parts: Vec<&IdedExpr>| parts.into_iter().find_map(|part| undefined_field(part, schema, level));
    match &expression.expr {
        Expr::Select(select) => match fields_of_self(expression) {
            Some(fields) => undefined_of(schema, level, &fields),
            None => undefined_field(&select.operand, schema, level),
        },
        Expr::Call(call) => first(call.target.as_deref().into_iter().chain(&call.args).collect()),
        Expr::List(list) => first(list.elements.iter().collect()),
        Expr::Map(map) => first(map.entries.iter().flat_map(|entry| entry_parts(&entry.expr)).collect()),
        Expr::Struct(new) => first(new.entries.iter().flat_map(|entry| entry_parts(&entry.expr)).collect()),
        Expr::Comprehension(loop_) => {
            let parts =
                [&loop_.iter_range, &loop_.accu_init, &loop_.loop_cond, &loop_.loop_step, &loop_.result];
            // A loop may call its own variable `self`.
            let is_shadowed = matches!(loop_.iter_var.as_str(), "self" | "oldSelf");
            if is_shadowed {
                undefined_field(&loop_.iter_range, schema, level)
            } else {
                first(parts.to_vec())
            }
        }
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => None,
    }
}

/// Returns the names of the fields in `self.a.b`; `None` for any other expression.
fn fields_of_self(expression: &IdedExpr) -> Option<Vec<&str>> {
    match &expression.expr {
        Expr::Ident(name) if matches!(name.as_str(), "self" | "oldSelf") => Some(Vec::new()),
        Expr::Select(select) => {
            let mut fields = fields_of_self(&select.operand)?;
            fields.push(&select.field);
            Some(fields)
        }
        _ => None,
    }
}

/// Returns the first of some nested fields that a schema does not have.
fn undefined_of(schema: &Structural, level: Level, fields: &[&str]) -> Option<String> {
    let (first, rest) = fields.split_first()?;
    let is_object = level == Level::Object || schema.is_embedded;
    if is_object && matches!(*first, "apiVersion" | "kind" | "metadata") {
        let field = rest.first().filter(|_| *first == "metadata")?;
        return (!matches!(*field, "name" | "generateName")).then(|| (*field).to_owned());
    }
    if let Additional::Schema(schema) = &schema.additional {
        return undefined_of(schema, Level::Value, rest);
    }
    let is_known_type = schema.types == ["object"];
    match schema.properties.get(&unescaped(first)) {
        Some(schema) => undefined_of(schema, Level::Value, rest),
        None if is_known_type => Some((*first).to_owned()),
        None => None,
    }
}
