//! The port that a reflector writes to.

use crate::{
    list_watch::{BoxError, Item, ItemError},
    listing::Listing,
    object::Object,
};
use kube_informer_wire::{Key, ResourceVersion};

/// Why a sink does not take an object of a list in.
#[derive(Debug)]
#[non_exhaustive]
pub enum LeftOut {
    /// It cannot be decoded. The reflector reports it.
    Undecodable(ItemError),
    /// It is not wanted, which the sink has reported. With the key of what is then not to be taken for gone, if it has one.
    Rejected(Option<Key>),
}

/// Takes what a reflector sees.
///
/// [`DeltaFifo`](crate::fifo::DeltaFifo) is one, and a [`Writer`](crate::store::Writer) of a store is another. When a method
/// returns an error, the reflector takes the cache for behind, backs off and begins again with the whole state.
pub trait Sink<K>: Send {
    /// Takes an object of a list that is being collected, and gives it the form in which
    /// [`replace`](Self::replace) takes it: transformed, under its key, shared with what is known where it is the same, which
    /// can be told [without decoding it](Item::identity).
    ///
    /// # Errors
    /// [`LeftOut`] says why it is left out.
    fn collect(&mut self, item: Item<K>) -> Result<(Key, Object<K>), LeftOut>;

    /// Takes all there is.
    fn replace(&mut self, listing: Listing<K>) -> impl Future<Output = Result<(), BoxError>> + Send;

    /// Takes an object that came to be. This one, and those below, are decoded already.
    fn add(&mut self, item: Item<K>) -> impl Future<Output = Result<(), BoxError>> + Send;

    /// Takes an object that changed.
    fn update(&mut self, item: Item<K>) -> impl Future<Output = Result<(), BoxError>> + Send;

    /// Takes the final state of an object that went away.
    fn delete(&mut self, item: Item<K>) -> impl Future<Output = Result<(), BoxError>> + Send;

    /// Takes note that nothing happened up to this version.
    fn bookmark(&mut self, version: ResourceVersion) -> impl Future<Output = Result<(), BoxError>> + Send;

    /// Tells everything known again.
    fn resync(&mut self) -> impl Future<Output = Result<(), BoxError>> + Send;
}
