//! The controller of kube-runtime, with a reconcile function that only reads its object.

use crate::source::{OBJECTS, events, stamped};
use futures_util::{StreamExt, stream};
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::{
    Controller, WatchStreamExt,
    controller::{Action, Config},
    reflector,
};
use kube_informer_bench_client::{
    recorder::{Goal, Recorder, now},
    session::print_line,
    usage::Usage,
};
use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::time::{Interval, MissedTickBehavior, interval};

const WORKERS: u16 = 4;

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

fn error_policy(_: Arc<Pod>, error: &Infallible, _: Arc<Reconciles>) -> Action {
    match *error {}
}

/// Reconciles all pods `rounds` times, then sends 1,000 events per second.
pub(crate) async fn measure(rounds: u64, milliseconds: u64) {
    let base = Usage::now().rss;
    let (begin, begun) = tokio::sync::oneshot::channel();
    let waits = stream::once(async move { _ = begun.await }).filter_map(|()| async { None });
    let changes = stream::unfold((None, 0), move |(ticks, turn)| async move {
        if turn == milliseconds {
            return None;
        }
        let mut ticks: Interval = ticks.unwrap_or_else(|| interval(Duration::from_millis(1)));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        ticks.tick().await;
        Some((stamped(turn, now()), (Some(ticks), turn + 1)))
    });
    let (reader, writer) = reflector::store::<Pod>();
    let trigger = events(waits.chain(changes).chain(stream::pending())).reflect(writer).applied_objects();
    let (all, triggered) = tokio::sync::mpsc::channel(1);
    let triggers =
        stream::unfold(triggered, |mut triggered| async { Some((triggered.recv().await?, triggered)) });
    let reconciles = Arc::new(Reconciles::default());
    let controller = Controller::for_stream(trigger, reader)
        .with_config(Config::default().concurrency(WORKERS))
        .reconcile_all_on(triggers.boxed())
        .run(reconcile, error_policy, Arc::clone(&reconciles));
    tokio::spawn(controller.for_each(|_| async {}));
    reconciles.reached(OBJECTS).await;
    let before = reconciles.count.load(Ordering::Relaxed);
    let start = Instant::now();
    for round in 1..=rounds {
        _ = all.send(()).await;
        reconciles.reached(before + round * OBJECTS).await;
    }
    let rate = (rounds * OBJECTS) as f64 / start.elapsed().as_secs_f64();
    let memory = Usage::now().rss.saturating_sub(base);
    reconciles.recorder.expect(Goal::Timed(milliseconds));
    _ = begin.send(());
    let waiting = Arc::clone(&reconciles);
    let limit = Duration::from_millis(milliseconds * 2 + 5000);
    let record = tokio::task::spawn_blocking(move || waiting.recorder.wait(limit)).await;
    let latencies = record.ok().flatten().unwrap_or_default().latencies;
    print_line(&serde_json::json!({
        "rate": rate,
        "memory": memory,
        "p50": latencies.quantile(0.5),
        "p99": latencies.quantile(0.99),
    }));
}
