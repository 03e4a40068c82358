//! Kinds: the discovery metadata that is needed to find, print and serve recorded objects.

use kube_informer_wire::Schema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A recorded kind, valid for one history folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KindId(pub(crate) u32);

/// The discovery metadata of a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Kind {
    /// The API group; empty for the core group.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The API version, such as `v1`.
    pub version: String,
    /// The kind, such as `Pod`.
    pub kind: String,
    /// The plural resource name, such as `pods`.
    pub plural: String,
    /// The singular resource name, such as `pod`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub singular: String,
    /// Whether objects have a namespace.
    pub scope: Scope,
    /// Short names, such as `po`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub short_names: Vec<String>,
    /// Categories, such as `all`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// The additional printer columns, as in a CustomResourceDefinition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub printer_columns: Vec<serde_json::Value>,
}

/// Whether the objects of a kind have a namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scope {
    /// Objects have a namespace.
    #[default]
    Namespaced,
    /// Objects have no namespace.
    Cluster,
}

impl Kind {
    /// Creates a namespaced kind with a group (empty for the core group), version, kind and plural name.
    #[must_use]
    pub fn new(group: &str, version: &str, kind: &str, plural: &str) -> Self {
        Self {
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
            plural: plural.into(),
            singular: kind.to_lowercase(),
            ..Self::default()
        }
    }

    /// Sets the scope.
    #[must_use]
    pub fn scope(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }

    /// Sets the short names.
    #[must_use]
    pub fn short_names<S: Into<String>>(self, names: impl IntoIterator<Item = S>) -> Self {
        Self { short_names: names.into_iter().map(Into::into).collect(), ..self }
    }

    /// Returns the `apiVersion` of its objects, such as `v1` or `apps/v1`.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// Returns whether `name` refers to this kind: its kind, plural, singular or short name, optionally followed by
    /// `.GROUP`, as kubectl accepts it.
    #[must_use]
    pub fn is_named(&self, name: &str) -> bool {
        let name = match name.split_once('.') {
            None => name,
            Some((name, group)) if group == self.group => name,
            Some((name, rest)) if rest == format!("{}.{}", self.version, self.group) => name,
            Some(_) => return false,
        };
        let names = [&self.plural, &self.singular, &self.kind].into_iter().chain(&self.short_names);
        names.into_iter().any(|known| known.eq_ignore_ascii_case(name))
    }

    /// Returns whether this is the kind `Secret`, which is recorded only if it is configured. Its name is checked as well, because the
    /// plural name may be given by the user.
    pub(crate) fn is_secret(&self) -> bool {
        self.group.is_empty() && (self.plural == "secrets" || self.kind == "Secret")
    }

    /// Returns whether both have the same group, version and plural name.
    pub(crate) fn is_same_resource(&self, other: &Self) -> bool {
        self.group == other.group && self.version == other.version && self.plural == other.plural
    }

    /// Returns the protobuf schema; `None` for custom resources.
    pub(crate) fn schema(&self) -> Option<Schema> {
        Schema::of(&self.api_version(), &self.kind)
    }
}

/// Formats `pods`, or `deployments.apps` for a kind with a group.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.plural)?;
        if self.group.is_empty() { Ok(()) } else { write!(f, ".{}", self.group) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_secret_by_its_plural_name_or_its_kind() {
        assert!(Kind::new("", "v1", "Secret", "secrets").is_secret());
        assert!(Kind::new("", "v1", "Other", "secrets").is_secret());
        assert!(Kind::new("", "v1", "Secret", "others").is_secret());
        assert!(!Kind::new("example.com", "v1", "Secret", "secrets").is_secret());
        assert!(!Kind::new("", "v1", "ConfigMap", "configmaps").is_secret());
    }

    #[test]
    fn names_are_those_of_kubectl() {
        let kind = Kind::new("apps", "v1", "Deployment", "deployments").short_names(["deploy"]);
        for name in
            ["deployments", "deployment", "Deployment", "deploy", "deploy.apps", "deployments.v1.apps"]
        {
            assert!(kind.is_named(name), "{name}");
        }
        for name in ["pods", "deployments.extensions", "deployments.v2.apps", ""] {
            assert!(!kind.is_named(name), "{name}");
        }
    }
}
