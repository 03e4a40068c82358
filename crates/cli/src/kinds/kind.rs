//! A kind of objects that a server has.

use kube_core::{ApiResource, GroupVersionKind};

/// A kind of objects, as the server describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) kind: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) verbs: Vec<String>,
    pub(crate) has_namespaces: bool,
}

impl Kind {
    /// As kube wants it.
    pub(crate) fn api_resource(&self) -> ApiResource {
        let gvk = GroupVersionKind::gvk(&self.group, &self.version, &self.kind);
        ApiResource::from_gvk_with_plural(&gvk, &self.plural)
    }

    /// `pods`, `deployments.apps`.
    pub(crate) fn resource(&self) -> String {
        self.with_group(&self.plural)
    }

    /// `pod`, `deployment.apps`: what stands before the name in `kubectl get -o name`.
    pub(crate) fn prefix(&self) -> String {
        self.with_group(&self.kind.to_lowercase())
    }

    /// `v1`, `apps/v1`.
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// Whether its names are such as Kubernetes has: they are shown, and stand in paths.
    pub(crate) fn is_well_named(&self) -> bool {
        let is_plain =
            |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_' | '/');
        let names = [&self.group, &self.version, &self.plural, &self.singular, &self.kind];
        names.into_iter().all(|name| name.chars().all(is_plain))
    }

    /// Whether it can be followed.
    pub(crate) fn can_be_watched(&self) -> bool {
        ["list", "watch"].iter().all(|verb| self.verbs.iter().any(|known| known == verb))
    }

    /// Whether a word names it, in any of the ways in which kubectl lets one.
    pub(crate) fn is_called(&self, word: &str) -> bool {
        word == self.plural
            || word == self.singular
            || word == self.kind.to_lowercase()
            || self.short_names.iter().any(|name| name == word)
    }

    fn with_group(&self, name: &str) -> String {
        if self.group.is_empty() { name.to_owned() } else { format!("{name}.{}", self.group) }
    }
}
