//! Validating admission policies and their bindings: their selectors and decisions.

use super::condition::{Expressions, MatchCondition, all_match, failure};
use super::review::Attributes;
use super::rule::{Rule, Selectors};
use super::scope;
use super::webhook::FailurePolicy;
use crate::expression::{Variables, from_json, map, text_key};
use cel::Value as CelValue;
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashMap;

/// The maximum length of a message that an expression returns, in bytes.
const MAX_MESSAGE: usize = 5 << 10;

/// A validating admission policy, with its defaults.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Policy {
    #[serde(default)]
    pub(crate) failure_policy: FailurePolicy,
    pub(crate) param_kind: Option<ParamKind>,
    match_constraints: MatchResources,
    #[serde(default)]
    match_conditions: Vec<MatchCondition>,
    #[serde(default)]
    variables: Vec<Variable>,
    #[serde(default)]
    validations: Vec<Validation>,
    #[serde(default)]
    audit_annotations: Vec<AuditAnnotation>,
}

/// The kind of the parameters of a policy.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ParamKind {
    pub(crate) api_version: String,
    pub(crate) kind: String,
}

/// The requests that a policy or a binding is about.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MatchResources {
    #[serde(flatten)]
    selectors: Selectors,
    #[serde(default)]
    resource_rules: Vec<Rule>,
    #[serde(default)]
    exclude_resource_rules: Vec<Rule>,
}

#[derive(Clone, Debug, Deserialize)]
struct Variable {
    name: String,
    expression: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Validation {
    expression: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    message_expression: String,
    reason: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AuditAnnotation {
    value_expression: String,
}

/// A binding of a policy.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Binding {
    pub(crate) policy_name: String,
    pub(crate) param_ref: Option<ParamRef>,
    #[serde(default)]
    match_resources: MatchResources,
    #[serde(default)]
    pub(crate) validation_actions: Vec<ValidationAction>,
}

/// The parameters of a binding.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ParamRef {
    #[serde(default)]
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) namespace: String,
    pub(crate) selector: Option<Value>,
    #[serde(default)]
    pub(crate) parameter_not_found_action: NotFoundAction,
}

/// What happens to a request if a binding has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) enum NotFoundAction {
    Allow,
    #[default]
    Deny,
}

/// What happens to a request that breaks a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) enum ValidationAction {
    Deny,
    Warn,
    /// This server has no audit log.
    Audit,
}

/// A validation of a policy that a request breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) message: String,
    /// The reason of the response.
    pub(crate) reason: String,
}

/// The result of a policy for a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) violations: Vec<Violation>,
    /// The audit annotations that cannot be evaluated, which deny a request whatever the actions of the binding are.
    pub(crate) failed_annotations: Vec<Violation>,
}

impl Violation {
    /// Creates the violation for an expression that cannot be evaluated.
    pub(crate) fn failed(message: String) -> Self {
        Self { message, reason: "Invalid".to_owned() }
    }

    /// Returns the code of the response.
    pub(crate) fn code(&self) -> u16 {
        match self.reason.as_str() {
            "Unauthorized" => 401,
            "Forbidden" => 403,
            "RequestEntityTooLarge" => 413,
            _ => 422,
        }
    }
}

impl MatchResources {
    fn matches(&self, attributes: &Attributes<'_>, namespace: Option<&Value>) -> bool {
        self.selectors.match_object(attributes, namespace)
            && !self.exclude_resource_rules.iter().any(|rule| rule.matches(attributes))
            && (self.resource_rules.is_empty()
                || self.resource_rules.iter().any(|rule| rule.matches(attributes)))
    }
}

impl Binding {
    /// Reads the binding; `None` if it is not valid, and was refused when it was created.
    pub(crate) fn read(object: &Value) -> Option<Self> {
        Self::deserialize(object.get("spec")?).ok()
    }

    /// Returns whether the binding applies to a request. `namespace` is the namespace of the object, if it is in one.
    pub(crate) fn matches(&self, attributes: &Attributes<'_>, namespace: Option<&Value>) -> bool {
        self.match_resources.matches(attributes, namespace)
    }
}

/// The values that a policy is evaluated with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evaluation<'e> {
    pub(crate) attributes: &'e Attributes<'e>,
    /// The namespace of the object, if it is in one.
    pub(crate) namespace: Option<&'e Value>,
    /// The parameter of the binding, if it has one.
    pub(crate) param: Option<&'e Value>,
    pub(crate) expressions: &'e Expressions,
}

impl Policy {
    /// Reads the policy; `None` if it is not valid, and was refused when it was created.
    pub(crate) fn read(object: &Value) -> Option<Self> {
        Self::deserialize(object.get("spec")?).ok()
    }

    /// Returns whether the policy applies to a request. `namespace` is the namespace of the object, if it is in one.
    pub(crate) fn matches(&self, attributes: &Attributes<'_>, namespace: Option<&Value>) -> bool {
        self.match_constraints.matches(attributes, namespace)
    }

    /// Returns the validations that a request breaks. An expression that fails is a violation, unless the failure policy ignores it.
    pub(crate) fn evaluate(&self, evaluation: Evaluation<'_>) -> Verdict {
        let Evaluation { attributes, namespace, param, expressions } = evaluation;
        let set_param = |variables: &mut Variables| {
            let param = param.unwrap_or(&Value::Null);
            variables.set("params", from_json(param), param);
        };
        let mut verdict = Verdict::default();
        let fail = |message: String| match self.failure_policy {
            FailurePolicy::Fail => Some(Violation::failed(message)),
            FailurePolicy::Ignore => None,
        };
        let mut values = scope::variables(attributes, None);
        set_param(&mut values);
        match all_match(&self.match_conditions, expressions, &values) {
            Ok(true) => {}
            Ok(false) => return verdict,
            Err(message) => {
                verdict.violations.extend(fail(message));
                return verdict;
            }
        }
        let mut values = scope::variables(attributes, namespace);
        set_param(&mut values);
        let computed = self.compute(&mut values, expressions);
        let evaluate = |source: &str| {
            let value = expressions.evaluate(source, &values);
            value.map_err(|cause| failure(source, &computed.explain(&cause)))
        };
        for validation in &self.validations {
            match evaluate(&validation.expression) {
                Ok(CelValue::Bool(true)) => {}
                Ok(_) => verdict.violations.push(Violation {
                    message: validation.message(&evaluate),
                    reason: validation.reason.clone().unwrap_or_else(|| "Invalid".to_owned()),
                }),
                Err(message) => verdict.violations.extend(fail(message)),
            }
        }
        for annotation in &self.audit_annotations {
            if let Err(message) = evaluate(&annotation.value_expression) {
                verdict.failed_annotations.extend(fail(message));
            }
        }
        verdict
    }

    /// Evaluates the variables of the policy. One that fails is missing from `variables`.
    fn compute(&self, values: &mut Variables, expressions: &Expressions) -> Computed {
        let mut computed = Computed::default();
        values.set_computed("variables", map(HashMap::new()));
        let mut known = HashMap::new();
        for Variable { name, expression } in &self.variables {
            match expressions.evaluate(expression, values) {
                Ok(value) => {
                    known.insert(text_key(name), value);
                    values.set_computed("variables", map(known.clone()));
                }
                Err(cause) => {
                    let cause = computed.explain(&cause);
                    computed.failed.push((name.clone(), cause));
                }
            }
        }
        computed
    }
}

/// The variables of a policy that cannot be evaluated, with the causes.
#[derive(Debug, Default)]
struct Computed {
    failed: Vec<(String, String)>,
}

impl Computed {
    /// Returns why an expression fails: a variable that it refers to may have failed.
    fn explain(&self, cause: &str) -> String {
        let failed = cause.strip_prefix("no such key: ");
        let failed = failed.and_then(|name| self.failed.iter().find(|(failed, _)| failed == name));
        match failed {
            Some((name, cause)) => format!("composited variable {name:?} fails to evaluate: {cause}"),
            None => cause.to_owned(),
        }
    }
}

impl Validation {
    /// Returns the message for a request that breaks the validation.
    fn message(&self, evaluate: &dyn Fn(&str) -> Result<CelValue, String>) -> String {
        let computed = match self.message_expression.trim() {
            "" => None,
            _ => match evaluate(&self.message_expression) {
                Ok(CelValue::String(text)) => Some(text.trim().to_owned()),
                Ok(_) | Err(_) => None,
            },
        };
        let is_valid = |text: &String| !text.is_empty() && text.len() <= MAX_MESSAGE && !text.contains('\n');
        match (computed.filter(is_valid), self.message.trim()) {
            (Some(text), _) => text,
            (None, "") => format!("failed expression: {}", self.expression.trim()),
            (None, message) => message.to_owned(),
        }
    }
}
