//! Stores pods as the server sent them, and decodes only the fields that are read.

use k8s_openapi::api::core::v1::{Container, Pod};
use kube::ResourceExt;
use kube_devserver::{Churn, DevServer};
use kube_informer::{Event, Informer, Lazy};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = DevServer::start();
    let _churning = server.churn(Churn::pods(500).rate(100.0));
    // Reads one field without decoding the rest of the pod.
    let by_node = |pod: &Lazy<Pod>| pod.read::<String>("/spec/nodeName").ok().flatten();
    let pods = Informer::<Pod>::builder(server.client()).lazy().index("node", by_node).start()?;
    pods.synced().await?;

    let bytes: usize = pods.list().iter().map(|pod| pod.raw().bytes().len()).sum();
    println!(
        "{} pods in {} KB, on {} nodes",
        pods.len(),
        bytes / 1000,
        pods.store().index_values("node")?.len()
    );

    let mut changes = pods.subscribe();
    for _ in 0..3 {
        let Some(event) = changes.next().await else { break };
        let pod = event.object().get();
        // The metadata is decoded already. Other parts can be read as any type that implements `Deserialize`.
        let phase = pod.read::<&str>("/status/phase")?.unwrap_or("unknown");
        let containers: Vec<Container> = pod.read("/spec/containers")?.unwrap_or_default();
        println!("{} is {phase}, with {} containers", pod.name_any(), containers.len());
        if let Event::Updated { new, .. } = &event {
            // Decodes the complete pod.
            let decoded: Pod = new.get().decode()?;
            println!(
                "  {} conditions",
                decoded.status.and_then(|status| status.conditions).map_or(0, |all| all.len())
            );
        }
    }
    pods.stop();
    pods.stopped().await;
    Ok(())
}
