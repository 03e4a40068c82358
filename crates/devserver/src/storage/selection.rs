//! Which objects of a collection a reader wants to see.

use crate::storage::record::Content;
use kube_informer_wire::{FieldSelector, LabelSelector, ShardSelector};

/// What an object must have for a list or a watch to show it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    /// The namespace; none for all.
    pub(crate) namespace: Option<String>,
    /// By label.
    pub(crate) labels: LabelSelector,
    /// By field.
    pub(crate) fields: FieldSelector,
    /// By hash.
    pub(crate) shard: Option<ShardSelector>,
}

impl Selection {
    /// Everything in a namespace, or everything there is.
    pub(crate) fn everything(namespace: Option<&str>) -> Self {
        Self { namespace: namespace.map(str::to_owned), ..Self::default() }
    }

    /// Whether an object is one of those.
    pub(crate) fn matches(&self, object: &Content) -> bool {
        let namespace = object.key().namespace();
        self.namespace.as_deref().is_none_or(|wanted| namespace == Some(wanted))
            && self.labels.matches(object.labels())
            && self.fields.matches(|name| Some(object.field(name)))
            && self
                .shard
                .as_ref()
                .is_none_or(|shard| shard.matches(object.uid(), namespace.unwrap_or_default()))
    }

    /// Whether a selector must be asked about each object, so that they cannot be counted without looking.
    pub(crate) fn has_selector(&self) -> bool {
        !self.labels.is_everything() || !self.fields.is_everything() || self.shard.is_some()
    }
}
