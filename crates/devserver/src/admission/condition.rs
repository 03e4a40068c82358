//! The match conditions of webhooks and policies.

use super::scope::{self, Scope};
use crate::expression::{EvaluationError, Expression, Variables};
use crate::invalid::FieldError;
use crate::object::broken_key;
use cel::Value as CelValue;
use serde::Deserialize;
use serde_json::Value;
use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
};

/// The maximum number of match conditions.
const MAX_CONDITIONS: u64 = 64;
/// The maximum number of compiled expressions that a server keeps.
const MAX_COMPILED: usize = 1024;

/// A condition that a request has to meet.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct MatchCondition {
    #[serde(default)]
    expression: String,
}

/// The compiled expressions of webhooks and policies, by their source.
#[derive(Debug, Default)]
pub(crate) struct Expressions(Mutex<HashMap<String, Arc<Expression>>>);

impl Expressions {
    /// Evaluates an expression that was accepted when it was stored.
    ///
    /// # Errors
    /// The message of kube-apiserver, if the evaluation fails.
    pub(super) fn evaluate(&self, source: &str, variables: &Variables) -> Result<CelValue, String> {
        match self.compiled(source)?.evaluate(variables) {
            Ok(value) => Ok(value),
            Err(EvaluationError::Failed(cause)) => Err(cause),
            Err(EvaluationError::TooExpensive) => Err(OVER_BUDGET.to_owned()),
        }
    }

    fn compiled(&self, source: &str) -> Result<Arc<Expression>, String> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(source).cloned();
        if let Some(expression) = known {
            return Ok(expression);
        }
        let expression = Arc::new(scope::compile_stored(source)?);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_COMPILED {
            known.clear();
        }
        known.insert(source.to_owned(), Arc::clone(&expression));
        Ok(expression)
    }
}

const OVER_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// Returns the message for an expression that fails.
pub(super) fn failure(source: &str, cause: &str) -> String {
    match cause {
        OVER_BUDGET => OVER_BUDGET.to_owned(),
        cause => format!("expression '{source}' resulted in error: {cause}"),
    }
}

/// Returns whether a request meets all conditions: a condition that is false decides, even if another one fails.
///
/// # Errors
/// The message, if no condition is false and at least one cannot be evaluated.
pub(super) fn all_match(
    conditions: &[MatchCondition],
    expressions: &Expressions,
    variables: &Variables,
) -> Result<bool, String> {
    let mut failures = Vec::new();
    for condition in conditions {
        let source = &condition.expression;
        match expressions.evaluate(source, variables) {
            Ok(CelValue::Bool(false)) => return Ok(false),
            Ok(_) => {}
            Err(cause) => failures.push(failure(source, &cause)),
        }
    }
    match failures.as_slice() {
        [] => Ok(true),
        [failure] => Err(failure.clone()),
        failures => Err(format!("[{}]", failures.join(", "))),
    }
}

/// Returns the errors of the match conditions at a path.
pub(super) fn condition_errors(path: &str, conditions: &Value, scope: &Scope) -> Vec<FieldError> {
    let conditions = conditions.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut errors = Vec::new();
    if conditions.len() as u64 > MAX_CONDITIONS {
        errors.push(FieldError::too_many(path, conditions.len(), MAX_CONDITIONS));
    }
    let mut names = HashSet::new();
    for (position, condition) in conditions.iter().enumerate() {
        let field = |name: &str| format!("{path}[{position}].{name}");
        let text = |name: &str| condition.get(name).and_then(Value::as_str).unwrap_or_default();
        match text("expression").trim() {
            "" => errors.push(FieldError::required(&field("expression"), "")),
            source => {
                if let Err(cause) = scope.compile(source, &["bool"]) {
                    errors.push(FieldError::invalid(&field("expression"), &source.into(), &cause));
                }
            }
        }
        match text("name") {
            "" => errors.push(FieldError::required(&field("name"), "")),
            name => {
                let broken = broken_key(name);
                let invalid = |detail: &String| FieldError::invalid(&field("name"), &name.into(), detail);
                errors.extend(broken.iter().map(invalid));
                if !names.insert(name) {
                    errors.push(FieldError::duplicate(&field("name"), &name.into()));
                }
            }
        }
    }
    errors
}
