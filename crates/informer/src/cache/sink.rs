//! A store is where a reflector can write to, without a queue between.

use super::writer::Writer;
use crate::{
    object::listing::Listing,
    reflector::{Collector, LeftOut, Presence, Sink},
    source::{BoxError, Item},
};
use kube_core::Resource;
use kube_informer_wire::{Key, ResourceVersion};
use std::sync::Arc;

/// client-go's `NewNamespaceKeyedIndexerAndReflector`: a cache for those who only read it.
///
/// Nobody is told of changes, so a resync does nothing.
impl<K: Resource + Send + Sync + 'static> Sink<K> for Writer<K> {
    fn collector(&self) -> Collector<K> {
        let known = self.known();
        Collector::new(move |item: Item<K>| {
            if let Some(identity) = item.identity()
                && let Some(known) = known(&identity)
            {
                return Ok(known);
            }
            let object = item.into_object().map_err(LeftOut::Undecodable)?;
            let key = Key::of(&object).map_err(|_| LeftOut::Rejected(None))?;
            Ok((key, Arc::new(object).into()))
        })
    }

    async fn replace(&mut self, listing: Listing<K>) -> Result<(), BoxError> {
        self.edit().replace(listing);
        Ok(())
    }

    async fn add(&mut self, item: Item<K>) -> Result<(), BoxError> {
        let object = item.into_object()?;
        self.edit().insert(Arc::new(object))?;
        Ok(())
    }

    async fn update(&mut self, item: Item<K>) -> Result<(), BoxError> {
        self.add(item).await
    }

    async fn delete(&mut self, item: Item<K>) -> Result<(), BoxError> {
        let object = item.into_object()?;
        let version = object.meta().resource_version.as_deref().and_then(|text| text.parse().ok());
        let mut edit = self.edit();
        edit.remove(&Key::of(&object)?);
        if let Some(version) = version {
            edit.set_version(version);
        }
        Ok(())
    }

    async fn left_out(
        &mut self,
        key: Key,
        presence: Presence,
        version: Option<ResourceVersion>,
    ) -> Result<(), BoxError> {
        if presence == Presence::Gone {
            let mut edit = self.edit();
            edit.remove(&key);
            version.into_iter().for_each(|version| edit.set_version(version));
        }
        Ok(())
    }

    async fn bookmark(&mut self, version: ResourceVersion) -> Result<(), BoxError> {
        self.edit().set_version(version);
        Ok(())
    }

    async fn resync(&mut self) -> Result<(), BoxError> {
        Ok(())
    }
}
