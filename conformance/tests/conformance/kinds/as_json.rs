//! Typed objects as JSON.

use futures_util::{StreamExt, future::BoxFuture};
use kube::{Resource, api::DynamicObject};
use kube_informer::{
    source::{Error, ListWatch, ListerWatcher, OnItem, RawObject, Watch},
    wire::{ListMeta, ListOptions, WatchOptions},
};
use serde::Serialize;

/// Decodes the objects of a source as `K`, and delivers them as JSON: compiling a reflector and a cache for every type would take most of
/// the time to build these tests.
pub(super) struct AsJson<K: Resource>(pub(super) ListWatch<K>);

fn as_json<K: Serialize>(object: RawObject<K>) -> DynamicObject {
    let object = serde_json::to_value(object.into_object().unwrap()).unwrap();
    serde_json::from_value(object).unwrap()
}

impl<K: Resource + Serialize + Send + Sync + 'static> ListerWatcher<DynamicObject> for AsJson<K> {
    fn list<'a>(
        &'a self,
        options: &'a ListOptions,
        on_item: OnItem<'a, DynamicObject>,
    ) -> BoxFuture<'a, Result<ListMeta, Error>> {
        Box::pin(async move {
            self.0.list(options, &mut |item| on_item(item.map(|object| as_json(object).into()))).await
        })
    }

    fn watch<'a>(&'a self, options: &'a WatchOptions) -> BoxFuture<'a, Result<Watch<DynamicObject>, Error>> {
        Box::pin(async move {
            let events = self.0.watch(options).await?;
            Ok(Watch::new(events.map(|event| Ok(event?.map(as_json)))))
        })
    }
}
