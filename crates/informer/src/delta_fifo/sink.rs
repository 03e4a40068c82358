//! A queue is where a reflector can write to.

use super::{delta::Delta, fifo::DeltaFifo};
use crate::{
    object::listing::Listing,
    reflector::{Collector, Presence, Sink},
    source::{BoxError, Item, Wanted},
};
use kube_core::Resource;
use kube_informer_wire::{Key, ResourceVersion};

/// Fails only once the queue is closed.
impl<K: Resource + Send + Sync + 'static> Sink<K> for DeltaFifo<K> {
    fn collector(&self) -> Collector<K> {
        let fifo = self.clone();
        Collector::of_batches(move |items| fifo.collect(items))
    }

    fn wants(&self) -> Wanted {
        self.gate().wants()
    }

    async fn replace(&mut self, listing: Listing<K>) -> Result<(), BoxError> {
        Ok(self.replace_with(listing).await?)
    }

    async fn add(&mut self, item: Item<K>) -> Result<(), BoxError> {
        Ok(self.present(item, Delta::Added).await?)
    }

    async fn update(&mut self, item: Item<K>) -> Result<(), BoxError> {
        Ok(self.present(item, Delta::Updated).await?)
    }

    async fn delete(&mut self, item: Item<K>) -> Result<(), BoxError> {
        Ok(self.present_gone(item).await?)
    }

    async fn left_out(
        &mut self,
        key: Key,
        presence: Presence,
        version: Option<ResourceVersion>,
    ) -> Result<(), BoxError> {
        match presence {
            Presence::Here => self.pass_over(Some(key), None).await?,
            Presence::Gone => self.push(|queue| queue.delta(key, Delta::Deleted(None), version)).await?,
        }
        Ok(())
    }

    async fn bookmark(&mut self, version: ResourceVersion) -> Result<(), BoxError> {
        Ok(Self::bookmark(self, version).await?)
    }

    async fn resumed(&mut self) -> Result<(), BoxError> {
        Ok(Self::resumed(self).await?)
    }

    async fn resync(&mut self) -> Result<(), BoxError> {
        Ok(Self::resync(self).await?)
    }
}
