//! What the ingest stage asks the cache: the one place where data flows backward.

use crate::object::{IndexInput, IndexValue, IndexValues, Labels, ListedObject};
use kube_informer_wire::{ContentHash, Identity, Key};

/// The objects of a cache. Implemented by the cache.
pub(crate) trait KnownObjects<K>: Send + Sync {
    /// Returns the stored object with this uid and resource version, unless its content differs. It is then neither decoded nor
    /// stored again.
    fn find_same(
        &self,
        identity: &Identity<'_>,
        content: &dyn Fn() -> Option<ContentHash>,
    ) -> Option<(Key, ListedObject<K>)>;

    /// Whether there are index functions, which need the decoded object.
    fn has_index_functions(&self) -> bool;

    /// Whether the labels of encoded objects are cached.
    fn caches_labels(&self) -> bool;

    /// Whether there are index paths, which are read from the bytes of encoded objects.
    fn has_index_paths(&self) -> bool;

    /// Computes the index values of an object, and its cached labels if it is decoded.
    fn index_values(&self, key: &Key, input: &IndexInput<'_, K>) -> IndexValues;

    /// Computes the cached labels of an object.
    fn label_value(&self, labels: Labels<'_>) -> Option<IndexValue>;
}
