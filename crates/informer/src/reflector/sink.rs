//! The port that a reflector writes to.

use crate::{list_watch::BoxError, listing::Listing};
use kube_informer_wire::{Key, ResourceVersion};
use std::sync::Arc;

/// Takes what a reflector sees.
///
/// [`DeltaFifo`](crate::fifo::DeltaFifo) is one, and a [`Writer`](crate::store::Writer) of a store is another. When a method
/// returns an error, the reflector takes the cache for behind, backs off and begins again with the whole state.
pub trait Sink<K>: Send {
    /// Takes an object of a list that is being collected, and gives it the form in which
    /// [`replace`](Self::replace) takes it: transformed, under its key, shared with what is known where it is the same.
    ///
    /// # Errors
    /// The key of an object that is left out, where it has one.
    fn collect(&mut self, object: K) -> Result<(Key, Arc<K>), Option<Key>>;

    /// Takes all there is.
    fn replace(&mut self, listing: Listing<K>) -> impl Future<Output = Result<(), BoxError>> + Send;

    /// Takes an object that came to be.
    fn add(&mut self, object: K) -> impl Future<Output = Result<(), BoxError>> + Send;

    /// Takes an object that changed.
    fn update(&mut self, object: K) -> impl Future<Output = Result<(), BoxError>> + Send;

    /// Takes the final state of an object that went away.
    fn delete(&mut self, object: K) -> impl Future<Output = Result<(), BoxError>> + Send;

    /// Takes note that nothing happened up to this version.
    fn bookmark(&mut self, version: ResourceVersion) -> impl Future<Output = Result<(), BoxError>> + Send;

    /// Tells everything known again.
    fn resync(&mut self) -> impl Future<Output = Result<(), BoxError>> + Send;
}
