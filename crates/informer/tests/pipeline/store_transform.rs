//! A transform of a store that a reflector fills directly.

use crate::{cluster::named, harness::listing};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{
    ResourceVersion, Store,
    reflector::Reflector,
    source::{Script, ScriptedWatch},
    wire::WatchEvent,
};
use tokio_util::sync::CancellationToken;

fn map(name: &str, version: u64) -> ConfigMap {
    let mut map = named(name);
    map.metadata.resource_version = Some(version.to_string());
    map.metadata.annotations = Some([("large".to_owned(), "text".to_owned())].into());
    map
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_filled_directly_has_transformed_objects() {
    let (store, writer) = Store::builder()
        .transform(|mut map: ConfigMap| {
            map.metadata.annotations = None;
            if map.metadata.name.as_deref() == Some("bad") { Err("rejected".into()) } else { Ok(map) }
        })
        .build()
        .unwrap();
    let watch = ScriptedWatch::open([WatchEvent::Added(map("b", 3)), WatchEvent::Modified(map("a", 4))]);
    let source = Script::new().list([map("a", 1), map("bad", 2)], 2).watch(watch);
    let cancel = CancellationToken::new();
    let reflector = Reflector::with_config(source, writer, listing()).on_error(|_| {});
    let task = tokio::spawn(reflector.run(cancel.clone()));
    store.wait_for(&ResourceVersion::number(4)).await.unwrap();
    let mut maps: Vec<_> = store.list().iter().map(|map| map.metadata.clone()).collect();
    maps.sort_by_key(|metadata| metadata.name.clone());
    let names: Vec<_> = maps.iter().map(|metadata| metadata.name.as_deref().unwrap()).collect();
    assert_eq!(names, ["a", "b"]);
    assert!(maps.iter().all(|metadata| metadata.annotations.is_none()));
    cancel.cancel();
    task.await.unwrap();
}
