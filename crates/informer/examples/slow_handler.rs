//! A fast handler and a slow one: the slow one receives the latest state of each pod instead of every change.

use k8s_openapi::api::core::v1::Pod;
use kube_devserver::{Churn, DevServer};
use kube_informer::{
    Event, Informer,
    subscription::{Async, Policy, SubscribeOptions},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = DevServer::start();
    let churning = server.churn(Churn::pods(50).rate(500.0));
    let pods = Informer::<Pod>::builder(server.client()).start()?;
    let (fast, slow) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));

    let count = Arc::clone(&fast);
    let handler = move |_: &Event<Pod>| {
        count.fetch_add(1, Ordering::Relaxed);
    };
    pods.add_handler(handler)?;
    // It handles ten events a second, of hundreds. Once it is 100 events behind, further events of the same pod are merged.
    let count = Arc::clone(&slow);
    let handler = Async(move |_: Event<Pod>| {
        count.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_millis(100))
    });
    let options = SubscribeOptions::new().named("slow").policy(Policy::coalesce(100));
    let registration = pods.add_handler_with(handler, options)?;

    while fast.load(Ordering::Relaxed) < 500 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    println!("{} changes", churning.changes());
    churning.stop().await;
    println!("fast: {} events", fast.load(Ordering::Relaxed));
    println!("slow:  {} events, {} behind", slow.load(Ordering::Relaxed), registration.depth());
    assert!(registration.depth() < 500, "bounded by the number of pods and the limit of the policy");
    pods.stop();
    pods.stopped().await;
    Ok(())
}
