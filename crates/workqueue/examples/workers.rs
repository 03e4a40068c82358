//! Three workers reconcile a few objects, one of which fails at first.

use std::time::Duration;

use kube_workqueue::Queue;
use tokio::task::JoinSet;
use tokio::time::sleep;

#[tokio::main]
async fn main() {
    let queue = Queue::new();
    let mut workers = JoinSet::new();
    for worker in 1..=3 {
        workers.spawn(work(worker, queue.clone()));
    }

    queue.add("default/broken");
    for round in 1..=3 {
        // Names that are still queued are not queued a second time.
        for name in ["default/web", "default/db", "kube-system/dns", "default/web"] {
            queue.add(name);
        }
        println!("round {round}: {} ready", queue.len());
        sleep(Duration::from_millis(20)).await;
    }

    // Wait for the retries of the broken object.
    while queue.retries(&"default/broken") > 0 {
        sleep(Duration::from_millis(10)).await;
    }
    queue.shut_down_with_drain().await;
    workers.join_all().await;
    println!("all done");
}

async fn work(worker: u32, queue: Queue<&'static str>) {
    while let Some(name) = queue.get().await {
        let attempts = queue.retries(&name);
        match reconcile(&name, attempts).await {
            Ok(()) => {
                println!("worker {worker}: {} is fine", *name);
                queue.forget(&name);
            }
            Err(error) => {
                println!("worker {worker}: {} failed: {error}", *name);
                queue.add_rate_limited(*name);
            }
        }
    }
}

async fn reconcile(name: &str, attempts: u32) -> Result<(), String> {
    sleep(Duration::from_millis(15)).await;
    if name.ends_with("broken") && attempts < 3 { Err(format!("attempt {}", attempts + 1)) } else { Ok(()) }
}
