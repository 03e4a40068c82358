//! The variables and fields that an expression refers to.

use super::program::entry_parts;
use cel::common::ast::{Expr, IdedExpr};

/// A variable with the fields that are selected from it: `request.kind.group`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selection {
    pub(crate) variable: String,
    pub(crate) fields: Vec<String>,
}

/// Returns the longest selections from variables that are not variables of loops.
pub(crate) fn selections(expression: &IdedExpr) -> Vec<Selection> {
    let mut found = Vec::new();
    visit(expression, &mut Vec::new(), &mut found);
    found
}

/// Returns the selection that an expression is; `None` for any other expression.
pub(super) fn selection(expression: &IdedExpr) -> Option<Selection> {
    match &expression.expr {
        Expr::Ident(name) => Some(Selection { variable: name.clone(), fields: Vec::new() }),
        Expr::Select(select) => {
            let mut selection = selection(&select.operand)?;
            selection.fields.push(select.field.clone());
            Some(selection)
        }
        _ => None,
    }
}

fn visit(expression: &IdedExpr, loops: &mut Vec<String>, found: &mut Vec<Selection>) {
    if let Some(selection) = selection(expression) {
        if !loops.contains(&selection.variable) {
            found.push(selection);
        }
        return;
    }
    match &expression.expr {
        Expr::Select(select) => visit(&select.operand, loops, found),
        Expr::Call(call) => {
            call.target.as_deref().into_iter().chain(&call.args).for_each(|part| visit(part, loops, found));
        }
        Expr::List(list) => list.elements.iter().for_each(|part| visit(part, loops, found)),
        Expr::Map(map) => {
            let parts = map.entries.iter().flat_map(|entry| entry_parts(&entry.expr));
            parts.for_each(|part| visit(part, loops, found));
        }
        Expr::Struct(new) => {
            let parts = new.entries.iter().flat_map(|entry| entry_parts(&entry.expr));
            parts.for_each(|part| visit(part, loops, found));
        }
        Expr::Comprehension(loop_) => {
            visit(&loop_.iter_range, loops, found);
            visit(&loop_.accu_init, loops, found);
            let depth = loops.len();
            let names = [Some(&loop_.iter_var), loop_.iter_var2.as_ref(), Some(&loop_.accu_var)];
            loops.extend(names.into_iter().flatten().cloned());
            [&loop_.loop_cond, &loop_.loop_step, &loop_.result]
                .into_iter()
                .for_each(|part| visit(part, loops, found));
            loops.truncate(depth);
        }
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => {}
    }
}
