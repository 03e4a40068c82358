//! The permissions that informers need.

use crate::informer::ServedResource;
use k8s_openapi::api::rbac::v1::PolicyRule;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

/// Returns the minimal rules with which informers can list and watch these resources.
///
/// Rules for writes depend on the reconcile functions; add them with [`rule`]. Resources with
/// [namespaces](ServedResource::namespaces) need a `Role` in each of them, all others a `ClusterRole`.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_devserver::DevServer;
/// use kube_informer::{Informer, manager::rbac_rules};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = DevServer::start();
/// let pods = Informer::<Pod>::builder(server.client()).start()?;
/// let rules = rbac_rules(pods.served_resource());
/// assert_eq!(rules[0].resources.as_deref(), Some(&["pods".to_owned()][..]));
/// # Ok(()) }
/// ```
#[must_use]
pub fn rbac_rules<'a>(resources: impl IntoIterator<Item = &'a ServedResource>) -> Vec<PolicyRule> {
    let mut groups: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for resource in resources {
        groups.entry(&resource.group).or_default().insert(&resource.plural);
    }
    groups.into_iter().map(|(group, plurals)| rule(group, plurals, ["list", "watch"])).collect()
}

/// Returns a rule for requests of a reconcile function. The core group is empty.
///
/// A server-side apply needs `patch`, and `create` for objects that may not exist yet.
///
/// ```
/// use kube_informer::manager::rule;
///
/// let writes = rule("apps", ["deployments"], ["create", "patch"]);
/// assert_eq!(writes.verbs, ["create", "patch"]);
/// ```
#[must_use]
pub fn rule<R, V>(
    group: &str,
    resources: impl IntoIterator<Item = R>,
    verbs: impl IntoIterator<Item = V>,
) -> PolicyRule
where
    R: Into<String>,
    V: Into<String>,
{
    PolicyRule {
        api_groups: Some(vec![group.to_owned()]),
        resources: Some(resources.into_iter().map(Into::into).collect()),
        verbs: verbs.into_iter().map(Into::into).collect(),
        ..PolicyRule::default()
    }
}

/// Returns the manifests of the roles with this name: one `ClusterRole`, and a `Role` for each namespace, as far as needed.
#[must_use]
pub fn role_yaml<'a>(name: &str, resources: impl IntoIterator<Item = &'a ServedResource>) -> String {
    roles_yaml(name, resources, &BTreeMap::new())
}

/// Returns the manifests of [`role_yaml`], with further rules by namespace. Rules without a namespace are in the `ClusterRole`.
pub(super) fn roles_yaml<'a>(
    name: &str,
    resources: impl IntoIterator<Item = &'a ServedResource>,
    further: &BTreeMap<Option<String>, Vec<PolicyRule>>,
) -> String {
    let mut scopes: BTreeMap<Option<&str>, Vec<&ServedResource>> = BTreeMap::new();
    for resource in resources {
        match &resource.namespaces {
            None => scopes.entry(None).or_default().push(resource),
            Some(namespaces) => {
                for namespace in namespaces {
                    scopes.entry(Some(namespace)).or_default().push(resource);
                }
            }
        }
    }
    for namespace in further.keys() {
        scopes.entry(namespace.as_deref()).or_default();
    }
    let mut text = String::new();
    for (number, (namespace, resources)) in scopes.into_iter().enumerate() {
        if number > 0 {
            text.push_str("---\n");
        }
        // Writing to a string does not fail.
        let kind = if namespace.is_some() { "Role" } else { "ClusterRole" };
        let _ = writeln!(
            text,
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}\nmetadata:\n  name: {name}"
        );
        if let Some(namespace) = namespace {
            let _ = writeln!(text, "  namespace: {namespace}");
        }
        text.push_str("rules:\n");
        let mut rules = rbac_rules(resources);
        rules.extend(further.get(&namespace.map(str::to_owned)).into_iter().flatten().cloned());
        for rule in rules {
            let fields = [
                ("apiGroups", rule.api_groups),
                ("resources", rule.resources),
                ("resourceNames", rule.resource_names),
                ("nonResourceURLs", rule.non_resource_urls),
                ("verbs", Some(rule.verbs)),
            ];
            let fields = fields.into_iter().filter_map(|(name, items)| Some((name, items?)));
            for (number, (name, items)) in fields.enumerate() {
                let start = if number == 0 { "-" } else { " " };
                let items: Vec<_> = items.iter().map(|item| format!("\"{item}\"")).collect();
                let _ = writeln!(text, "  {start} {name}: [{}]", items.join(", "));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_contain_each_resource_once() {
        let resource = |group: &str, plural: &str, namespaces: Option<&[&str]>| ServedResource {
            group: group.to_owned(),
            plural: plural.to_owned(),
            namespaces: namespaces.map(|all| all.iter().map(|&name| name.to_owned()).collect()),
        };
        let resources = [
            resource("apps", "deployments", None),
            resource("", "pods", Some(&["web"])),
            resource("apps", "deployments", None),
            resource("apps", "statefulsets", None),
        ];
        let rules = rbac_rules(&resources);
        assert_eq!(rules.len(), 2);
        assert_eq!(rules[1].resources, Some(vec!["deployments".to_owned(), "statefulsets".to_owned()]));
        let expected = "\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: op
rules:
  - apiGroups: [\"apps\"]
    resources: [\"deployments\", \"statefulsets\"]
    verbs: [\"list\", \"watch\"]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: op
  namespace: web
rules:
  - apiGroups: [\"\"]
    resources: [\"pods\"]
    verbs: [\"list\", \"watch\"]
";
        assert_eq!(role_yaml("op", &resources), expected);
        let writes = rule("apps", ["deployments"], ["create", "patch"]);
        let with_writes = roles_yaml("op", &resources, &BTreeMap::from([(None, vec![writes])]));
        let added = "  - apiGroups: [\"apps\"]\n    resources: [\"deployments\"]\n    verbs: [\"create\", \"patch\"]\n---\n";
        assert_eq!(with_writes, expected.replacen("---\n", added, 1), "only in the cluster role");
        let metrics = PolicyRule {
            non_resource_urls: Some(vec!["/metrics".into()]),
            verbs: vec!["get".into()],
            ..PolicyRule::default()
        };
        let with_url = roles_yaml("op", &resources, &BTreeMap::from([(None, vec![metrics])]));
        let added = "  - nonResourceURLs: [\"/metrics\"]\n    verbs: [\"get\"]\n---\n";
        assert_eq!(with_url, expected.replacen("---\n", added, 1));
    }
}
