//! A source of decoded objects, for an informer without a server.

use futures_util::{Stream, StreamExt, stream};
use k8s_openapi::api::core::v1::Pod;
use kube_informer::{
    Informer,
    source::{FromFns, Page, RawObject, Watch},
    wire::{ManagedFields, ResourceVersion, WatchEvent},
};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// The number of objects.
pub(super) const OBJECTS: u64 = 10_000;

/// Returns a small pod.
pub(super) fn pod(number: u64, version: u64) -> Pod {
    let mut pod = Pod::default();
    pod.metadata.namespace = Some(format!("ns-{}", number % 40));
    pod.metadata.name = Some(format!("pod-{number}"));
    pod.metadata.resource_version = Some(version.to_string());
    pod
}

/// Returns the changed pod of this turn.
pub(super) fn changed(turn: u64) -> Pod {
    pod(turn % OBJECTS, turn + 2)
}

/// An informer of [`OBJECTS`] pods, whose changes start with a notification.
pub(super) struct ScriptedInformer {
    pub(super) informer: Informer<Pod>,
    pub(super) start_changes: Arc<Notify>,
}

/// Creates an informer with these changes.
pub(super) fn informer<S>(changes: S) -> Result<ScriptedInformer, String>
where
    S: Stream<Item = RawObject<Pod>> + Send + Sync + 'static,
{
    let start_changes = Arc::new(Notify::new());
    let started = Arc::clone(&start_changes);
    let changes = Mutex::new(Some(changes));
    let source = FromFns::new(
        |_| async {
            let items = (0..OBJECTS).map(|number| pod(number, 1)).collect();
            Ok(Page { items, version: Some(ResourceVersion::number(1)), continue_token: None })
        },
        move |_| {
            let started = Arc::clone(&started);
            // A second watch has no changes.
            let changes = changes.lock().unwrap_or_else(PoisonError::into_inner).take();
            async move {
                let Some(changes) = changes else { return Ok(Watch::from_raw(stream::pending())) };
                let wait = stream::once(async move { started.notified().await }).filter_map(async |()| None);
                let changes = changes.map(|pod| Ok(WatchEvent::Modified(pod)));
                Ok(Watch::from_raw(wait.chain(changes).chain(stream::pending())))
            }
        },
    );
    let informer = Informer::from_source(source).managed_fields(ManagedFields::Keep).build();
    Ok(ScriptedInformer { informer: informer.map_err(|error| error.to_string())?, start_changes })
}
