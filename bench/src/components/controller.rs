//! A controller with a reconcile function that only reads its object.

use super::source::{OBJECTS, ScriptedInformer, changed, informer};
use futures_util::{StreamExt, stream};
use k8s_openapi::api::core::v1::Pod;
use kube_informer::{
    controller::{Action, Controller, ErrorPolicy},
    source::RawObject,
};
use kube_informer_bench_client::{
    recorder::{Goal, Recorder, SENT, now},
    usage::Usage,
};
use serde_json::{Value, json};
use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::{
    sync::mpsc,
    time::{Interval, MissedTickBehavior, interval},
};

const WORKERS: usize = 4;

/// Counts reconciles, and records the latency of pods that have the time of sending.
#[derive(Default)]
struct Reconciles {
    count: AtomicU64,
    recorder: Recorder,
}

impl Reconciles {
    async fn reached(&self, count: u64) {
        while self.count.load(Ordering::Relaxed) < count {
            tokio::time::sleep(Duration::from_micros(100)).await;
        }
    }
}

async fn reconcile(pod: Arc<Pod>, reconciles: Arc<Reconciles>) -> Result<Action, Infallible> {
    if pod.metadata.annotations.is_some() {
        reconciles.recorder.event(|| -> &Pod { &pod });
    }
    reconciles.count.fetch_add(1, Ordering::Relaxed);
    Ok(Action::await_change())
}

/// Reconciles all pods `rounds` times, then sends 1,000 events per second. Returns the reconciles per second, the memory, and the
/// time from an event to its reconcile.
pub(super) async fn measure(rounds: u64, milliseconds: u64) -> Result<Value, String> {
    let base = Usage::now().rss;
    let events = stream::unfold((None, 0), move |(ticks, turn)| async move {
        if turn == milliseconds {
            return None;
        }
        // The clock starts with the first poll.
        let mut ticks: Interval = ticks.unwrap_or_else(|| interval(Duration::from_millis(1)));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        ticks.tick().await;
        let mut pod = changed(turn);
        pod.metadata.annotations = Some([(SENT.to_owned(), now().to_string())].into());
        Some((pod, (Some(ticks), turn + 1)))
    });
    let ScriptedInformer { informer, start_changes } = informer(events.map(RawObject::from))?;
    informer.start();
    let reconciles = Arc::new(Reconciles::default());
    let (trigger, triggered) = mpsc::channel(1);
    let triggers =
        stream::unfold(triggered, |mut triggered| async { Some((triggered.recv().await?, triggered)) });
    let controller = Controller::new(&informer).concurrency(WORKERS).reconcile_all_on(triggers.boxed());
    let handle = controller.handle();
    let running = tokio::spawn(controller.run(reconcile, ErrorPolicy::default(), Arc::clone(&reconciles)));
    reconciles.reached(OBJECTS).await;
    let before = reconciles.count.load(Ordering::Relaxed);
    let start = Instant::now();
    for round in 1..=rounds {
        trigger.send(()).await.map_err(|error| error.to_string())?;
        reconciles.reached(before + round * OBJECTS).await;
    }
    let rate = (rounds * OBJECTS) as f64 / start.elapsed().as_secs_f64();
    let memory = Usage::now().rss.saturating_sub(base);
    reconciles.recorder.expect(Goal::Timed(milliseconds));
    start_changes.notify_one();
    let waiting = Arc::clone(&reconciles);
    let limit = Duration::from_millis(milliseconds * 2 + 5000);
    let record = tokio::task::spawn_blocking(move || waiting.recorder.wait(limit));
    let record = record.await.map_err(|error| error.to_string())?.ok_or("events were not reconciled")?;
    handle.stop();
    running.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
    Ok(json!({
        "rate": rate,
        "memory": memory,
        "p50": record.latencies.quantile(0.5),
        "p99": record.latencies.quantile(0.99),
    }))
}
