//! The discovery documents of a server.

use super::kind::Kind;
use serde::Deserialize;

/// The response of `/api` and `/apis` with aggregated discovery: `APIGroupDiscoveryList`.
#[derive(Debug, Deserialize)]
pub(super) struct Aggregated {
    pub(super) kind: String,
    #[serde(default)]
    items: Vec<Group>,
}

#[derive(Debug, Deserialize)]
struct Group {
    #[serde(default)]
    metadata: Named,
    #[serde(default)]
    versions: Vec<Version>,
}

#[derive(Debug, Default, Deserialize)]
struct Named {
    #[serde(default)]
    name: String,
}

#[derive(Debug, Deserialize)]
struct Version {
    version: String,
    #[serde(default)]
    resources: Vec<Resource>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resource {
    resource: String,
    #[serde(default)]
    singular_resource: String,
    response_kind: Option<ResponseKind>,
    #[serde(default)]
    scope: String,
    #[serde(default)]
    short_names: Vec<String>,
    #[serde(default)]
    categories: Vec<String>,
    #[serde(default)]
    verbs: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct ResponseKind {
    kind: String,
}

impl Aggregated {
    /// All kinds in the server's order, the preferred version of each group first.
    pub(super) fn into_kinds(self) -> Vec<Kind> {
        let mut kinds = Vec::new();
        for group in self.items {
            for version in group.versions {
                let of_version = version.resources.into_iter().filter_map(|resource| {
                    Some(Kind {
                        group: group.metadata.name.clone(),
                        version: version.version.clone(),
                        plural: resource.resource,
                        singular: resource.singular_resource,
                        kind: resource.response_kind?.kind,
                        short_names: resource.short_names,
                        categories: resource.categories,
                        verbs: resource.verbs,
                        has_namespaces: resource.scope == "Namespaced",
                    })
                });
                kinds.extend(of_version);
            }
        }
        kinds
    }
}

/// The response of `/apis` without aggregated discovery.
#[derive(Debug, Deserialize)]
pub(super) struct GroupList {
    #[serde(default)]
    pub(super) groups: Vec<PlainGroup>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PlainGroup {
    versions: Vec<GroupVersion>,
    preferred_version: Option<GroupVersion>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct GroupVersion {
    group_version: String,
}

impl PlainGroup {
    /// The paths of its versions, the preferred one first.
    pub(super) fn into_paths(self) -> Vec<String> {
        let all = self.preferred_version.into_iter().chain(self.versions);
        let mut paths: Vec<String> = Vec::new();
        for path in all.map(|version| format!("/apis/{}", version.group_version)) {
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        paths
    }
}

/// The response of `/api/v1` and `/apis/apps/v1`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResourceList {
    group_version: String,
    #[serde(default)]
    resources: Vec<PlainResource>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PlainResource {
    name: String,
    #[serde(default)]
    singular_name: String,
    namespaced: bool,
    kind: String,
    #[serde(default)]
    short_names: Vec<String>,
    #[serde(default)]
    categories: Vec<String>,
    #[serde(default)]
    verbs: Vec<String>,
}

impl ResourceList {
    pub(super) fn into_kinds(self) -> Vec<Kind> {
        let (group, version) = self.group_version.split_once('/').unwrap_or(("", &self.group_version));
        let is_whole = |resource: &PlainResource| !resource.name.contains('/');
        let kinds = self.resources.into_iter().filter(is_whole).map(|resource| Kind {
            group: group.to_owned(),
            version: version.to_owned(),
            plural: resource.name,
            singular: resource.singular_name,
            kind: resource.kind,
            short_names: resource.short_names,
            categories: resource.categories,
            verbs: resource.verbs,
            has_namespaces: resource.namespaced,
        });
        kinds.collect()
    }
}
