//! The subresources that are parts of an object.

use crate::apply::FieldSet;
use crate::registry::Resource;

/// The part of an object that is read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectPart {
    /// The object itself.
    Whole,
    /// Its status.
    Status,
    /// The scale.
    Scale,
    /// The binding of a pod to a node.
    Binding,
    /// The finalizers of a namespace.
    Finalize,
}

impl ObjectPart {
    /// Returns the name of the subresource; empty for the object itself.
    pub(crate) fn subresource(self) -> &'static str {
        match self {
            Self::Whole => "",
            Self::Status => "status",
            Self::Scale => "scale",
            Self::Binding => "binding",
            Self::Finalize => "finalize",
        }
    }

    /// Returns the fields that requests for this part cannot write.
    pub(crate) fn ignored(self, resource: &Resource) -> FieldSet {
        match self {
            Self::Whole if resource.has_status => FieldSet::of(&[&["status"]]),
            Self::Whole | Self::Scale | Self::Binding => FieldSet::default(),
            Self::Finalize => FieldSet::of(&[&["status"]]),
            Self::Status if keeps_metadata(resource) => FieldSet::of(&[&["metadata"], &["spec"]]),
            Self::Status => match resource.storage() {
                ("apps", "deployments") => FieldSet::of(&[&["spec"], &["metadata", "labels"]]),
                ("", "pods") => FieldSet::of(&[
                    &["spec"],
                    &["metadata", "deletionTimestamp"],
                    &["metadata", "ownerReferences"],
                ]),
                _ => FieldSet::of(&[&["spec"]]),
            },
        }
    }
}

/// Returns true if a write to the status does not change the metadata.
fn keeps_metadata(resource: &Resource) -> bool {
    resource.is_custom()
        || matches!(
            resource.storage(),
            ("apiextensions.k8s.io", "customresourcedefinitions")
                | ("admissionregistration.k8s.io", "validatingadmissionpolicies")
                | ("networking.k8s.io", "servicecidrs")
                | ("storage.k8s.io", "volumeattachments")
                | ("resource.k8s.io", "resourceclaims")
                | ("flowcontrol.apiserver.k8s.io", "flowschemas" | "prioritylevelconfigurations")
        )
}
