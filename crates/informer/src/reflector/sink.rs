//! The port that a reflector writes to.

use crate::{
    object::listing::{Listing, Shown},
    source::{BoxError, Item, ItemError, Wanted},
};
use kube_informer_wire::{Key, ResourceVersion};
use std::{fmt, sync::Arc};

/// Why a sink does not take an object of a list in.
#[derive(Debug)]
#[non_exhaustive]
pub enum LeftOut {
    /// It cannot be decoded. The reflector reports it.
    Undecodable(ItemError),
    /// It is not wanted, which the sink has reported. With the key of what is then not to be taken for gone, if it has one.
    Rejected(Option<Key>),
}

/// What a source says of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It is there.
    Here,
    /// It was, and is no more.
    Gone,
}

/// An object of a list as a sink takes it, under its key; or why it does not.
pub type Collected<K> = Result<(Key, Shown<K>), LeftOut>;

/// Gives the objects of a list the form in which [`Sink::replace`] takes them. It is used by several threads at once.
pub struct Collector<K>(Arc<Collect<K>>);

type Collect<K> = dyn Fn(Vec<Item<K>>) -> Vec<Collected<K>> + Send + Sync;

impl<K> Collector<K> {
    /// Does with each object what this function does.
    pub fn new(collect: impl Fn(Item<K>) -> Collected<K> + Send + Sync + 'static) -> Self {
        Self::of_batches(move |items| items.into_iter().map(&collect).collect())
    }

    /// Does with objects that stand next to each other in a list what this function does. It answers for each, in order.
    pub fn of_batches(collect: impl Fn(Vec<Item<K>>) -> Vec<Collected<K>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(collect))
    }

    /// Gives objects that stand next to each other in a list their form.
    #[must_use]
    pub fn collect(&self, items: Vec<Item<K>>) -> Vec<Collected<K>> {
        (self.0)(items)
    }
}

impl<K> Clone for Collector<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K> fmt::Debug for Collector<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Collector")
    }
}

/// Takes what a reflector sees.
///
/// [`DeltaFifo`](crate::delta_fifo::DeltaFifo) is one, and a [`Writer`](crate::cache::Writer) of a store is another. When a method
/// returns an error, the reflector takes the cache for behind, backs off and begins again with the whole state.
pub trait Sink<K>: Send {
    /// What gives the objects of a list the form in which [`replace`](Self::replace) takes them: transformed, under their
    /// keys, shared with what is known where they are the same, which can be told [without decoding them](Item::identity).
    ///
    /// It is asked for once; a reflector takes the objects of a long list through it on all cores.
    fn collector(&self) -> Collector<K>;

    /// Takes all there is.
    fn replace(&mut self, listing: Listing<K>) -> impl Future<Output = Result<(), BoxError>> + Send;

    /// What is wanted of the objects of events. Those that come as bytes, and are wanted as such, are looked through and not
    /// decoded, if they are of no type of their own.
    fn wants(&self) -> Wanted {
        Wanted::Object
    }

    /// Takes an object that came to be. It is certain that this one, and those below, can be decoded.
    fn add(&mut self, item: Item<K>) -> impl Future<Output = Result<(), BoxError>> + Send;

    /// Takes an object that changed.
    fn update(&mut self, item: Item<K>) -> impl Future<Output = Result<(), BoxError>> + Send;

    /// Takes the final state of an object that went away.
    fn delete(&mut self, item: Item<K>) -> impl Future<Output = Result<(), BoxError>> + Send;

    /// Takes note that an object changed, or went away, and cannot be decoded. What was known of one that is there is no longer true; one
    /// that went away has to go. The default takes that for a reason to begin again.
    fn left_out(
        &mut self,
        key: Key,
        presence: Presence,
        version: Option<ResourceVersion>,
    ) -> impl Future<Output = Result<(), BoxError>> + Send {
        let _ = version;
        std::future::ready(match presence {
            Presence::Here => Ok(()),
            Presence::Gone => Err(format!("{key} went away and cannot be decoded").into()),
        })
    }

    /// Takes note that nothing happened up to this version.
    fn bookmark(&mut self, version: ResourceVersion) -> impl Future<Output = Result<(), BoxError>> + Send;

    /// Takes note that the watch goes on from what the sink had from the start, and has told what had changed since; see
    /// [`Reflector::resume_from`](super::Reflector::resume_from).
    fn resumed(&mut self) -> impl Future<Output = Result<(), BoxError>> + Send {
        std::future::ready(Ok(()))
    }

    /// Tells everything known again.
    fn resync(&mut self) -> impl Future<Output = Result<(), BoxError>> + Send;
}
