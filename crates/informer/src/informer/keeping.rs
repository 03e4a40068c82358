//! Says what is kept of objects.

use super::{builder::Builder, origin::Origin};
use crate::object::Keep;
use kube_core::Resource;
use kube_informer_wire::ManagedFields;

impl<K: Resource + Send + Sync + 'static> Builder<K> {
    /// What is kept of objects: [`Keep::Whole`], decoded, unless told otherwise.
    pub fn keep(mut self, keep: Keep) -> Self {
        self.fifo = self.fifo.keep(keep);
        self
    }

    /// Keeps the labels of objects that are kept [compact](Keep) beside them, so that
    /// [`matching`](crate::cache::Store::matching) decodes only what matches, and
    /// [`matching_keys`](crate::cache::Store::matching_keys) nothing. Objects of the same labels share them. Of objects that are kept whole,
    /// labels are at hand anyway.
    pub fn keep_labels(mut self) -> Self {
        self.store = self.store.keep_labels();
        self
    }

    /// The same for the labels of these names alone. A selector that asks for others too decodes what those do not rule out.
    pub fn keep_labels_named<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.store = self.store.keep_labels_named(names);
        self
    }

    /// Leaves `metadata.managedFields` out, which is about half of most objects. They are passed over before anything is
    /// decoded; of a source of your own, they are dropped afterwards.
    pub fn without_managed_fields(mut self) -> Self {
        self.managed_fields = ManagedFields::Drop;
        match self.origin {
            Origin::Server(_) => self,
            Origin::Source(_) => self.transform(|mut object| {
                object.meta_mut().managed_fields = None;
                Ok(object)
            }),
        }
    }
}
