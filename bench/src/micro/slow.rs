//! One slow handler among ten.

use super::source::{OBJECTS, changed, informer};
use futures_util::{StreamExt, stream};
use k8s_openapi::api::core::v1::Pod;
use kube_informer::{Event, subscription::Async};
use kube_informer_bench_client::{
    latency::{Timed, windows},
    seen::{Goal, SENT, Seen, now},
    usage::Usage,
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::time::{Interval, MissedTickBehavior, interval};

/// Events a millisecond.
const BURST: u64 = 5;
const OTHERS: usize = 9;

/// Sends 5,000 events a second for a while, and says how long they took to the nine handlers that are not slow, and how
/// much memory grew. The tenth sleeps for so many milliseconds at each event.
pub(super) async fn measure(milliseconds: u64, sleep: u64) -> Result<Value, String> {
    let events = milliseconds * BURST;
    let bursts = stream::unfold((None, 0), move |(ticks, turn)| async move {
        if turn == events {
            return None;
        }
        // The clock starts when the first events are asked for.
        let mut ticks: Interval = ticks.unwrap_or_else(|| interval(Duration::from_millis(1)));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        ticks.tick().await;
        let burst: Vec<_> = (turn..turn + BURST).map(stamped).collect();
        Some((stream::iter(burst), (Some(ticks), turn + BURST)))
    });
    let (informer, begin) = informer(bursts.flatten())?;
    let seen: Vec<_> = (0..OTHERS).map(|_| Arc::new(Seen::default())).collect();
    for seen in &seen {
        let seen = Arc::clone(seen);
        seen.expect(Goal::Timed(events));
        let handler = move |event: &Event<Pod>| seen.told(|| -> &Pod { event.object().get() });
        informer.add_handler(handler).map_err(|error| error.to_string())?;
    }
    let slow = Async(move |event: Event<Pod>| async move {
        // Only changes are slow to handle, and a sleep of nothing is none: the timer would make a millisecond of it.
        if sleep > 0 && event.object().get().metadata.annotations.is_some() {
            tokio::time::sleep(Duration::from_millis(sleep)).await;
        }
    });
    informer.add_handler(slow).map_err(|error| error.to_string())?;
    informer.start();
    informer.synced().await.map_err(|error| error.to_string())?;
    while seen.iter().any(|seen| seen.events() < OBJECTS) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let before = Usage::now().rss;
    begin.notify_one();
    let waiting = tokio::task::spawn_blocking(move || {
        let limit = Duration::from_millis(milliseconds * 2 + 5000);
        seen.iter().flat_map(|seen| seen.wait(limit).map(|sight| sight.timed).unwrap_or_default()).collect()
    });
    let timed: Vec<Timed> = waiting.await.map_err(|error| error.to_string())?;
    Ok(json!({
        "p99": windows(&timed, 0.99),
        "delivered": timed.len() as f64 / (events * OTHERS as u64) as f64,
        "growth": Usage::now().rss.saturating_sub(before),
    }))
}

fn stamped(turn: u64) -> Pod {
    let mut pod = changed(turn);
    pod.metadata.annotations = Some([(SENT.to_owned(), now().to_string())].into());
    pod
}
