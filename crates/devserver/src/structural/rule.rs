//! One rule of `x-kubernetes-validations`.

use crate::expression::Expression;
use serde_json::Value;
use std::sync::Arc;

/// The variables of rules.
pub(super) const VARIABLES: [&str; 2] = ["self", "oldSelf"];

/// A compiled rule.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    /// The rule as the definition has it.
    source: Value,
    pub(crate) expression: Arc<Expression>,
    pub(crate) message_expression: Option<Arc<Expression>>,
}

impl Rule {
    /// Compiles a rule; `None` if it is not valid.
    pub(crate) fn new(source: &Value) -> Option<Self> {
        let expression = Arc::new(Expression::compile(source["rule"].as_str()?.trim(), &VARIABLES).ok()?);
        let message = source["messageExpression"].as_str().map(str::trim).filter(|text| !text.is_empty());
        let message_expression =
            message.and_then(|text| Expression::compile(text, &VARIABLES).ok()).map(Arc::new);
        Some(Self { source: source.clone(), expression, message_expression })
    }

    /// Returns a text of the rule: `message`, `reason` or `fieldPath`.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.source[name].as_str().unwrap_or_default().trim()
    }

    /// Returns the message, or else the rule itself.
    pub(crate) fn name(&self) -> &str {
        match self.text("message") {
            "" => self.text("rule"),
            message => message,
        }
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}
