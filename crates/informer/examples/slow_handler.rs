//! A handler that cannot keep up, beside one that can: what each is told, and what that costs.

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
    let (quick, slow) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));

    let count = Arc::clone(&quick);
    let handler = move |_: &Event<Pod>| {
        count.fetch_add(1, Ordering::Relaxed);
    };
    pods.add_handler(handler)?;
    // A tenth of a second an event is ten a second, where hundreds happen. Once it is 100 behind, it is told the latest
    // state of each pod rather than every step on the way there.
    let count = Arc::clone(&slow);
    let handler = Async(move |_: Event<Pod>| {
        count.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_millis(100))
    });
    let options = SubscribeOptions::new().named("slow").policy(Policy::coalesce(100));
    let slowly = pods.add_handler_with(handler, options)?;

    while quick.load(Ordering::Relaxed) < 500 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    println!("{} changes", churning.changes());
    churning.stop().await;
    println!("quick: {} events", quick.load(Ordering::Relaxed));
    println!("slow:  {} events, {} behind", slow.load(Ordering::Relaxed), slowly.depth());
    assert!(slowly.depth() < 500, "bounded by the pods there are, the hundred, and what it has in hand");
    pods.stop();
    pods.stopped().await;
    Ok(())
}
