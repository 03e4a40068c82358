//! A source of decoded objects, for an informer without a server.

use futures_util::{Stream, StreamExt, stream};
use k8s_openapi::api::core::v1::Pod;
use kube_informer::{
    Informer,
    source::{FromFns, Page, Watch},
    wire::{ManagedFields, ResourceVersion, WatchEvent},
};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// How many objects there are.
pub(super) const OBJECTS: u64 = 10_000;

/// A small pod.
pub(super) fn pod(number: u64, version: u64) -> Pod {
    let mut pod = Pod::default();
    pod.metadata.namespace = Some(format!("ns-{}", number % 40));
    pod.metadata.name = Some(format!("pod-{number}"));
    pod.metadata.resource_version = Some(version.to_string());
    pod
}

/// The pod that changes in this turn.
pub(super) fn changed(turn: u64) -> Pod {
    pod(turn % OBJECTS, turn + 2)
}

/// An informer of [`OBJECTS`] pods, which hears of changes once it is told to begin.
pub(super) fn informer<S>(changes: S) -> Result<(Informer<Pod>, Arc<Notify>), String>
where
    S: Stream<Item = Pod> + Send + Sync + 'static,
{
    let begin = Arc::new(Notify::new());
    let (waits, changes) = (Arc::clone(&begin), Mutex::new(Some(changes)));
    let source = FromFns::new(
        |_| async {
            let items = (0..OBJECTS).map(|number| pod(number, 1)).collect();
            Ok(Page { items, version: Some(ResourceVersion::number(1)), continue_token: None })
        },
        move |_| {
            let waits = Arc::clone(&waits);
            // Who watches again has had them.
            let changes = changes.lock().unwrap_or_else(PoisonError::into_inner).take();
            async move {
                let begun = stream::once(async move { waits.notified().await }).filter_map(async |()| None);
                let changes = stream::iter(changes).flatten().map(|pod| Ok(WatchEvent::Modified(pod)));
                Ok(Watch::new(begun.chain(changes).chain(stream::pending())))
            }
        },
    );
    let informer =
        Informer::from_source(source).managed_fields(ManagedFields::Keep).build();
    Ok((informer.map_err(|error| error.to_string())?, begin))
}
