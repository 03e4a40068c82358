//! Owner references: from an object to the key of its owner, and from an owner to the reference in an object.

use crate::object::is_cluster_scoped;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube_core::Resource;
use kube_informer_wire::Key;

/// Returns the reference to the controller of an object: the owner reference with `controller: true`.
#[must_use]
#[doc(alias = "GetControllerOf")]
pub fn controller_of<O: Resource>(owned: &O) -> Option<&OwnerReference> {
    owned.meta().owner_references.iter().flatten().find(|owner| owner.controller == Some(true))
}

/// Returns true if this owner is the controller of an object, by uid.
#[must_use]
#[doc(alias = "IsControlledBy")]
pub fn is_controlled_by<O: Resource, K: Resource>(owned: &O, owner: &K) -> bool {
    controller_of(owned).is_some_and(|reference| owner.meta().uid.as_deref() == Some(&reference.uid))
}

/// Returns the key of the controller of an object (`ownerReferences` with `controller: true`), if that is a `K`.
///
/// [`Controller::owns`](super::Controller::owns) uses it. Use it directly in the mapper of
/// [`watches`](super::Controller::watches) to combine it with other keys.
#[must_use]
pub fn controller_owner<K, O>(owned: &O) -> Option<Key>
where
    K: Resource<DynamicType: Default, Scope: 'static>,
    O: Resource,
{
    let kind = K::DynamicType::default();
    let owner = GroupKind { group: K::group(&kind).into_owned(), kind: K::kind(&kind).into_owned() };
    let reference = controller_of(owned).filter(|reference| owner.is_kind_of(reference))?;
    // A namespaced object may have a cluster-scoped owner.
    let namespace = owned.meta().namespace.as_deref().filter(|_| !is_cluster_scoped::<K>());
    Key::new(namespace, &reference.name).ok()
}

/// The group and the kind of an owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GroupKind {
    group: String,
    kind: String,
}

impl GroupKind {
    /// Parses `apps/v1 Deployment` or `v1 Pod`, the description of a resource.
    pub(super) fn parse(resource: &str) -> Option<Self> {
        let (api_version, kind) = resource.split_once(' ')?;
        Some(Self { group: group_of(api_version).to_owned(), kind: kind.to_owned() })
    }

    pub(super) fn is_kind_of(&self, reference: &OwnerReference) -> bool {
        self.group == group_of(&reference.api_version) && self.kind == reference.kind
    }
}

fn group_of(api_version: &str) -> &str {
    api_version.rsplit_once('/').map_or("", |(group, _)| group)
}

/// The error of an owner reference that cannot be set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OwnerError {
    /// The owner has no uid, because it was not read from the server.
    #[error("owner {name:?} has no uid; use an object that was read from the server")]
    #[non_exhaustive]
    NoUid {
        /// The name of the owner.
        name: String,
    },
    /// The owner is in another namespace. The garbage collector would delete the object.
    #[error(
        "owner {owner} is not in the namespace of {owned}; an owner is in the same namespace or cluster-scoped"
    )]
    #[non_exhaustive]
    OtherNamespace {
        /// The key of the owner.
        owner: String,
        /// The key of the object.
        owned: String,
    },
    /// The object has another controller.
    #[error("{owned} is controlled by {kind} {name:?}")]
    #[non_exhaustive]
    Controlled {
        /// The key of the object.
        owned: String,
        /// The kind of its controller.
        kind: String,
        /// The name of its controller.
        name: String,
    },
}

/// Returns a reference to `owner` with `controller: true` and `blockOwnerDeletion: true`.
///
/// # Errors
/// [`OwnerError::NoUid`] if the object was not read from the server.
#[doc(alias = "NewControllerRef")]
pub fn controller_owner_ref<K: Resource>(
    owner: &K,
    kind: &K::DynamicType,
) -> Result<OwnerReference, OwnerError> {
    let no_uid = || OwnerError::NoUid { name: owner.meta().name.clone().unwrap_or_default() };
    let reference = owner.controller_owner_ref(kind).ok_or_else(no_uid)?;
    Ok(OwnerReference { block_owner_deletion: Some(true), ..reference })
}

/// Makes `owner` the controller of `owned`. If it is already, the reference is replaced.
///
/// # Errors
/// [`OwnerError`] if the owner has no uid or is in another namespace, or if the object has another controller.
#[doc(alias = "SetControllerReference")]
pub fn set_controller_owner<O: Resource, K: Resource>(
    owned: &mut O,
    owner: &K,
    kind: &K::DynamicType,
) -> Result<(), OwnerError> {
    let reference = controller_owner_ref(owner, kind)?;
    if owner.meta().namespace.is_some() && owner.meta().namespace != owned.meta().namespace {
        return Err(OwnerError::OtherNamespace { owner: describe(owner), owned: describe(owned) });
    }
    if let Some(known) = controller_of(owned).filter(|known| known.uid != reference.uid) {
        let kind = known.kind.clone();
        return Err(OwnerError::Controlled { owned: describe(owned), kind, name: known.name.clone() });
    }
    let references = owned.meta_mut().owner_references.get_or_insert_default();
    references.retain(|known| known.uid != reference.uid);
    references.push(reference);
    Ok(())
}

fn describe<K: Resource>(object: &K) -> String {
    let name = object.meta().name.as_deref().unwrap_or_default();
    object.meta().namespace.as_deref().map_or_else(|| name.to_owned(), |space| format!("{space}/{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::{ConfigMap, Node};
    use serde_json::json;

    fn map(namespace: &str, name: &str, uid: Option<&str>) -> ConfigMap {
        serde_json::from_value(json!({ "metadata": { "namespace": namespace, "name": name, "uid": uid } }))
            .expect("valid")
    }

    #[test]
    fn an_owner_becomes_the_controller_once() {
        let owner = map("shop", "owner", Some("u1"));
        let mut owned = map("shop", "owned", None);
        for _ in 0..2 {
            set_controller_owner(&mut owned, &owner, &()).expect("no other controller");
        }
        assert_eq!(owned.metadata.owner_references.as_ref().map(Vec::len), Some(1));
        assert!(is_controlled_by(&owned, &owner));
        assert_eq!(controller_owner::<ConfigMap, _>(&owned).expect("owned").to_string(), "shop/owner");
    }

    #[test]
    fn invalid_owners_are_refused() {
        let mut owned = map("shop", "owned", None);
        let mut set = |owner: &ConfigMap| {
            set_controller_owner(&mut owned, owner, &()).map_err(|error| error.to_string())
        };
        assert_eq!(
            set(&map("shop", "new", None)),
            Err("owner \"new\" has no uid; use an object that was read from the server".into())
        );
        assert!(set(&map("bank", "far", Some("u0"))).is_err_and(|error| error.contains("bank/far")));
        assert_eq!(set(&map("shop", "first", Some("u1"))), Ok(()));
        assert_eq!(
            set(&map("shop", "second", Some("u2"))),
            Err("shop/owned is controlled by ConfigMap \"first\"".into())
        );
        let node: Node =
            serde_json::from_value(json!({ "metadata": { "name": "n", "uid": "u3" } })).expect("valid");
        let mut owned = map("shop", "owned", None);
        assert_eq!(set_controller_owner(&mut owned, &node, &()), Ok(()), "cluster-scoped");
    }

    #[test]
    fn descriptions_of_resources_are_parsed() {
        let parse = |text| GroupKind::parse(text).map(|parsed| (parsed.group, parsed.kind));
        assert_eq!(parse("apps/v1 Deployment"), Some(("apps".into(), "Deployment".into())));
        assert_eq!(parse("v1 Pod"), Some((String::new(), "Pod".into())));
        assert_eq!(parse("custom"), None);
    }
}
