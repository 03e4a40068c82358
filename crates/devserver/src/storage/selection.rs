//! The selection of objects of a list or watch.

use crate::storage::record::Content;
use kube_informer_wire::{FieldSelector, LabelSelector, ShardSelector};

/// The selectors of a list or watch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    /// The namespace; `None` for all namespaces.
    pub(crate) namespace: Option<String>,
    /// The label selector.
    pub(crate) labels: LabelSelector,
    /// The field selector.
    pub(crate) fields: FieldSelector,
    /// The shard selector.
    pub(crate) shard: Option<ShardSelector>,
}

impl Selection {
    /// Selects all objects of a namespace, or all objects.
    pub(crate) fn everything(namespace: Option<&str>) -> Self {
        Self { namespace: namespace.map(str::to_owned), ..Self::default() }
    }

    /// Returns true if an object is selected.
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

    /// Returns true if there is a selector, so that objects cannot be counted without reading them.
    pub(crate) fn has_selector(&self) -> bool {
        !self.labels.is_everything() || !self.fields.is_everything() || self.shard.is_some()
    }
}
