//! Defaults of single fields, by type.

use crate::object::defaults::edit::set;
use serde_json::{Map, Value, json};

/// A default value.
#[derive(Clone, Copy)]
enum Json {
    Text(&'static str),
    Number(i64),
    /// A number, which is also the default for 0.
    NonZero(i64),
    Bool(bool),
    /// A struct in which nothing is set.
    Empty,
}

/// Sets the fields of a type that have a default whatever the other fields are.
pub(super) fn fill(name: &str, fields: &mut Map<String, Value>) {
    let Ok(row) = TYPES.binary_search_by_key(&name, |(name, _)| *name) else { return };
    for (field, default) in TYPES[row].1 {
        let value = match *default {
            Json::Text(text) => json!(text),
            Json::Number(number) => json!(number),
            Json::NonZero(number) => {
                if fields.get(*field).and_then(Value::as_i64) == Some(0) {
                    fields.remove(*field);
                }
                json!(number)
            }
            Json::Bool(is_true) => json!(is_true),
            Json::Empty => json!({}),
        };
        set(fields, field, value);
    }
}

const WEBHOOK: &[(&str, Json)] = &[
    ("failurePolicy", Json::Text("Fail")),
    ("matchPolicy", Json::Text("Equivalent")),
    ("namespaceSelector", Json::Empty),
    ("objectSelector", Json::Empty),
    ("timeoutSeconds", Json::Number(10)),
];

const FAIL: &[(&str, Json)] = &[("failurePolicy", Json::Text("Fail"))];

const MATCH_RESOURCES: &[(&str, Json)] = &[
    ("matchPolicy", Json::Text("Equivalent")),
    ("namespaceSelector", Json::Empty),
    ("objectSelector", Json::Empty),
];

const CONTAINER: &[(&str, Json)] = &[
    ("terminationMessagePath", Json::Text("/dev/termination-log")),
    ("terminationMessagePolicy", Json::Text("File")),
];

const TCP: &[(&str, Json)] = &[("protocol", Json::Text("TCP"))];

/// The mode of the files of a volume: `rw-r--r--`.
const MODE: &[(&str, Json)] = &[("defaultMode", Json::Number(0o644))];

/// The defaults of each type, in order of the names.
const TYPES: &[(&str, &[(&str, Json)])] = &[
    ("admissionregistration.v1.MatchResources", MATCH_RESOURCES),
    ("admissionregistration.v1.MutatingAdmissionPolicySpec", FAIL),
    ("admissionregistration.v1.MutatingWebhook", WEBHOOK),
    ("admissionregistration.v1.NamedRuleWithOperations", &[("scope", Json::Text("*"))]),
    ("admissionregistration.v1.RuleWithOperations", &[("scope", Json::Text("*"))]),
    ("admissionregistration.v1.ServiceReference", &[("port", Json::Number(443))]),
    ("admissionregistration.v1.ValidatingAdmissionPolicySpec", FAIL),
    ("admissionregistration.v1.ValidatingWebhook", WEBHOOK),
    ("apps.v1.DaemonSetSpec", &[("revisionHistoryLimit", Json::Number(10))]),
    (
        "apps.v1.DeploymentSpec",
        &[
            ("replicas", Json::Number(1)),
            ("revisionHistoryLimit", Json::Number(10)),
            ("progressDeadlineSeconds", Json::Number(600)),
        ],
    ),
    ("apps.v1.ReplicaSetSpec", &[("replicas", Json::Number(1))]),
    (
        "apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy",
        &[("whenDeleted", Json::Text("Retain")), ("whenScaled", Json::Text("Retain"))],
    ),
    (
        "apps.v1.StatefulSetSpec",
        &[
            ("podManagementPolicy", Json::Text("OrderedReady")),
            ("persistentVolumeClaimRetentionPolicy", Json::Empty),
            ("replicas", Json::Number(1)),
            ("revisionHistoryLimit", Json::Number(10)),
        ],
    ),
    ("autoscaling.v1.HorizontalPodAutoscalerSpec", &[("minReplicas", Json::Number(1))]),
    ("autoscaling.v2.HorizontalPodAutoscalerSpec", &[("minReplicas", Json::Number(1))]),
    (
        "batch.v1.CronJobSpec",
        &[
            ("concurrencyPolicy", Json::Text("Allow")),
            ("suspend", Json::Bool(false)),
            ("successfulJobsHistoryLimit", Json::Number(3)),
            ("failedJobsHistoryLimit", Json::Number(1)),
        ],
    ),
    ("batch.v1.PodFailurePolicyOnPodConditionsPattern", &[("status", Json::Text("True"))]),
    (
        "core.v1.AzureDiskVolumeSource",
        &[
            ("cachingMode", Json::Text("ReadWrite")),
            ("fsType", Json::Text("ext4")),
            ("kind", Json::Text("Shared")),
            ("readOnly", Json::Bool(false)),
        ],
    ),
    ("core.v1.ConfigMapVolumeSource", MODE),
    ("core.v1.Container", CONTAINER),
    ("core.v1.ContainerPort", TCP),
    ("core.v1.DownwardAPIVolumeSource", MODE),
    ("core.v1.EndpointPort", TCP),
    ("core.v1.EphemeralContainer", CONTAINER),
    ("core.v1.GRPCAction", &[("service", Json::Text(""))]),
    ("core.v1.HTTPGetAction", &[("path", Json::Text("/")), ("scheme", Json::Text("HTTP"))]),
    ("core.v1.HostPathVolumeSource", &[("type", Json::Text(""))]),
    ("core.v1.ISCSIPersistentVolumeSource", &[("iscsiInterface", Json::Text("default"))]),
    ("core.v1.ISCSIVolumeSource", &[("iscsiInterface", Json::Text("default"))]),
    ("core.v1.ObjectFieldSelector", &[("apiVersion", Json::Text("v1"))]),
    ("core.v1.PersistentVolumeClaimSpec", &[("volumeMode", Json::Text("Filesystem"))]),
    ("core.v1.PodSpec", POD_SPEC),
    (
        "core.v1.Probe",
        &[
            ("timeoutSeconds", Json::Number(1)),
            ("periodSeconds", Json::Number(10)),
            ("successThreshold", Json::Number(1)),
            ("failureThreshold", Json::Number(3)),
        ],
    ),
    ("core.v1.ProjectedVolumeSource", MODE),
    ("core.v1.RBDPersistentVolumeSource", RBD),
    ("core.v1.RBDVolumeSource", RBD),
    ("core.v1.ReplicationControllerSpec", &[("replicas", Json::Number(1))]),
    ("core.v1.ScaleIOPersistentVolumeSource", SCALE_IO),
    ("core.v1.ScaleIOVolumeSource", SCALE_IO),
    ("core.v1.Secret", &[("type", Json::Text("Opaque"))]),
    ("core.v1.SecretVolumeSource", MODE),
    ("core.v1.ServiceAccountTokenProjection", &[("expirationSeconds", Json::Number(3600))]),
    ("core.v1.ServicePort", TCP),
    ("discovery.v1.EndpointPort", &[("name", Json::Text("")), ("protocol", Json::Text("TCP"))]),
    (
        "flowcontrol.v1.ExemptPriorityLevelConfiguration",
        &[("nominalConcurrencyShares", Json::Number(0)), ("lendablePercent", Json::Number(0))],
    ),
    ("flowcontrol.v1.FlowSchemaSpec", &[("matchingPrecedence", Json::NonZero(1000))]),
    (
        "flowcontrol.v1.LimitedPriorityLevelConfiguration",
        &[("nominalConcurrencyShares", Json::Number(30)), ("lendablePercent", Json::Number(0))],
    ),
    (
        "flowcontrol.v1.QueuingConfiguration",
        &[
            ("handSize", Json::NonZero(8)),
            ("queues", Json::NonZero(64)),
            ("queueLengthLimit", Json::NonZero(50)),
        ],
    ),
    ("networking.v1.IngressClassParametersReference", &[("scope", Json::Text("Cluster"))]),
    ("networking.v1.NetworkPolicyPort", TCP),
    ("resource.v1.DeviceToleration", &[("operator", Json::Text("Equal"))]),
    ("scheduling.v1.PriorityClass", &[("preemptionPolicy", Json::Text("PreemptLowerPriority"))]),
    (
        "storage.v1.CSIDriverSpec",
        &[
            ("attachRequired", Json::Bool(true)),
            ("podInfoOnMount", Json::Bool(false)),
            ("storageCapacity", Json::Bool(false)),
            ("fsGroupPolicy", Json::Text("ReadWriteOnceWithFSType")),
            ("requiresRepublish", Json::Bool(false)),
            ("seLinuxMount", Json::Bool(false)),
        ],
    ),
    (
        "storage.v1.StorageClass",
        &[("reclaimPolicy", Json::Text("Delete")), ("volumeBindingMode", Json::Text("Immediate"))],
    ),
];

const POD_SPEC: &[(&str, Json)] = &[
    ("dnsPolicy", Json::Text("ClusterFirst")),
    ("restartPolicy", Json::Text("Always")),
    ("securityContext", Json::Empty),
    ("terminationGracePeriodSeconds", Json::Number(30)),
    ("schedulerName", Json::Text("default-scheduler")),
];

const SCALE_IO: &[(&str, Json)] =
    &[("fsType", Json::Text("xfs")), ("storageMode", Json::Text("ThinProvisioned"))];

const RBD: &[(&str, Json)] = &[
    ("pool", Json::Text("rbd")),
    ("user", Json::Text("admin")),
    ("keyring", Json::Text("/etc/ceph/keyring")),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_in_order() {
        assert!(TYPES.is_sorted_by_key(|(name, _)| name));
    }
}
