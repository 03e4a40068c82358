//! Decoded events to many handlers of an informer.

use super::source::{OBJECTS, ScriptedInformer, changed, informer};
use futures_util::stream;
use k8s_openapi::api::core::v1::Pod;
use kube_informer::{
    Event,
    source::RawObject,
    subscription::{Policy, SubscribeOptions},
};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// Returns the events per second that reach each handler.
pub(super) async fn measure(handlers: u64, events: u64) -> Result<Value, String> {
    // Created in advance, so that only delivery is measured.
    let changes: Vec<_> = (0..events).map(changed).map(RawObject::from).collect();
    let ScriptedInformer { informer, start_changes } = informer(stream::iter(changes))?;
    let counts: Vec<_> = (0..handlers).map(|_| Arc::new(AtomicU64::new(0))).collect();
    for count in &counts {
        let (mut seen, count) = (0, Arc::clone(count));
        let handler = move |event: &Event<Pod>| {
            seen += u64::from(event.object().get().metadata.name.is_some());
            count.store(seen, Ordering::Relaxed);
        };
        // Unbounded queues, as in client-go.
        let added = informer.add_handler_with(handler, SubscribeOptions::new().policy(Policy::Unbounded));
        added.map_err(|error| error.to_string())?;
    }
    informer.start();
    counted(&counts, OBJECTS).await;
    let start = Instant::now();
    start_changes.notify_one();
    counted(&counts, OBJECTS + events).await;
    Ok(json!({ "rate": events as f64 / start.elapsed().as_secs_f64() }))
}

/// Waits until every handler has counted this number of events.
async fn counted(counts: &[Arc<AtomicU64>], events: u64) {
    while counts.iter().any(|count| count.load(Ordering::Relaxed) < events) {
        tokio::time::sleep(Duration::from_micros(100)).await;
    }
}
