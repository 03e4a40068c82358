//! How the fields of built-in kinds are merged, as the tags of their types say.

use crate::registry::Resource;

/// How a patch of a field and the field become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strategy {
    /// The patch takes its place: lists, unless their types say otherwise.
    Replace,
    /// Field by field: objects, unless their types say otherwise.
    Merge,
    /// Item by item; items are the same where this field of theirs is.
    ByKey(&'static str),
    /// Item by item; items are the same where they are equal.
    Set,
}

/// A field somewhere in an object: its name and the place that holds it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    resource: &'a Resource,
    parent: Option<&'a Place<'a>>,
    name: &'a str,
}

impl<'a> Place<'a> {
    /// The object itself.
    pub(super) fn root(resource: &'a Resource) -> Self {
        Self { resource, parent: None, name: "" }
    }

    /// A field of what stands at this place; items of a list stand at the place of the list.
    pub(super) fn field(&'a self, name: &'a str) -> Self {
        Self { resource: self.resource, parent: Some(self), name }
    }

    /// How a list at this place is merged.
    pub(super) fn list_strategy(&self) -> Strategy {
        let of_kind = OF_KIND.iter().filter(|(kind, ..)| *kind == self.resource.kind);
        let of_kind = of_kind.map(|(_, end, strategy)| (end, strategy));
        let mut rows = of_kind.chain(OF_ALL.iter().map(|(end, strategy)| (end, strategy)));
        rows.find(|(end, _)| self.ends_with(end)).map_or(Strategy::Replace, |(_, strategy)| *strategy)
    }

    /// How an object at this place is merged.
    pub(super) fn map_strategy(&self) -> Strategy {
        let is_replaced = self.resource.kind == "PodDisruptionBudget" && self.ends_with("spec.selector");
        if is_replaced { Strategy::Replace } else { Strategy::Merge }
    }

    /// Whether the way to this place ends in these names, joined by dots.
    fn ends_with(&self, end: &str) -> bool {
        let mut place = Some(self);
        end.rsplit('.').all(|name| {
            let is_same = place.is_some_and(|place| place.name == name);
            place = place.and_then(|place| place.parent);
            is_same
        })
    }
}

/// Lists that are merged in one kind only, or differently there.
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

/// Lists that are merged wherever their types stand.
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
