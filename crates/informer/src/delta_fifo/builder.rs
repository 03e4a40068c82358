//! What can be said of a queue before there is one.

use super::{fifo::DeltaFifo, rejected::Rejected, transform::Gate};
use crate::tags::Tagger;
use crate::{object::Keep, object::listing::Shown, source::BoxError};
#[cfg(feature = "saved")]
use crate::{object::encoded::Restorer, source::Decoder};
use kube_informer_wire::{Identity, Key};
use std::num::NonZeroUsize;

/// Makes a [`DeltaFifo`].
#[derive(Debug)]
#[must_use]
pub struct Builder<K> {
    capacity: Option<NonZeroUsize>,
    gate: Gate<K>,
}

impl<K> Builder<K> {
    /// Makes producers wait while this many deltas are queued. The default is never to wait.
    pub fn capacity(mut self, deltas: NonZeroUsize) -> Self {
        self.capacity = Some(deltas);
        self
    }

    /// Changes every object before it is queued; several transforms run one after the other.
    ///
    /// It runs once per object, and again at each read where objects are kept [compact](Keep). An object for which it fails or panics is reported and left out: what is known of it stays,
    /// its version passes, and if it was the final state of a deleted object, the deletion goes on without it. Such an
    /// object is known by the key it came with, so a transform that changes keys must not fail.
    pub fn transform(mut self, transform: impl Fn(K) -> Result<K, BoxError> + Send + Sync + 'static) -> Self
    where
        K: 'static,
    {
        self.gate.then(transform);
        self
    }

    /// Asks, for each object of a list, for the known one that is the very same state.
    ///
    /// A relist then holds what is known rather than a second copy of it:
    /// [`Store::same`](crate::cache::Store::same) is made for this. What is reused is neither decoded nor transformed.
    pub fn reuse<F>(mut self, known: F) -> Self
    where
        F: Fn(&Identity<'_>) -> Option<(Key, Shown<K>)> + Send + Sync + 'static,
    {
        self.gate.reuse(known);
        self
    }

    /// Finds with this the index values of objects that are not kept decoded, when they come.
    pub(crate) fn tag_with(mut self, tagger: Tagger<K>) -> Self {
        self.gate.tag_with(tagger);
        self
    }

    /// What is kept of objects: [`Keep::Whole`] unless told otherwise.
    pub fn keep(mut self, keep: Keep) -> Self {
        self.gate.keep(keep);
        self
    }

    /// Keeps the bytes of objects too, to be saved.
    #[cfg(feature = "saved")]
    pub(crate) fn keep_bytes(mut self) -> Self {
        self.gate.keep_bytes();
        self
    }

    /// Whether objects are changed before they are queued.
    #[cfg(feature = "saved")]
    pub(crate) fn has_transform(&self) -> bool {
        self.gate.has_transform()
    }

    /// What takes in objects that were queued, and packed, in an earlier life.
    #[cfg(feature = "saved")]
    pub(crate) fn restorer(&self, decoder: Decoder<K>) -> Option<Restorer<K>> {
        self.gate.restorer(decoder)
    }

    /// Hears of every object that is left out. The default is a warning in the log.
    pub fn on_rejected(mut self, report: impl Fn(Rejected) + Send + Sync + 'static) -> Self {
        self.gate.report_to(report);
        self
    }

    /// Makes the queue.
    pub fn build(self) -> DeltaFifo<K> {
        DeltaFifo::new(self.gate, self.capacity)
    }
}

impl<K> DeltaFifo<K> {
    /// Begins a queue.
    pub fn builder() -> Builder<K> {
        Builder { capacity: None, gate: Gate::default() }
    }
}

/// Makes another queue of the same kind.
impl<K> Clone for Builder<K> {
    fn clone(&self) -> Self {
        Self { capacity: self.capacity, gate: self.gate.clone() }
    }
}
