//! The built-in resources, one row each.

use crate::registry::resource::{Origin, Resource, ScalePaths, Scope};

/// All built-in resources, in the order of their groups and versions in kube-apiserver.
pub(crate) fn builtin() -> Vec<Resource> {
    let of_group = |&(group, version, rows): &(&'static str, &'static str, &'static [Row])| {
        rows.iter().map(move |row| row.to_resource(group, version))
    };
    GROUPS.iter().flat_map(of_group).collect()
}

/// A row of the table. By default, a resource is namespaced and has no subresources.
#[derive(Clone, Copy)]
struct Row {
    plural: &'static str,
    kind: &'static str,
    short_names: &'static [&'static str],
    categories: &'static [&'static str],
    scope: Scope,
    has_status: bool,
    has_generation: bool,
    /// The path of the label selector of scaled pods.
    scale: Option<&'static str>,
    is_made_by_update: bool,
    needs_version: bool,
    is_review: bool,
}

const fn row(plural: &'static str, kind: &'static str) -> Row {
    Row {
        plural,
        kind,
        short_names: &[],
        categories: &[],
        scope: Scope::Namespaced,
        has_status: false,
        has_generation: false,
        scale: None,
        is_made_by_update: false,
        needs_version: false,
        is_review: false,
    }
}

impl Row {
    const fn short(self, short_names: &'static [&'static str]) -> Self {
        Self { short_names, ..self }
    }

    const fn all(self) -> Self {
        Self { categories: &["all"], ..self }
    }

    const fn api_extensions(self) -> Self {
        Self { categories: &["api-extensions"], ..self }
    }

    const fn cluster(self) -> Self {
        Self { scope: Scope::Cluster, ..self }
    }

    const fn status(self) -> Self {
        Self { has_status: true, ..self }
    }

    const fn counted(self) -> Self {
        Self { has_generation: true, ..self }
    }

    /// An update creates an object that does not exist.
    const fn made_by_update(self) -> Self {
        Self { is_made_by_update: true, ..self }
    }

    /// An update requires a resourceVersion.
    const fn versioned(self) -> Self {
        Self { needs_version: true, ..self }
    }

    /// A review, which is not stored.
    const fn review(self) -> Self {
        Self { is_review: true, ..self }
    }

    /// Has the subresource `scale`; the label selector of its pods is at this path.
    const fn scaled(self, selector: &'static str) -> Self {
        Self { scale: Some(selector), ..self }
    }

    fn to_resource(self, group: &str, version: &str) -> Resource {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let scale = |selector: &str| ScalePaths {
            spec_replicas: ".spec.replicas".to_owned(),
            status_replicas: ".status.replicas".to_owned(),
            selector: Some(selector.to_owned()),
        };
        Resource {
            group: group.to_owned(),
            version: version.to_owned(),
            plural: self.plural.to_owned(),
            singular: self.kind.to_lowercase(),
            kind: self.kind.to_owned(),
            list_kind: format!("{}List", self.kind),
            short_names: owned(self.short_names),
            categories: owned(self.categories),
            scope: self.scope,
            origin: Origin::BuiltIn,
            has_status: self.has_status,
            scale: self.scale.map(scale),
            has_generation: self.has_generation,
            is_made_by_update: self.is_made_by_update,
            needs_version: self.needs_version,
            is_review: self.is_review,
            columns: Vec::new(),
            selectable_fields: Vec::new(),
            types: None,
            schema: None,
            storage_schema: None,
            conversion: None,
            openapi: None,
        }
    }
}

const GROUPS: &[(&str, &str, &[Row])] = &[
    ("", "v1", CORE),
    ("apps", "v1", APPS),
    ("events.k8s.io", "v1", &[row("events", "Event").made_by_update().short(&["ev"])]),
    ("authentication.k8s.io", "v1", AUTHENTICATION),
    ("authorization.k8s.io", "v1", AUTHORIZATION),
    ("autoscaling", "v2", AUTOSCALING),
    ("autoscaling", "v1", AUTOSCALING),
    ("batch", "v1", BATCH),
    ("networking.k8s.io", "v1", NETWORKING),
    (
        "policy",
        "v1",
        &[row("poddisruptionbudgets", "PodDisruptionBudget").versioned().short(&["pdb"]).status().counted()],
    ),
    ("rbac.authorization.k8s.io", "v1", RBAC),
    ("storage.k8s.io", "v1", STORAGE),
    ("admissionregistration.k8s.io", "v1", ADMISSION),
    ("apiextensions.k8s.io", "v1", EXTENSIONS),
    (
        "scheduling.k8s.io",
        "v1",
        &[row("priorityclasses", "PriorityClass").short(&["pc"]).cluster().counted()],
    ),
    ("coordination.k8s.io", "v1", &[row("leases", "Lease").versioned().made_by_update()]),
    ("discovery.k8s.io", "v1", &[row("endpointslices", "EndpointSlice").counted()]),
    ("apiregistration.k8s.io", "v1", &[row("apiservices", "APIService").cluster().status().api_extensions()]),
    (
        "certificates.k8s.io",
        "v1",
        &[row("certificatesigningrequests", "CertificateSigningRequest").short(&["csr"]).cluster().status()],
    ),
    ("node.k8s.io", "v1", &[row("runtimeclasses", "RuntimeClass").cluster()]),
    ("resource.k8s.io", "v1", RESOURCE),
    ("flowcontrol.apiserver.k8s.io", "v1", FLOW_CONTROL),
];

const AUTHENTICATION: &[Row] = &[
    row("selfsubjectreviews", "SelfSubjectReview").cluster().review(),
    row("tokenreviews", "TokenReview").cluster().review(),
];

const AUTHORIZATION: &[Row] = &[
    row("localsubjectaccessreviews", "LocalSubjectAccessReview").review(),
    row("selfsubjectaccessreviews", "SelfSubjectAccessReview").cluster().review(),
    row("selfsubjectrulesreviews", "SelfSubjectRulesReview").cluster().review(),
    row("subjectaccessreviews", "SubjectAccessReview").cluster().review(),
];

const RESOURCE: &[Row] = &[
    row("deviceclasses", "DeviceClass").cluster().counted(),
    row("resourceclaims", "ResourceClaim").status(),
    row("resourceclaimtemplates", "ResourceClaimTemplate"),
    row("resourceslices", "ResourceSlice").cluster().counted(),
];

const FLOW_CONTROL: &[Row] = &[
    row("flowschemas", "FlowSchema").cluster().status().counted(),
    row("prioritylevelconfigurations", "PriorityLevelConfiguration").cluster().status().counted(),
];

const CORE: &[Row] = &[
    row("configmaps", "ConfigMap").short(&["cm"]),
    row("endpoints", "Endpoints").made_by_update().short(&["ep"]),
    row("events", "Event").made_by_update().short(&["ev"]),
    row("limitranges", "LimitRange").made_by_update().short(&["limits"]),
    row("namespaces", "Namespace").short(&["ns"]).cluster().status(),
    row("nodes", "Node").short(&["no"]).cluster().status(),
    row("persistentvolumeclaims", "PersistentVolumeClaim").short(&["pvc"]).status(),
    row("persistentvolumes", "PersistentVolume").short(&["pv"]).cluster().status(),
    row("pods", "Pod").short(&["po"]).all().status().counted(),
    row("podtemplates", "PodTemplate").counted(),
    row("replicationcontrollers", "ReplicationController")
        .short(&["rc"])
        .all()
        .status()
        .counted()
        .scaled(".spec.selector"),
    row("resourcequotas", "ResourceQuota").short(&["quota"]).status(),
    row("secrets", "Secret"),
    row("serviceaccounts", "ServiceAccount").short(&["sa"]),
    row("services", "Service").made_by_update().short(&["svc"]).all().status(),
];

const APPS: &[Row] = &[
    row("controllerrevisions", "ControllerRevision"),
    row("daemonsets", "DaemonSet").short(&["ds"]).all().status().counted(),
    row("deployments", "Deployment").short(&["deploy"]).all().status().counted().scaled(".spec.selector"),
    row("replicasets", "ReplicaSet").short(&["rs"]).all().status().counted().scaled(".spec.selector"),
    row("statefulsets", "StatefulSet").short(&["sts"]).all().status().counted().scaled(".spec.selector"),
];

const AUTOSCALING: &[Row] =
    &[row("horizontalpodautoscalers", "HorizontalPodAutoscaler").short(&["hpa"]).all().status()];

const BATCH: &[Row] = &[
    row("cronjobs", "CronJob").short(&["cj"]).all().status().counted(),
    row("jobs", "Job").all().status().counted(),
];

const NETWORKING: &[Row] = &[
    row("ingressclasses", "IngressClass").cluster().counted(),
    row("ingresses", "Ingress").short(&["ing"]).status().counted(),
    row("ipaddresses", "IPAddress").short(&["ip"]).cluster(),
    row("networkpolicies", "NetworkPolicy").short(&["netpol"]).counted(),
    row("servicecidrs", "ServiceCIDR").cluster().status(),
];

const RBAC: &[Row] = &[
    row("clusterrolebindings", "ClusterRoleBinding").made_by_update().cluster(),
    row("clusterroles", "ClusterRole").made_by_update().cluster(),
    row("rolebindings", "RoleBinding").made_by_update(),
    row("roles", "Role").made_by_update(),
];

const STORAGE: &[Row] = &[
    row("csidrivers", "CSIDriver").versioned().cluster(),
    row("csinodes", "CSINode").versioned().cluster(),
    row("csistoragecapacities", "CSIStorageCapacity").versioned(),
    row("storageclasses", "StorageClass").short(&["sc"]).cluster(),
    row("volumeattachments", "VolumeAttachment").versioned().cluster().status(),
    row("volumeattributesclasses", "VolumeAttributesClass").short(&["vac"]).cluster(),
];

const ADMISSION: &[Row] = &[
    row("mutatingadmissionpolicies", "MutatingAdmissionPolicy")
        .versioned()
        .cluster()
        .api_extensions()
        .counted(),
    row("mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding")
        .versioned()
        .cluster()
        .api_extensions()
        .counted(),
    row("mutatingwebhookconfigurations", "MutatingWebhookConfiguration")
        .versioned()
        .cluster()
        .api_extensions()
        .counted(),
    row("validatingadmissionpolicies", "ValidatingAdmissionPolicy")
        .versioned()
        .cluster()
        .api_extensions()
        .status()
        .counted(),
    row("validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding")
        .versioned()
        .cluster()
        .api_extensions()
        .counted(),
    row("validatingwebhookconfigurations", "ValidatingWebhookConfiguration")
        .versioned()
        .cluster()
        .api_extensions()
        .counted(),
];

const EXTENSIONS: &[Row] = &[row("customresourcedefinitions", "CustomResourceDefinition")
    .versioned()
    .short(&["crd", "crds"])
    .cluster()
    .api_extensions()
    .status()
    .counted()];
