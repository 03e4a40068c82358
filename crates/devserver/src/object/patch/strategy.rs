//! The merge strategies of the fields of built-in kinds, from the tags of their Go types.

use crate::registry::Resource;

/// The strategy by which a patch is merged into a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strategy {
    /// Replaces the value; the default for lists.
    Replace,
    /// Merges field by field; the default for objects.
    Merge,
    /// Merges item by item; items are identified by this field.
    ByKey(&'static str),
    /// Merges item by item; items are identified by their value.
    Set,
}

/// The location of a field in an object: its name and its parent.
#[derive(Clone, Copy, Debug)]
pub(super) struct FieldPath<'a> {
    resource: &'a Resource,
    parent: Option<&'a FieldPath<'a>>,
    name: &'a str,
}

impl<'a> FieldPath<'a> {
    /// Returns the location of the object itself.
    pub(super) fn root(resource: &'a Resource) -> Self {
        Self { resource, parent: None, name: "" }
    }

    /// Returns the location of a field. List items have the location of their list.
    pub(super) fn field(&'a self, name: &'a str) -> Self {
        Self { resource: self.resource, parent: Some(self), name }
    }

    /// Returns the strategy for a list at this location.
    pub(super) fn list_strategy(&self) -> Strategy {
        let of_kind = OF_KIND.iter().filter(|(kind, ..)| *kind == self.resource.kind);
        let of_kind = of_kind.map(|(_, end, strategy)| (end, strategy));
        let mut rows = of_kind.chain(OF_ALL.iter().map(|(end, strategy)| (end, strategy)));
        rows.find(|(end, _)| self.ends_with(end)).map_or(Strategy::Replace, |(_, strategy)| *strategy)
    }

    /// Returns the strategy for an object at this location.
    pub(super) fn map_strategy(&self) -> Strategy {
        let is_replaced = self.resource.kind == "PodDisruptionBudget" && self.ends_with("spec.selector");
        if is_replaced { Strategy::Replace } else { Strategy::Merge }
    }

    /// Returns true if the path ends with these names, which are joined by dots.
    fn ends_with(&self, end: &str) -> bool {
        let mut path = Some(self);
        end.rsplit('.').all(|name| {
            let is_same = path.is_some_and(|path| path.name == name);
            path = path.and_then(|path| path.parent);
            is_same
        })
    }
}

/// The lists with a strategy of their own in one kind.
const OF_KIND: &[(&str, &str, Strategy)] = &[
    ("Service", "spec.ports", Strategy::ByKey("port")),
    ("ServiceAccount", "secrets", Strategy::ByKey("name")),
    ("Node", "spec.podCIDRs", Strategy::Set),
    ("Node", "status.addresses", Strategy::ByKey("type")),
    ("CSINode", "spec.drivers", Strategy::ByKey("name")),
    ("MutatingWebhookConfiguration", "webhooks", Strategy::ByKey("name")),
    ("ValidatingWebhookConfiguration", "webhooks", Strategy::ByKey("name")),
    ("MutatingAdmissionPolicy", "spec.variables", Strategy::ByKey("name")),
    ("ValidatingAdmissionPolicy", "spec.variables", Strategy::ByKey("name")),
    ("ValidatingAdmissionPolicy", "status.conditions", Strategy::Replace),
    ("CustomResourceDefinition", "status.conditions", Strategy::Replace),
];

/// The lists with the same strategy in all kinds.
const OF_ALL: &[(&str, Strategy)] = &[
    ("metadata.finalizers", Strategy::Set),
    ("metadata.ownerReferences", Strategy::ByKey("uid")),
    ("status.conditions", Strategy::ByKey("type")),
    ("containers", Strategy::ByKey("name")),
    ("initContainers", Strategy::ByKey("name")),
    ("ephemeralContainers", Strategy::ByKey("name")),
    ("containers.ports", Strategy::ByKey("containerPort")),
    ("initContainers.ports", Strategy::ByKey("containerPort")),
    ("ephemeralContainers.ports", Strategy::ByKey("containerPort")),
    ("env", Strategy::ByKey("name")),
    ("volumeMounts", Strategy::ByKey("mountPath")),
    ("volumeDevices", Strategy::ByKey("devicePath")),
    ("spec.volumes", Strategy::ByKey("name")),
    ("spec.resourceClaims", Strategy::ByKey("name")),
    ("spec.schedulingGates", Strategy::ByKey("name")),
    ("spec.hostAliases", Strategy::ByKey("ip")),
    ("spec.topologySpreadConstraints", Strategy::ByKey("topologyKey")),
    ("imagePullSecrets", Strategy::ByKey("name")),
    ("status.hostIPs", Strategy::ByKey("ip")),
    ("status.podIPs", Strategy::ByKey("ip")),
    ("status.resourceClaimStatuses", Strategy::ByKey("name")),
    ("matchConditions", Strategy::ByKey("name")),
];
