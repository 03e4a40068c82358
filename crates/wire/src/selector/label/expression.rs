//! Converts `matchLabels` and `matchExpressions` to label selectors.

use super::{
    requirement::{LabelOperator, LabelRequirement},
    selector::LabelSelector,
};
use crate::selector::error::{ParseError, SelectorError, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1;

/// Converts the selector of an object such as a Deployment; an empty one matches everything.
impl TryFrom<&v1::LabelSelector> for LabelSelector {
    type Error = SelectorError;

    fn try_from(selector: &v1::LabelSelector) -> Result<Self, SelectorError> {
        let labels = Self::of_labels(selector.match_labels.iter().flatten())?;
        let expressions = selector.match_expressions.iter().flatten().map(requirement);
        Ok(labels.and(expressions.collect::<Result<_, _>>()?))
    }
}

/// As in Kubernetes, an absent selector matches nothing and an empty one everything.
impl TryFrom<Option<&v1::LabelSelector>> for LabelSelector {
    type Error = SelectorError;

    fn try_from(selector: Option<&v1::LabelSelector>) -> Result<Self, SelectorError> {
        selector.map_or(Ok(Self::nothing()), Self::try_from)
    }
}

fn requirement(expression: &v1::LabelSelectorRequirement) -> Result<LabelRequirement, SelectorError> {
    let v1::LabelSelectorRequirement { key, operator: name, values } = expression;
    let values = values.as_deref().unwrap_or_default();
    let set = || values.iter().cloned().collect();
    let operator = match (name.as_str(), values.is_empty()) {
        ("In", _) => LabelOperator::In(set()),
        ("NotIn", _) => LabelOperator::NotIn(set()),
        ("Exists", true) => LabelOperator::Exists,
        ("DoesNotExist", true) => LabelOperator::DoesNotExist,
        ("Exists" | "DoesNotExist", false) => return Err(invalid(key, name, "no values")),
        _ => return Err(invalid(key, name, "In, NotIn, Exists or DoesNotExist")),
    };
    LabelRequirement::new(key, operator)
}

fn invalid(key: &str, operator: &str, expected: &'static str) -> SelectorError {
    ParseError::new(key.len() + 1, expected).of(Subject::MatchExpression, &format!("{key} {operator}"))
}
