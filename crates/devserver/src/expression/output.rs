//! The type of the value that an expression has, as far as it is known before it is evaluated.

use super::selection::{Selection, selection};
use cel::common::ast::{CallExpr, Expr, IdedExpr, LiteralValue};

/// The type of values that are not known before the evaluation.
pub(crate) const DYNAMIC: &str = "dyn";

/// Returns the type of the value of an expression; `None` if it is unknown. `declared` is the type of a variable or a field of it.
pub(crate) fn output_type(
    expression: &IdedExpr,
    declared: &dyn Fn(&Selection) -> Option<&'static str>,
) -> Option<&'static str> {
    let type_of = |expression: &IdedExpr| output_type(expression, declared);
    match &expression.expr {
        Expr::Literal(literal) => Some(match literal {
            LiteralValue::Boolean(_) => "bool",
            LiteralValue::Bytes(_) => "bytes",
            LiteralValue::Double(_) => "double",
            LiteralValue::Int(_) => "int",
            LiteralValue::Null => "null_type",
            LiteralValue::String(_) => "string",
            LiteralValue::UInt(_) => "uint",
        }),
        Expr::Select(select) if select.test => Some("bool"),
        Expr::Ident(_) | Expr::Select(_) => selection(expression).and_then(|selection| declared(&selection)),
        Expr::Call(call) => call_type(call, &type_of),
        Expr::Comprehension(loop_) => match &loop_.result.expr {
            Expr::Ident(name) if *name == loop_.accu_var => type_of(&loop_.accu_init),
            _ => type_of(&loop_.result),
        },
        Expr::List(_) => Some("list(dyn)"),
        Expr::Map(_) => Some("map(dyn, dyn)"),
        Expr::Struct(_) | Expr::Unspecified => None,
    }
}

fn call_type(call: &CallExpr, type_of: &dyn Fn(&IdedExpr) -> Option<&'static str>) -> Option<&'static str> {
    let arguments = || call.args.iter().map(type_of);
    match call.func_name.as_str() {
        "!_" | "_!=_" | "_==_" | "_<_" | "_<=_" | "_>_" | "_>=_" | "_&&_" | "_||_" | "@in" | "bool"
        | "contains" | "endsWith" | "hasValue" | "isSorted" | "matches" | "startsWith" => Some("bool"),
        "charAt" | "find" | "format" | "join" | "lowerAscii" | "replace" | "string" | "substring"
        | "trim" | "upperAscii" => Some("string"),
        "size" | "int" | "indexOf" | "lastIndexOf" => Some("int"),
        "double" => Some("double"),
        "dyn" => Some(DYNAMIC),
        "_?_:_" => {
            let (first, second) = (type_of(call.args.get(1)?)?, type_of(call.args.get(2)?)?);
            Some(if first == second { first } else { DYNAMIC })
        }
        "_+_" => arguments().find(|found| found.is_some_and(|name| name != DYNAMIC)).flatten(),
        "_[_]" => arguments().next().flatten().filter(|name| *name == DYNAMIC),
        _ => None,
    }
}
