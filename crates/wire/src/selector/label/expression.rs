//! Label selectors as objects carry them: `matchLabels` and `matchExpressions`.

use super::{
    requirement::{Condition, LabelRequirement},
    selector::LabelSelector,
};
use crate::selector::error::{Flaw, SelectorError, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1;

/// Reads the selector out of a Deployment, a Service's policy and the like; an empty one selects everything.
impl TryFrom<&v1::LabelSelector> for LabelSelector {
    type Error = SelectorError;

    fn try_from(selector: &v1::LabelSelector) -> Result<Self, SelectorError> {
        let labels = Self::of_labels(selector.match_labels.iter().flatten())?;
        let expressions = selector.match_expressions.iter().flatten().map(requirement);
        Ok(labels.and(expressions.collect::<Result<_, _>>()?))
    }
}

/// An absent selector selects nothing, as everywhere in Kubernetes; an empty one selects everything.
impl TryFrom<Option<&v1::LabelSelector>> for LabelSelector {
    type Error = SelectorError;

    fn try_from(selector: Option<&v1::LabelSelector>) -> Result<Self, SelectorError> {
        selector.map_or(Ok(Self::nothing()), Self::try_from)
    }
}

fn requirement(expression: &v1::LabelSelectorRequirement) -> Result<LabelRequirement, SelectorError> {
    let v1::LabelSelectorRequirement { key, operator, values } = expression;
    let values = values.as_deref().unwrap_or_default();
    let set = || values.iter().cloned().collect();
    let condition = match (operator.as_str(), values.is_empty()) {
        ("In", _) => Condition::In(set()),
        ("NotIn", _) => Condition::NotIn(set()),
        ("Exists", true) => Condition::Exists,
        ("DoesNotExist", true) => Condition::Missing,
        ("Exists" | "DoesNotExist", false) => return Err(wrong(key, operator, "no values")),
        _ => return Err(wrong(key, operator, "In, NotIn, Exists or DoesNotExist")),
    };
    LabelRequirement::new(key, condition)
}

fn wrong(key: &str, operator: &str, expected: &'static str) -> SelectorError {
    Flaw::new(key.len() + 1, expected).of(Subject::MatchExpression, &format!("{key} {operator}"))
}
