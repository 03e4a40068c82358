//! The pods of a cluster as they come, change and go; without a cluster, of a server in this process.

use k8s_openapi::api::core::v1::Pod;
use kube::{Client, ResourceExt};
use kube_devserver::{Churn, DevServer};
use kube_informer::{Event, Informer};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = DevServer::start();
    let _churning = server.churn(Churn::pods(100).rate(200.0));
    let client: Client = server.client(); // for a cluster: Client::try_default().await?

    let pods = Informer::<Pod>::builder(client).start()?;
    pods.synced().await?;
    println!("{} pods at version {:?}", pods.len(), pods.version());

    let mut events = pods.subscribe();
    let mut changes = 0;
    while let Some(event) = events.next().await {
        match &event {
            Event::Added { phase: Phase::Initial, .. } => continue,
            Event::Added { object, .. } => println!("added   {}", object.name_any()),
            Event::Updated { old, new, .. } => {
                println!("updated {}: {} -> {}", new.name_any(), phase(old), phase(new))
            }
            Event::Deleted { last_known, .. } => println!("deleted {}", last_known.name_any()),
        }
        changes += 1;
        if changes == 20 {
            break;
        }
    }
    pods.stop();
    pods.stopped().await;
    Ok(())
}

fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("-")
}
