//! One rule of a role, and the requests that it allows.

use crate::rbac::attributes::{Attributes, ResourceAttributes};
use serde::{Deserialize, Serialize};

/// A rule of a Role or ClusterRole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PolicyRule {
    pub(crate) verbs: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) api_groups: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) resources: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) resource_names: Vec<String>,
    #[serde(rename = "nonResourceURLs", skip_serializing_if = "Vec::is_empty")]
    pub(crate) non_resource_urls: Vec<String>,
}

/// Matches every value of a field of a rule.
pub(crate) const ALL: &str = "*";

impl PolicyRule {
    /// Returns true if the rule allows a request.
    pub(crate) fn allows(&self, attributes: &Attributes) -> bool {
        match attributes {
            Attributes::Resource(wanted) => self.allows_resource(wanted),
            Attributes::Path { verb, path } => contains(&self.verbs, verb) && self.allows_path(path),
        }
    }

    fn allows_resource(&self, wanted: &ResourceAttributes) -> bool {
        contains(&self.verbs, &wanted.verb)
            && contains(&self.api_groups, &wanted.group)
            && self.matches_resource(&wanted.combined(), &wanted.subresource)
            && (self.resource_names.is_empty() || self.resource_names.contains(&wanted.name))
    }

    fn matches_resource(&self, combined: &str, subresource: &str) -> bool {
        self.resources.iter().any(|own| {
            let is_any_parent = || own.strip_prefix("*/").is_some_and(|own| own == subresource);
            own == ALL || own == combined || (!subresource.is_empty() && is_any_parent())
        })
    }

    pub(crate) fn allows_path(&self, path: &str) -> bool {
        self.non_resource_urls.iter().any(|own| match own.strip_suffix('*') {
            Some(prefix) => path.starts_with(prefix.trim_end_matches('*')),
            None => own == path,
        })
    }
}

fn contains(values: &[String], wanted: &str) -> bool {
    values.iter().any(|value| value == ALL || value == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_rule_allows_what_it_names() {
        let rule = |rule| serde_json::from_value::<PolicyRule>(rule).unwrap();
        let pods = rule(json!({ "verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"] }));
        let named =
            rule(json!({ "verbs": ["*"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"] }));
        let status = rule(json!({ "verbs": ["*"], "apiGroups": ["*"], "resources": ["*/status"] }));
        let all = rule(json!({ "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"] }));
        let paths = rule(json!({ "verbs": ["get"], "nonResourceURLs": ["/api/*", "/version"] }));
        let on = |verb: &str, resource: &str, subresource: &str, name: &str| {
            let owned = str::to_owned;
            let (verb, resource, subresource, name) =
                (owned(verb), owned(resource), owned(subresource), owned(name));
            Attributes::Resource(ResourceAttributes {
                verb,
                resource,
                subresource,
                name,
                ..Default::default()
            })
        };
        let path = |verb: &str, path: &str| Attributes::Path { verb: verb.to_owned(), path: path.to_owned() };
        let table = [
            (&pods, on("get", "pods", "", "x"), true),
            (&pods, on("delete", "pods", "", "x"), false),
            (&pods, on("get", "pods", "status", "x"), false),
            (&pods, on("get", "secrets", "", "x"), false),
            (&named, on("get", "pods", "", "a"), true),
            (&named, on("get", "pods", "", "b"), false),
            (&named, on("list", "pods", "", ""), false),
            (&status, on("update", "nodes", "status", "x"), true),
            (&status, on("update", "nodes", "", "x"), false),
            (&all, on("update", "nodes", "status", "x"), true),
            (&all, path("get", "/version"), false),
            (&paths, path("get", "/version"), true),
            (&paths, path("get", "/api/v1"), true),
            (&paths, path("get", "/apis"), false),
            (&paths, path("post", "/version"), false),
            (&paths, on("get", "pods", "", ""), false),
        ];
        for (rule, attributes, is_allowed) in table {
            assert_eq!(rule.allows(&attributes), is_allowed, "{rule:?} {attributes}");
        }
    }
}
