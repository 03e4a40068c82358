//! The destination of a reflector.

use crate::{boxed::BoxError, delta::DeltaBatch, ingest::Ingest, object::Listing};

/// Receives the lists and changes that a reflector reads.
///
/// Implemented by [`DeltaFifo`](crate::delta_fifo::DeltaFifo) and by the [`Writer`](crate::cache::Writer) of a store. If a
/// method returns an error, the reflector backs off and starts over with a full list.
pub trait Sink<K>: Send {
    /// Returns the stage that turns raw objects into those that the other methods receive. Called once.
    fn ingest(&self) -> Ingest<K> {
        Ingest::new()
    }

    /// Replaces all objects by those of a full list.
    fn replace(&mut self, listing: Listing<K>) -> impl Future<Output = Result<(), BoxError>> + Send;

    /// Applies changes in order.
    fn apply(&mut self, batch: DeltaBatch<K>) -> impl Future<Output = Result<(), BoxError>> + Send;

    /// Called when a watch that resumed from a known version has delivered all changes since then; see
    /// [`Reflector::resume_from`](super::Reflector::resume_from).
    fn resumed(&mut self) -> impl Future<Output = Result<(), BoxError>> + Send {
        std::future::ready(Ok(()))
    }

    /// Delivers all objects again.
    fn resync(&mut self) -> impl Future<Output = Result<(), BoxError>> + Send;
}
