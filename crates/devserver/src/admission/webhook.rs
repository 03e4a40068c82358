//! One webhook of a configuration, and the requests that it is called for.

use super::review::{Attributes, ReviewVersion};
use crate::object::label_selector_matches;
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;

/// The stage of a request in which a webhook is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Before validation; the webhook may change the object.
    Mutating,
    /// After validation, before the object is stored.
    Validating,
}

impl Stage {
    /// Returns the plural name of the configurations.
    pub(crate) fn plural(self) -> &'static str {
        match self {
            Self::Mutating => "mutatingwebhookconfigurations",
            Self::Validating => "validatingwebhookconfigurations",
        }
    }
}

/// A webhook of a configuration, with its defaults.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Webhook {
    pub(crate) name: String,
    pub(crate) client_config: ClientConfig,
    #[serde(default)]
    admission_review_versions: Vec<String>,
    #[serde(default)]
    rules: Vec<Rule>,
    #[serde(default)]
    namespace_selector: Value,
    #[serde(default)]
    object_selector: Value,
    #[serde(default)]
    pub(crate) failure_policy: FailurePolicy,
    #[serde(default = "default_timeout")]
    timeout_seconds: u64,
    #[serde(default)]
    pub(crate) reinvocation_policy: Reinvocation,
}

/// The address of a webhook: a URL or a service.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClientConfig {
    pub(crate) url: Option<String>,
    pub(crate) service: Option<ServiceReference>,
    /// The certificates that the webhook is trusted with, as PEM in base64.
    pub(crate) ca_bundle: Option<String>,
}

/// A service of the cluster.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ServiceReference {
    pub(crate) namespace: String,
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) path: String,
    #[serde(default = "default_port")]
    pub(crate) port: u16,
}

/// What happens to a request if its webhook cannot be called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) enum FailurePolicy {
    /// The request fails.
    #[default]
    Fail,
    /// The webhook is skipped.
    Ignore,
}

/// Whether a webhook is called again if a later one changes the object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) enum Reinvocation {
    #[default]
    Never,
    IfNeeded,
}

/// The scope of the resources that a rule matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) enum Scope {
    Cluster,
    Namespaced,
    #[default]
    #[serde(rename = "*")]
    All,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
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
}

fn default_timeout() -> u64 {
    10
}

fn default_port() -> u16 {
    443
}

impl Webhook {
    /// Returns the webhooks of a configuration. One that cannot be read is skipped: it was refused when it was created.
    pub(crate) fn all(configuration: &Value) -> Vec<Self> {
        let webhooks = configuration.get("webhooks").and_then(Value::as_array).into_iter().flatten();
        webhooks.filter_map(|webhook| Self::deserialize(webhook).ok()).collect()
    }

    /// Returns the first version of reviews that the webhook accepts and this server knows.
    pub(crate) fn review_version(&self) -> ReviewVersion {
        let versions = self.admission_review_versions.iter();
        versions.filter_map(|version| ReviewVersion::parse(version)).next().unwrap_or(ReviewVersion::V1)
    }

    pub(crate) fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds)
    }

    /// Returns whether the webhook is called for a request. `namespace` is the namespace of the object, if it is in one.
    pub(crate) fn matches(&self, attributes: &Attributes<'_>, namespace: Option<&Value>) -> bool {
        self.rules.iter().any(|rule| rule.matches(attributes))
            && self.matches_namespace(attributes, namespace)
            && self.matches_object(attributes)
    }

    /// A namespace is selected by its own labels, and other cluster-scoped objects always.
    fn matches_namespace(&self, attributes: &Attributes<'_>, namespace: Option<&Value>) -> bool {
        let is_namespace = attributes.resource.is("", "namespaces");
        let selected = if is_namespace { attributes.object.or(attributes.old) } else { namespace };
        selects_all(&self.namespace_selector)
            || selected.is_none_or(|object| label_selector_matches(Some(&self.namespace_selector), object))
    }

    /// An object is selected by its old or its new labels.
    fn matches_object(&self, attributes: &Attributes<'_>) -> bool {
        let mut states = [attributes.object, attributes.old].into_iter().flatten();
        selects_all(&self.object_selector)
            || states.any(|state| label_selector_matches(Some(&self.object_selector), state))
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

impl Rule {
    fn matches(&self, attributes: &Attributes<'_>) -> bool {
        let Attributes { operation, resource, subresource, .. } = attributes;
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
    }
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
