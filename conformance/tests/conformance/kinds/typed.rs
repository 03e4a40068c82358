//! Every kind with a type in k8s-openapi.

use super::{Kind, Made, View, as_json::AsJson};
use k8s_openapi::{
    Resource,
    api::{
        admissionregistration, apiserverinternal, apps, autoscaling, batch, certificates, coordination, core,
        discovery, events, flowcontrol, networking, node, policy, rbac, resource, scheduling, storage,
        storagemigration,
    },
    apiextensions_apiserver::pkg::apis::apiextensions,
    kube_aggregator::pkg::apis::apiregistration,
};
use kube::api::DynamicObject;
use kube_informer::source::{Encoding, ListWatch, ListerWatcher};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// The part of an object that a cache must contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fields {
    /// All fields.
    All,
    /// The fields of the Rust type: the devserver does not set missing required fields, and protobuf cannot omit them.
    OfType,
}

/// Compares a cache of each type with the server, and returns the kinds.
macro_rules! check_each {
    ($made:ident, $fields:ident, $($module:ident::$version:ident: [$($kind:ident),* $(,)?],)*) => {{
        let mut checked = BTreeSet::new();
        $($({
            type Checked = $module::$version::$kind;
            let kind = (Checked::API_VERSION.to_owned(), Checked::KIND.to_owned());
            if let Some(made) = $made.get(&kind) {
                let namespace = made.namespace.as_deref();
                let source = ListWatch::<Checked>::for_kind(made.client.clone(), namespace, &());
                let (source, view) = match $fields {
                    Fields::All => (source, View::Whole),
                    Fields::OfType => (source.encoding(Encoding::Json), View::Decoded(decode_again::<Checked>)),
                };
                let source: Arc<dyn ListerWatcher<DynamicObject>> = Arc::new(AsJson(source));
                made.check(source, view).await;
                checked.insert(kind);
            }
        })*)*
        checked
    }};
}

/// Decodes an object as `K`, and returns what `K` has of it.
fn decode_again<K: DeserializeOwned + Serialize>(object: Value) -> Value {
    serde_json::to_value(serde_json::from_value::<K>(object).unwrap()).unwrap()
}

pub(super) async fn check_each(made: &BTreeMap<Kind, Made>, fields: Fields) -> BTreeSet<Kind> {
    check_each! { made, fields,
        core::v1: [
            ConfigMap, Endpoints, Event, LimitRange, Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod,
            PodTemplate, ReplicationController, ResourceQuota, Secret, Service, ServiceAccount,
        ],
        admissionregistration::v1: [
            MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding, MutatingWebhookConfiguration,
            ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding, ValidatingWebhookConfiguration,
        ],
        admissionregistration::v1alpha1: [MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding],
        admissionregistration::v1beta1: [MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding],
        apiextensions::v1: [CustomResourceDefinition],
        apiregistration::v1: [APIService],
        apiserverinternal::v1alpha1: [StorageVersion],
        apps::v1: [ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet],
        autoscaling::v1: [HorizontalPodAutoscaler],
        autoscaling::v2: [HorizontalPodAutoscaler],
        batch::v1: [CronJob, Job],
        certificates::v1: [CertificateSigningRequest, ClusterTrustBundle],
        certificates::v1beta1: [ClusterTrustBundle],
        coordination::v1: [Lease],
        coordination::v1alpha2: [LeaseCandidate],
        coordination::v1beta1: [LeaseCandidate],
        discovery::v1: [EndpointSlice],
        events::v1: [Event],
        flowcontrol::v1: [FlowSchema, PriorityLevelConfiguration],
        networking::v1: [IPAddress, Ingress, IngressClass, NetworkPolicy, ServiceCIDR],
        node::v1: [RuntimeClass],
        policy::v1: [PodDisruptionBudget],
        rbac::v1: [ClusterRole, ClusterRoleBinding, Role, RoleBinding],
        resource::v1: [DeviceClass, DeviceTaintRule, ResourceClaim, ResourceClaimTemplate, ResourceSlice],
        resource::v1alpha3: [DeviceTaintRule, ResourcePoolStatusRequest],
        resource::v1beta1: [DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice],
        resource::v1beta2: [DeviceClass, DeviceTaintRule, ResourceClaim, ResourceClaimTemplate, ResourceSlice],
        scheduling::v1: [PriorityClass],
        storage::v1: [
            CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment, VolumeAttributesClass,
        ],
        storagemigration::v1: [StorageVersionMigration],
        storagemigration::v1beta1: [StorageVersionMigration],
    }
}
