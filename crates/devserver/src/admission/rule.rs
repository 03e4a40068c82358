//! The rules and selectors that select the requests of a webhook or a policy.

use super::review::Attributes;
use crate::object::label_selector_matches;
use serde::Deserialize;
use serde_json::Value;

/// The scope of the resources that a rule matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
enum Scope {
    Cluster,
    Namespaced,
    #[default]
    #[serde(rename = "*")]
    All,
}

/// A rule: operations and resources.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Rule {
    #[serde(default)]
    operations: Vec<String>,
    #[serde(default)]
    api_groups: Vec<String>,
    #[serde(default)]
    api_versions: Vec<String>,
    #[serde(default)]
    resources: Vec<String>,
    #[serde(default)]
    scope: Scope,
    /// The names of the objects; all if it is empty. Webhooks have none.
    #[serde(default)]
    resource_names: Vec<String>,
}

impl Rule {
    pub(super) fn matches(&self, attributes: &Attributes<'_>) -> bool {
        let Attributes { operation, resource, subresource, name, .. } = attributes;
        let has = |list: &[String], value: &str| list.iter().any(|one| one == "*" || one == value);
        let in_scope = match self.scope {
            Scope::All => true,
            Scope::Cluster => !resource.is_namespaced(),
            Scope::Namespaced => resource.is_namespaced(),
        };
        in_scope
            && has(&self.operations, operation.as_str())
            && has(&self.api_groups, &resource.group)
            && has(&self.api_versions, &resource.version)
            && self.resources.iter().any(|pattern| matches_resource(pattern, &resource.plural, subresource))
            && (self.resource_names.is_empty() || self.resource_names.iter().any(|one| one == name))
    }
}

/// The selectors of namespaces and of objects.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Selectors {
    #[serde(default)]
    namespace_selector: Value,
    #[serde(default)]
    object_selector: Value,
}

impl Selectors {
    /// Returns whether the object of a request is selected. `namespace` is the namespace of the object, if it is in one.
    pub(super) fn match_object(&self, attributes: &Attributes<'_>, namespace: Option<&Value>) -> bool {
        // A namespace is selected by its own labels, and other cluster-scoped objects always.
        let is_namespace = attributes.resource.is("", "namespaces");
        let selected = if is_namespace { attributes.object.or(attributes.old) } else { namespace };
        let matches_namespace = selects_all(&self.namespace_selector)
            || selected.is_none_or(|object| label_selector_matches(Some(&self.namespace_selector), object));
        // An object is selected by its old or its new labels.
        let mut states = [attributes.object, attributes.old].into_iter().flatten();
        let matches_object = selects_all(&self.object_selector)
            || states.any(|state| label_selector_matches(Some(&self.object_selector), state));
        matches_namespace && matches_object
    }
}

fn selects_all(selector: &Value) -> bool {
    let is_empty = |part: &str| match selector.get(part) {
        Some(Value::Object(labels)) => labels.is_empty(),
        Some(Value::Array(expressions)) => expressions.is_empty(),
        _ => true,
    };
    is_empty("matchLabels") && is_empty("matchExpressions")
}

/// Returns whether a pattern such as `pods`, `pods/status`, `*`, `*/*` or `pods/*` matches a resource.
fn matches_resource(pattern: &str, plural: &str, subresource: &str) -> bool {
    let (resource, part) = pattern.split_once('/').unwrap_or((pattern, ""));
    (resource == "*" || resource == plural) && (part == "*" || part == subresource)
}

#[cfg(test)]
mod tests {
    use super::matches_resource;

    #[test]
    fn patterns_match_resources_and_subresources() {
        for (pattern, matched) in [
            ("pods", [true, false, false]),
            ("pods/status", [false, true, false]),
            ("pods/*", [true, true, false]),
            ("*", [true, false, true]),
            ("*/*", [true, true, true]),
            ("*/status", [false, true, false]),
            ("nodes", [false, false, false]),
        ] {
            let found = [("pods", ""), ("pods", "status"), ("deployments", "")]
                .map(|(plural, part)| matches_resource(pattern, plural, part));
            assert_eq!(found, matched, "{pattern}");
        }
    }
}
