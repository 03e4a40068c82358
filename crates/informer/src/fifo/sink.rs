//! A queue is where a reflector can write to.

use super::channel::DeltaFifo;
use crate::{list_watch::BoxError, listing::Listing, reflector::Sink};
use kube_core::Resource;
use kube_informer_wire::{Key, ResourceVersion};
use std::sync::Arc;

/// Fails only once the queue is closed.
impl<K: Resource + Send + Sync + 'static> Sink<K> for DeltaFifo<K> {
    fn collect(&mut self, object: K) -> Result<(Key, Arc<K>), Option<Key>> {
        Self::collect(self, object)
    }

    async fn replace(&mut self, listing: Listing<K>) -> Result<(), BoxError> {
        Ok(self.replace_with(listing).await?)
    }

    async fn add(&mut self, object: K) -> Result<(), BoxError> {
        Ok(Self::add(self, object).await?)
    }

    async fn update(&mut self, object: K) -> Result<(), BoxError> {
        Ok(Self::update(self, object).await?)
    }

    async fn delete(&mut self, object: K) -> Result<(), BoxError> {
        Ok(Self::delete(self, object).await?)
    }

    async fn bookmark(&mut self, version: ResourceVersion) -> Result<(), BoxError> {
        Ok(Self::bookmark(self, version).await?)
    }

    async fn resync(&mut self) -> Result<(), BoxError> {
        Ok(Self::resync(self).await?)
    }
}
