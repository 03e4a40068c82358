//! Prints the changes of pods, of an in-process server or a cluster.

use k8s_openapi::api::core::v1::Pod;
use kube::{Client, Config};
use kube_devserver::{Churn, DevServer};
use kube_informer::{Event, Informer, event::Phase};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = DevServer::builder().listen("127.0.0.1:0").start().await?;
    let _churning = server.churn(Churn::pods(100).rate(200.0));
    // For a cluster: `let client = Client::try_default().await?;`
    let client = Client::try_from(Config::new(server.url().ok_or("the server does not listen")?.parse()?))?;

    let pods = Informer::<Pod>::builder(client).start()?;
    pods.synced().await?;
    println!("{} pods at version {:?}", pods.len(), pods.version());

    let mut events = pods.subscribe();
    let mut changes = 0;
    while let Some(event) = events.next().await {
        match &event {
            Event::Added { phase: Phase::Initial, .. } => continue,
            Event::Added { key, .. } => println!("added   {key}"),
            Event::Updated { key, old, new, .. } => {
                println!("updated {key}: {} -> {}", phase(old.get()), phase(new.get()));
            }
            Event::Deleted { key, .. } => println!("deleted {key}"),
            _ => {}
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
