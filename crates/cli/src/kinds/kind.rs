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

/// The maximum length of a name.
const MAX_NAME: usize = 253;

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

    /// Returns true if its names are valid in Kubernetes: they are shown, are part of paths, and name folders.
    pub(crate) fn is_well_named(&self) -> bool {
        let has_valid_letters = |name: &String| {
            name.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_'))
        };
        let is_valid = |name: &String| {
            name.len() <= MAX_NAME
                && has_valid_letters(name)
                && !name.starts_with('.')
                && !name.ends_with('.')
        };
        let names = [&self.group, &self.version, &self.plural, &self.singular, &self.kind];
        names.into_iter().all(is_valid)
            && ![&self.version, &self.plural, &self.kind].iter().any(|name| name.is_empty())
    }

    /// Returns true if it is called Secret in any way, so that it is saved only on request. A server chooses the names.
    pub(crate) fn is_secret(&self) -> bool {
        ["secret", "secrets"].iter().any(|word| self.is_called(word))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(plural: &str, name: &str) -> Kind {
        Kind { version: "v1".into(), plural: plural.into(), kind: name.into(), ..Kind::default() }
    }

    #[test]
    fn names_that_lead_elsewhere_or_fill_the_screen_are_refused() {
        assert!(kind("pods", "Pod").is_well_named());
        assert!(Kind { group: "a.example.com".into(), ..kind("my-things", "MyThing") }.is_well_named());
        let long = "x".repeat(70_000);
        for plural in
            ["", ".", "..", "../../victim", "hostile/victim", "a\\b", ".hidden", "a\u{1b}", "é", &long]
        {
            assert!(!kind(plural, "Pod").is_well_named(), "{plural:?}");
        }
        assert!(!kind("pods", &long).is_well_named());
        assert!(!Kind { group: "../x".into(), ..kind("pods", "Pod") }.is_well_named());
    }

    #[test]
    fn a_secret_is_one_under_every_name() {
        for secret in [
            kind("secrets", "Secret"),
            kind("x", "Secret"),
            kind("secrets", "X"),
            Kind { singular: "secret".into(), ..kind("x", "X") },
            Kind { short_names: vec!["secrets".into()], ..kind("x", "X") },
        ] {
            assert!(secret.is_secret(), "{secret:?}");
        }
        assert!(!kind("configmaps", "ConfigMap").is_secret());
    }
}
