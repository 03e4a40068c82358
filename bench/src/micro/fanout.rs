//! Decoded events through an informer with many handlers.

use super::source::{OBJECTS, changed, informer};
use futures_util::stream;
use k8s_openapi::api::core::v1::Pod;
use kube_informer::{
    Event,
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

/// How many events a second reach each of the handlers.
pub(super) async fn measure(handlers: u64, events: u64) -> Result<Value, String> {
    // Made beforehand, so that the time is that of telling.
    let changes: Vec<_> = (0..events).map(changed).collect();
    let (informer, begin) = informer(stream::iter(changes))?;
    let counts: Vec<_> = (0..handlers).map(|_| Arc::new(AtomicU64::new(0))).collect();
    for count in &counts {
        let (mut seen, count) = (0, Arc::clone(count));
        let handler = move |event: &Event<Pod>| {
            seen += u64::from(event.object().get().metadata.name.is_some());
            count.store(seen, Ordering::Relaxed);
        };
        // As many events wait for a slow one as there are, which is how the peers do it.
        let added = informer.add_handler_with(handler, SubscribeOptions::new().policy(Policy::Unbounded));
        added.map_err(|error| error.to_string())?;
    }
    informer.start();
    counted(&counts, OBJECTS).await;
    let began = Instant::now();
    begin.notify_one();
    counted(&counts, OBJECTS + events).await;
    Ok(json!({ "rate": events as f64 / began.elapsed().as_secs_f64() }))
}

/// Waits until every handler has counted so many.
async fn counted(counts: &[Arc<AtomicU64>], events: u64) {
    while counts.iter().any(|count| count.load(Ordering::Relaxed) < events) {
        tokio::time::sleep(Duration::from_micros(100)).await;
    }
}
