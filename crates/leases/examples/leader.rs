//! Two replicas elect a leader; the second one takes over when the first one stops.

use kube_devserver::DevServer;
use kube_leases::{LeaseLost, Leases};
use std::time::Duration;

async fn lead(leases: &Leases) -> Result<(), Box<dyn std::error::Error>> {
    let leadership = leases.acquired().await?;
    println!("{} leads with fencing token {}", leases.identity(), leadership.token());
    // The work is cancelled if the Lease cannot be renewed, and asked to end when the leases are stopped.
    let work = async {
        leadership.draining().await;
        println!("{} stops its work", leases.identity());
    };
    match leadership.run_while_held(work).await {
        Ok(()) => {}
        Err(LeaseLost { .. }) => println!("{} has lost the Lease", leases.identity()),
    }
    Ok(())
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
    let working = tokio::spawn({
        let first = first.clone();
        async move { lead(&first).await.map_err(|error| error.to_string()) }
    });
    first.acquired().await?;
    let second = start("replica-2")?;

    first.stop();
    first.stopped().await;
    working.await??;
    let leadership = second.acquired().await?;
    println!("{} leads with fencing token {}", second.identity(), leadership.token());
    assert_eq!(leadership.token(), 1);
    drop(leadership);
    second.stop();
    second.stopped().await;
    Ok(())
}
