//! A kind of objects of a server.

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
    /// Returns the type that kube uses.
    pub(crate) fn api_resource(&self) -> ApiResource {
        let gvk = GroupVersionKind::gvk(&self.group, &self.version, &self.kind);
        ApiResource::from_gvk_with_plural(&gvk, &self.plural)
    }

    /// `pods`, `deployments.apps`.
    pub(crate) fn resource(&self) -> String {
        self.with_group(&self.plural)
    }

    /// Returns the prefix of names in `kubectl get -o name`: `pod`, `deployment.apps`.
    pub(crate) fn prefix(&self) -> String {
        self.with_group(&self.kind.to_lowercase())
    }

    /// `v1`, `apps/v1`.
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// Returns the path of its objects, in a namespace or in all.
    pub(crate) fn path(&self, namespace: Option<&str>) -> String {
        let root = if self.group.is_empty() { "api" } else { "apis" };
        let namespace = namespace.map_or(String::new(), |namespace| format!("/namespaces/{namespace}"));
        format!("/{root}/{}{namespace}/{}", self.api_version(), self.plural)
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

    /// Returns whether it can be listed and watched.
    pub(crate) fn can_be_watched(&self) -> bool {
        ["list", "watch"].iter().all(|verb| self.verbs.iter().any(|known| known == verb))
    }

    /// Returns whether this is one of its names in kubectl.
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
