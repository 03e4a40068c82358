//! The roles that are part of every cluster.
//!
//! They apply without objects; an object of the same name replaces one.

use crate::rbac::rule::PolicyRule;

/// A cluster role that is bound to a group in every cluster.
pub(crate) struct DefaultBinding {
    /// The name of the binding and of the cluster role.
    pub(crate) role: &'static str,
    /// The group that has the role.
    pub(crate) group: &'static str,
}

const fn bind(role: &'static str, group: &'static str) -> DefaultBinding {
    DefaultBinding { role, group }
}

/// The roles that every cluster binds to groups.
pub(crate) const DEFAULT_BINDINGS: &[DefaultBinding] = &[
    bind("cluster-admin", "system:masters"),
    bind("system:basic-user", "system:authenticated"),
    bind("system:discovery", "system:authenticated"),
    bind("system:public-info-viewer", "system:authenticated"),
    bind("system:public-info-viewer", "system:unauthenticated"),
    bind("system:service-account-issuer-discovery", "system:serviceaccounts"),
];

/// Returns the rules of a cluster role that is part of every cluster.
pub(crate) fn default_role(name: &str) -> Option<Vec<PolicyRule>> {
    Some(match name {
        "cluster-admin" => vec![rule(&["*"], &["*"], &["*"]), urls(&["*"], &["*"])],
        "system:basic-user" => vec![
            rule(
                &["create"],
                &["authorization.k8s.io"],
                &["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
            ),
            rule(&["create"], &["authentication.k8s.io"], &["selfsubjectreviews"]),
        ],
        "system:discovery" => vec![urls(
            &["get"],
            &[
                "/api",
                "/api/*",
                "/apis",
                "/apis/*",
                "/healthz",
                "/livez",
                "/openapi",
                "/openapi/*",
                "/readyz",
                "/version",
                "/version/",
            ],
        )],
        "system:public-info-viewer" => {
            vec![urls(&["get"], &["/healthz", "/livez", "/readyz", "/version", "/version/"])]
        }
        "system:service-account-issuer-discovery" => vec![urls(
            &["get"],
            &[
                "/.well-known/openid-configuration",
                "/.well-known/openid-configuration/",
                "/openid/v1/jwks",
                "/openid/v1/jwks/",
            ],
        )],
        "system:auth-delegator" => vec![
            rule(&["create"], &["authentication.k8s.io"], &["tokenreviews"]),
            rule(&["create"], &["authorization.k8s.io"], &["subjectaccessreviews"]),
        ],
        "view" => rules(READ, VIEWED),
        "edit" => edit(),
        "admin" => admin(),
        _ => return None,
    })
}

const READ: &[&str] = &["get", "list", "watch"];
const WRITE: &[&str] = &["create", "delete", "deletecollection", "patch", "update"];
const EVERY: &[&str] = &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// Resources of one group.
struct Resources {
    group: &'static str,
    resources: &'static [&'static str],
}

const fn of(group: &'static str, resources: &'static [&'static str]) -> Resources {
    Resources { group, resources }
}

const VIEWED: &[Resources] = &[
    of(
        "",
        &[
            "bindings",
            "configmaps",
            "endpoints",
            "events",
            "limitranges",
            "namespaces",
            "namespaces/status",
            "persistentvolumeclaims",
            "persistentvolumeclaims/status",
            "pods",
            "pods/log",
            "pods/status",
            "replicationcontrollers",
            "replicationcontrollers/scale",
            "replicationcontrollers/status",
            "resourcequotas",
            "resourcequotas/status",
            "serviceaccounts",
            "services",
            "services/status",
        ],
    ),
    of("events.k8s.io", &["events"]),
    of("discovery.k8s.io", &["endpointslices"]),
    of(
        "apps",
        &[
            "controllerrevisions",
            "daemonsets",
            "daemonsets/status",
            "deployments",
            "deployments/scale",
            "deployments/status",
            "replicasets",
            "replicasets/scale",
            "replicasets/status",
            "statefulsets",
            "statefulsets/scale",
            "statefulsets/status",
        ],
    ),
    of("autoscaling", &["horizontalpodautoscalers", "horizontalpodautoscalers/status"]),
    of("batch", &["cronjobs", "cronjobs/status", "jobs", "jobs/status"]),
    of("policy", &["poddisruptionbudgets", "poddisruptionbudgets/status"]),
    of("networking.k8s.io", &["ingresses", "ingresses/status", "networkpolicies"]),
    of("resource.k8s.io", &["resourceclaims", "resourceclaims/status", "resourceclaimtemplates"]),
];

const EDITED: &[Resources] = &[
    of(
        "",
        &[
            "configmaps",
            "events",
            "persistentvolumeclaims",
            "pods",
            "pods/attach",
            "pods/exec",
            "pods/portforward",
            "pods/proxy",
            "replicationcontrollers",
            "replicationcontrollers/scale",
            "secrets",
            "serviceaccounts",
            "services",
            "services/proxy",
        ],
    ),
    of("events.k8s.io", &["events"]),
    of(
        "apps",
        &[
            "daemonsets",
            "deployments",
            "deployments/rollback",
            "deployments/scale",
            "replicasets",
            "replicasets/scale",
            "statefulsets",
            "statefulsets/scale",
        ],
    ),
    of("autoscaling", &["horizontalpodautoscalers"]),
    of("batch", &["cronjobs", "jobs"]),
    of("policy", &["poddisruptionbudgets"]),
    of("networking.k8s.io", &["ingresses", "networkpolicies"]),
    of("resource.k8s.io", &["resourceclaims", "resourceclaimtemplates"]),
];

fn edit() -> Vec<PolicyRule> {
    let mut all = rules(READ, VIEWED);
    all.extend(rules(WRITE, EDITED));
    all.extend([
        rule(
            READ,
            &[""],
            &["pods/attach", "pods/exec", "pods/portforward", "pods/proxy", "secrets", "services/proxy"],
        ),
        rule(&["impersonate"], &[""], &["serviceaccounts"]),
        rule(&["create"], &[""], &["pods/eviction", "serviceaccounts/token"]),
        rule(EVERY, &["coordination.k8s.io"], &["leases"]),
    ]);
    all
}

fn admin() -> Vec<PolicyRule> {
    let mut all = edit();
    all.extend([
        rule(&["create"], &["authorization.k8s.io"], &["localsubjectaccessreviews"]),
        rule(EVERY, &["rbac.authorization.k8s.io"], &["rolebindings", "roles"]),
    ]);
    all
}

fn rules(verbs: &[&str], of: &[Resources]) -> Vec<PolicyRule> {
    of.iter().map(|one| rule(verbs, &[one.group], one.resources)).collect()
}

fn rule(verbs: &[&str], groups: &[&str], resources: &[&str]) -> PolicyRule {
    let (verbs, api_groups, resources) = (owned(verbs), owned(groups), owned(resources));
    PolicyRule { verbs, api_groups, resources, ..PolicyRule::default() }
}

fn urls(verbs: &[&str], urls: &[&str]) -> PolicyRule {
    PolicyRule { verbs: owned(verbs), non_resource_urls: owned(urls), ..PolicyRule::default() }
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}
