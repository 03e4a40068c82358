//! Two replicas elect a leader; the second one takes over when the first one stops.

use kube_devserver::DevServer;
use kube_leases::{LeaseLost, Leases, Shard};
use std::time::Duration;

/// Works until the leadership is lost or about to be released. The work is cancelled if the Lease cannot be
/// renewed.
async fn work(leadership: Shard, identity: String) {
    println!("{identity} leads with fencing token {}", leadership.token());
    let work = async {
        leadership.draining().await;
        println!("{identity} ends its work");
    };
    if let Err(LeaseLost { .. }) = leadership.run_while_held(work).await {
        println!("{identity} has lost the Lease");
    }
    // Dropping the handle allows the Lease to be released.
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // In a pod: `Client::try_default().await?` of kube.
    let server = DevServer::start();
    let start = |identity: &str| {
        Leases::leader("website-controller")
            .namespace("default")
            .identity(identity)
            .lease_duration(Duration::from_secs(3))
            .renew_deadline(Duration::from_secs(2))
            .retry_period(Duration::from_millis(500))
            .start(server.client())
    };
    let first = start("replica-1")?;
    let working = tokio::spawn(work(first.acquired().await?, first.identity().to_owned()));
    let second = start("replica-2")?;

    first.stop();
    first.stopped().await;
    working.await?;
    let leadership = second.acquired().await?;
    println!("{} leads with fencing token {}", second.identity(), leadership.token());
    assert_eq!(leadership.token(), 1);
    drop(leadership);
    second.stop();
    second.stopped().await;
    Ok(())
}
