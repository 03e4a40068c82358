//! One webhook of a configuration, and the requests that it is called for.

use super::condition::{Expressions, MatchCondition, all_match};
use super::review::{Attributes, ReviewVersion};
use super::rule::{Rule, Selectors};
use super::scope;
use crate::registry::Resource;
use serde::Deserialize;
use serde_json::Value;
use std::{sync::Arc, time::Duration};

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
    #[serde(flatten)]
    selectors: Selectors,
    #[serde(default)]
    match_policy: MatchPolicy,
    #[serde(default)]
    match_conditions: Vec<MatchCondition>,
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

/// Whether rules also match requests for other versions of their resources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
enum MatchPolicy {
    /// They match only the versions that they name.
    Exact,
    /// They match requests for all versions; the objects are converted to the version that is named.
    #[default]
    Equivalent,
}

/// Whether a webhook is called again if a later one changes the object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) enum Reinvocation {
    #[default]
    Never,
    IfNeeded,
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

    /// Returns the version of the resource for which the webhook is called: that of the request, or one of the other versions. `None` if its
    /// rules and selectors do not select the request.
    ///
    /// `namespace` is the namespace of the object, if it is in one.
    pub(crate) fn matched<'r>(
        &self,
        attributes: &Attributes<'r>,
        others: &'r [Arc<Resource>],
        namespace: Option<&Value>,
    ) -> Option<&'r Resource> {
        let is_named = |resource: &&'r Resource| {
            let attributes = Attributes { resource, ..*attributes };
            self.rules.iter().any(|rule| rule.matches(&attributes))
        };
        let others = match self.match_policy {
            MatchPolicy::Exact => &[],
            MatchPolicy::Equivalent => others,
        };
        let mut versions = std::iter::once(attributes.resource).chain(others.iter().map(|other| &**other));
        let found = versions.find(is_named)?;
        self.selectors.match_object(attributes, namespace).then_some(found)
    }

    /// Returns whether a request meets the match conditions of the webhook.
    ///
    /// # Errors
    /// The message, if a condition cannot be evaluated and none is false.
    pub(crate) fn meets_conditions(
        &self,
        attributes: &Attributes<'_>,
        expressions: &Expressions,
    ) -> Result<bool, String> {
        if self.match_conditions.is_empty() {
            return Ok(true);
        }
        all_match(&self.match_conditions, expressions, &scope::variables(attributes, None))
    }
}
