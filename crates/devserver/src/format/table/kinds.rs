//! The columns of each built-in kind.

use crate::format::table::cells::{
    external_address, internal_address, match_labels, node_roles, node_status, plain_selector,
    service_external, service_ports, template_containers, template_images,
};
use crate::format::table::column::{Cell, Column};
use crate::format::table::{pod, workload};
use crate::registry::Resource;

/// Returns the columns of a built-in kind; name and age for kinds without specific columns.
pub(super) fn columns(resource: &Resource) -> &'static [Column] {
    match resource.storage() {
        ("", "pods") => PODS,
        ("", "nodes") => NODES,
        ("", "namespaces") => NAMESPACES,
        ("", "services") => SERVICES,
        ("", "configmaps") => CONFIG_MAPS,
        ("", "secrets") => SECRETS,
        ("", "events") | ("events.k8s.io", "events") => EVENTS,
        ("", "persistentvolumeclaims") => CLAIMS,
        ("", "replicationcontrollers") => REPLICATION_CONTROLLERS,
        ("apps", "deployments") => DEPLOYMENTS,
        ("apps", "replicasets") => REPLICA_SETS,
        ("apps", "statefulsets") => STATEFUL_SETS,
        ("apps", "daemonsets") => DAEMON_SETS,
        ("batch", "jobs") => JOBS,
        ("batch", "cronjobs") => CRON_JOBS,
        ("coordination.k8s.io", "leases") => LEASES,
        ("apiextensions.k8s.io", _) | ("rbac.authorization.k8s.io", "roles" | "clusterroles") => CREATED,
        _ => PLAIN,
    }
}

const NAME: Column = Column::new("Name", Cell::Text("metadata.name"));
const AGE: Column = Column::new("Age", Cell::Age("metadata.creationTimestamp"));
const CONTAINERS: Column = Column::wide("Containers", Cell::Made(template_containers));
const IMAGES: Column = Column::wide("Images", Cell::Made(template_images));
const SELECTOR: Column = Column::wide("Selector", Cell::Made(match_labels));

const PLAIN: &[Column] = &[NAME, AGE];

const CREATED: &[Column] = &[NAME, Column::new("Created At", Cell::Time("metadata.creationTimestamp"))];

const PODS: &[Column] = &[
    NAME,
    Column::new("Ready", Cell::Made(pod::ready)),
    Column::new("Status", Cell::Made(pod::status)),
    Column::new("Restarts", Cell::Made(pod::restarts)),
    AGE,
    Column::wide("IP", Cell::Made(pod::address)),
    Column::wide("Node", Cell::TextOrNone("spec.nodeName")),
    Column::wide("Nominated Node", Cell::TextOrNone("status.nominatedNodeName")),
    Column::wide("Readiness Gates", Cell::Made(pod::gates)),
];

const NODES: &[Column] = &[
    NAME,
    Column::new("Status", Cell::Made(node_status)),
    Column::new("Roles", Cell::Made(node_roles)),
    AGE,
    Column::new("Version", Cell::Text("status.nodeInfo.kubeletVersion")),
    Column::wide("Internal-IP", Cell::Made(internal_address)),
    Column::wide("External-IP", Cell::Made(external_address)),
    Column::wide("OS-Image", Cell::Text("status.nodeInfo.osImage")),
    Column::wide("Kernel-Version", Cell::Text("status.nodeInfo.kernelVersion")),
    Column::wide("Container-Runtime", Cell::Text("status.nodeInfo.containerRuntimeVersion")),
];

const NAMESPACES: &[Column] = &[NAME, Column::new("Status", Cell::Text("status.phase")), AGE];

const SERVICES: &[Column] = &[
    NAME,
    Column::new("Type", Cell::Text("spec.type")),
    Column::new("Cluster-IP", Cell::TextOrNone("spec.clusterIP")),
    Column::new("External-IP", Cell::Made(service_external)),
    Column::new("Port(s)", Cell::Made(service_ports)),
    AGE,
    Column::wide("Selector", Cell::Made(plain_selector)),
];

const CONFIG_MAPS: &[Column] = &[NAME, Column::new("Data", Cell::Count("data")), AGE];

const SECRETS: &[Column] =
    &[NAME, Column::new("Type", Cell::Text("type")), Column::new("Data", Cell::Count("data")), AGE];

const EVENTS: &[Column] = &[
    Column::new("Last Seen", Cell::Made(workload::last_seen)),
    Column::new("Type", Cell::Text("type")),
    Column::new("Reason", Cell::Text("reason")),
    Column::new("Object", Cell::Made(workload::event_object)),
    Column::wide("Source", Cell::Text("source.component")),
    Column::new("Message", Cell::Made(workload::event_message)),
    Column::wide("Count", Cell::Number("count")),
    Column::wide("Name", Cell::Text("metadata.name")),
];

const CLAIMS: &[Column] = &[
    NAME,
    Column::new("Status", Cell::Text("status.phase")),
    Column::new("Volume", Cell::Text("spec.volumeName")),
    Column::new("Capacity", Cell::Text("status.capacity.storage")),
    Column::new("StorageClass", Cell::Text("spec.storageClassName")),
    AGE,
    Column::wide("VolumeMode", Cell::Text("spec.volumeMode")),
];

const DESIRED: Column = Column::new("Desired", Cell::Number("spec.replicas"));
const CURRENT: Column = Column::new("Current", Cell::Number("status.replicas"));
const READY_COUNT: Column = Column::new("Ready", Cell::Number("status.readyReplicas"));

const REPLICATION_CONTROLLERS: &[Column] = &[
    NAME,
    DESIRED,
    CURRENT,
    READY_COUNT,
    AGE,
    CONTAINERS,
    IMAGES,
    Column::wide("Selector", Cell::Made(plain_selector)),
];

const REPLICA_SETS: &[Column] = &[NAME, DESIRED, CURRENT, READY_COUNT, AGE, CONTAINERS, IMAGES, SELECTOR];

const DEPLOYMENTS: &[Column] = &[
    NAME,
    Column::new("Ready", Cell::Made(workload::ready)),
    Column::new("Up-to-date", Cell::Number("status.updatedReplicas")),
    Column::new("Available", Cell::Number("status.availableReplicas")),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

const STATEFUL_SETS: &[Column] =
    &[NAME, Column::new("Ready", Cell::Made(workload::ready)), AGE, CONTAINERS, IMAGES];

const DAEMON_SETS: &[Column] = &[
    NAME,
    Column::new("Desired", Cell::Number("status.desiredNumberScheduled")),
    Column::new("Current", Cell::Number("status.currentNumberScheduled")),
    Column::new("Ready", Cell::Number("status.numberReady")),
    Column::new("Up-to-date", Cell::Number("status.updatedNumberScheduled")),
    Column::new("Available", Cell::Number("status.numberAvailable")),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

const JOBS: &[Column] = &[
    NAME,
    Column::new("Status", Cell::Made(workload::job_status)),
    Column::new("Completions", Cell::Made(workload::job_completions)),
    Column::new("Duration", Cell::Made(workload::job_duration)),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

const CRON_JOBS: &[Column] = &[
    NAME,
    Column::new("Schedule", Cell::Text("spec.schedule")),
    Column::new("Timezone", Cell::TextOrNone("spec.timeZone")),
    Column::new("Suspend", Cell::Made(workload::suspended)),
    Column::new("Active", Cell::Count("status.active")),
    Column::new("Last Schedule", Cell::Made(workload::last_schedule)),
    AGE,
];

const LEASES: &[Column] = &[NAME, Column::new("Holder", Cell::Text("spec.holderIdentity")), AGE];
