//! A store is where a reflector can write to, without a queue between.

use super::writer::Writer;
use crate::{list_watch::BoxError, listing::Listing, reflector::Sink};
use kube_core::Resource;
use kube_informer_wire::{Key, ResourceVersion};
use std::sync::Arc;

/// client-go's `NewNamespaceKeyedIndexerAndReflector`: a cache for those who only read it.
///
/// Nobody is told of changes, so a resync does nothing.
impl<K: Resource + Send + Sync + 'static> Sink<K> for Writer<K> {
    fn collect(&mut self, object: K) -> Result<(Key, Arc<K>), Option<Key>> {
        let key = Key::of(&object).map_err(|_| None)?;
        let object = self.same(&key, &object).unwrap_or_else(|| Arc::new(object));
        Ok((key, object))
    }

    async fn replace(&mut self, listing: Listing<K>) -> Result<(), BoxError> {
        self.edit().replace(listing);
        Ok(())
    }

    async fn add(&mut self, object: K) -> Result<(), BoxError> {
        self.edit().insert(Arc::new(object))?;
        Ok(())
    }

    async fn update(&mut self, object: K) -> Result<(), BoxError> {
        self.add(object).await
    }

    async fn delete(&mut self, object: K) -> Result<(), BoxError> {
        let version = object.meta().resource_version.as_deref().and_then(|text| text.parse().ok());
        let mut edit = self.edit();
        edit.remove(&Key::of(&object)?);
        if let Some(version) = version {
            edit.set_version(version);
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
