//! One slow handler among ten.

use super::source::{OBJECTS, ScriptedInformer, changed, informer};
use futures_util::{StreamExt, stream};
use k8s_openapi::api::core::v1::Pod;
use kube_informer::{Event, source::RawObject, subscription::Async};
use kube_informer_bench_client::{
    latency::Latencies,
    recorder::{Goal, Recorder, SENT, now},
    usage::Usage,
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::time::{Interval, MissedTickBehavior, interval};

/// Events per millisecond.
const BURST: u64 = 5;
const OTHERS: usize = 9;

/// Sends 5,000 events per second. Returns the latency of the nine handlers that are not slow, the share of delivered events and
/// the growth of memory. The tenth handler sleeps `sleep` milliseconds at each event.
pub(super) async fn measure(milliseconds: u64, sleep: u64) -> Result<Value, String> {
    let events = milliseconds * BURST;
    let bursts = stream::unfold((None, 0), move |(ticks, turn)| async move {
        if turn == events {
            return None;
        }
        // The clock starts with the first poll.
        let mut ticks: Interval = ticks.unwrap_or_else(|| interval(Duration::from_millis(1)));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        ticks.tick().await;
        let burst: Vec<_> = (turn..turn + BURST).map(stamped).collect();
        Some((stream::iter(burst), (Some(ticks), turn + BURST)))
    });
    let ScriptedInformer { informer, start_changes } = informer(bursts.flatten().map(RawObject::from))?;
    let recorders: Vec<_> = (0..OTHERS).map(|_| Arc::new(Recorder::default())).collect();
    for recorder in &recorders {
        let recorder = Arc::clone(recorder);
        recorder.expect(Goal::Timed(events));
        let handler = move |event: &Event<Pod>| recorder.event(|| -> &Pod { event.object().get() });
        informer.add_handler(handler).map_err(|error| error.to_string())?;
    }
    let slow = Async(move |event: Event<Pod>| async move {
        // Only changes are slow. A sleep of zero would still take a millisecond.
        if sleep > 0 && event.object().get().metadata.annotations.is_some() {
            tokio::time::sleep(Duration::from_millis(sleep)).await;
        }
    });
    informer.add_handler(slow).map_err(|error| error.to_string())?;
    informer.start();
    informer.synced().await.map_err(|error| error.to_string())?;
    while recorders.iter().any(|recorder| recorder.events() < OBJECTS) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let before = Usage::now().rss;
    start_changes.notify_one();
    let waiting = tokio::task::spawn_blocking(move || {
        let limit = Duration::from_millis(milliseconds * 2 + 5000);
        let mut all = Latencies::default();
        for record in recorders.iter().filter_map(|recorder| recorder.wait(limit)) {
            all.merge(&record.latencies);
        }
        all
    });
    let latencies = waiting.await.map_err(|error| error.to_string())?;
    Ok(json!({
        "p99": latencies.quantile(0.99),
        "delivered": latencies.len() as f64 / (events * OTHERS as u64) as f64,
        "growth": Usage::now().rss.saturating_sub(before),
    }))
}

fn stamped(turn: u64) -> Pod {
    let mut pod = changed(turn);
    pod.metadata.annotations = Some([(SENT.to_owned(), now().to_string())].into());
    pod
}
