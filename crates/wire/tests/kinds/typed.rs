//! Every kind of k8s-openapi, to decode an object into the type that its version and kind name.

use crate::difference::difference;
use k8s_openapi::{List, Resource};
use kube_informer_wire::{ManagedFields, ObjectError, Raw};
use serde::{Serialize, de::DeserializeOwned};
use std::{any::type_name, collections::BTreeMap};

/// Decodes an object from JSON and from protobuf, and returns the difference.
pub(crate) type Compare = fn(&Raw, &Raw) -> Result<(), String>;

/// Returns the function that compares the objects of each kind.
pub(crate) fn all() -> BTreeMap<(&'static str, &'static str), Compare> {
    let mut all = BTreeMap::new();
    macro_rules! kinds {
        ($add:ident; $($path:path: $($kind:ident)*;)*) => { $({
            use $path::*;
            $($add::<$kind>(&mut all);)*
        })* };
    }
    use k8s_openapi::{api, apiextensions_apiserver, apimachinery, kube_aggregator};
    kinds! {
        listed;
        api::admissionregistration::v1: MutatingAdmissionPolicy MutatingAdmissionPolicyBinding
            MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding
            ValidatingWebhookConfiguration;
        api::admissionregistration::v1alpha1: MutatingAdmissionPolicy MutatingAdmissionPolicyBinding;
        api::admissionregistration::v1beta1: MutatingAdmissionPolicy MutatingAdmissionPolicyBinding;
        api::apiserverinternal::v1alpha1: StorageVersion;
        api::apps::v1: ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet;
        api::autoscaling::v1: HorizontalPodAutoscaler;
        api::autoscaling::v2: HorizontalPodAutoscaler;
        api::batch::v1: CronJob Job;
        api::certificates::v1: CertificateSigningRequest ClusterTrustBundle PodCertificateRequest;
        api::certificates::v1beta1: ClusterTrustBundle PodCertificateRequest;
        api::coordination::v1: Lease;
        api::coordination::v1alpha2: LeaseCandidate;
        api::coordination::v1beta1: LeaseCandidate;
        api::core::v1: ComponentStatus ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume
            PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service
            ServiceAccount;
        api::discovery::v1: EndpointSlice;
        api::events::v1: Event;
        api::flowcontrol::v1: FlowSchema PriorityLevelConfiguration;
        api::lifecycle::v1alpha1: Eviction EvictionRequest;
        api::networking::v1: IPAddress Ingress IngressClass NetworkPolicy ServiceCIDR;
        api::node::v1: RuntimeClass;
        api::policy::v1: PodDisruptionBudget;
        api::rbac::v1: ClusterRole ClusterRoleBinding Role RoleBinding;
        api::resource::v1: DeviceClass DeviceTaintRule ResourceClaim ResourceClaimTemplate ResourceSlice;
        api::resource::v1alpha3: DeviceTaintRule ResourcePoolStatusRequest;
        api::resource::v1beta1: DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice;
        api::resource::v1beta2: DeviceClass DeviceTaintRule ResourceClaim ResourceClaimTemplate ResourceSlice;
        api::scheduling::v1: PriorityClass;
        api::scheduling::v1alpha3: CompositePodGroup PodGroup Workload;
        api::scheduling::v1beta1: PodGroup Workload;
        api::storage::v1: CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment
            VolumeAttributesClass;
        api::storagemigration::v1: StorageVersionMigration;
        api::storagemigration::v1beta1: StorageVersionMigration;
        apiextensions_apiserver::pkg::apis::apiextensions::v1: CustomResourceDefinition;
        kube_aggregator::pkg::apis::apiregistration::v1: APIService;
    }
    kinds! {
        alone;
        api::authentication::v1: SelfSubjectReview TokenRequest TokenReview;
        api::authorization::v1: LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview
            SubjectAccessReview;
        api::autoscaling::v1: Scale;
        api::core::v1: Binding;
        api::policy::v1: Eviction;
        apimachinery::pkg::apis::meta::v1: APIGroup APIGroupList APIResourceList APIVersions Status;
    }
    all
}

type All = BTreeMap<(&'static str, &'static str), Compare>;

fn alone<K: Resource + DeserializeOwned + Serialize + PartialEq>(all: &mut All) {
    all.insert((K::API_VERSION, K::KIND), compare::<K>);
}

fn listed<K>(all: &mut All)
where
    K: k8s_openapi::ListableResource + DeserializeOwned + Serialize + PartialEq,
{
    alone::<K>(all);
    all.insert((<List<K> as Resource>::API_VERSION, <List<K> as Resource>::KIND), compare::<List<K>>);
}

fn compare<K: DeserializeOwned + Serialize + PartialEq>(json: &Raw, protobuf: &Raw) -> Result<(), String> {
    for managed_fields in [ManagedFields::Keep, ManagedFields::Drop] {
        match (json.decode::<K>(managed_fields), protobuf.decode::<K>(managed_fields)) {
            (Ok(json), Ok(protobuf)) if json == protobuf => {}
            (Ok(json), Ok(protobuf)) => {
                let [json, protobuf] = [json, protobuf].map(|object| serde_json::to_value(object).unwrap());
                let difference = difference(&json, &protobuf).unwrap_or_default();
                return Err(format!("{} with {managed_fields:?}: {difference}", type_name::<K>()));
            }
            // Go writes null for values that k8s-openapi requires.
            (Err(json), Err(protobuf)) if json.path() == protobuf.path() => {}
            (json, protobuf) => {
                return Err([json.err(), protobuf.err()].iter().flatten().map(describe::<K>).collect());
            }
        }
    }
    Ok(())
}

fn describe<K>(error: &ObjectError) -> String {
    let cause = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
    format!("{}: {error}: {cause}", type_name::<K>())
}
