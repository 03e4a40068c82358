//! Many pods in little memory: each is kept as the server sent it, and what is read of it is decoded then.

use k8s_openapi::api::core::v1::{Container, Pod};
use kube::ResourceExt;
use kube_devserver::{Churn, DevServer};
use kube_informer::{Event, Informer, Lazy};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = DevServer::start();
    let _churning = server.churn(Churn::pods(500).rate(100.0));
    // A field is read where it stands, and nothing else of the pod is decoded for it.
    let by_node = |pod: &Lazy<Pod>| pod.read::<String>("/spec/nodeName").ok().flatten();
    let pods = Informer::<Pod>::builder(server.client()).lazy().index("node", by_node).start()?;
    pods.synced().await?;

    let bytes: usize = pods.list().iter().map(|pod| pod.raw().bytes().len()).sum();
    println!("{} pods in {} KB, on {} nodes", pods.len(), bytes / 1000, pods.index_values("node")?.len());

    let mut changes = pods.subscribe();
    for _ in 0..3 {
        let Some(event) = changes.next().await else { break };
        let pod = event.object();
        // Metadata are at hand, as with any other object. Parts are of any type that can be deserialised.
        let phase = pod.read::<&str>("/status/phase")?.unwrap_or("unknown");
        let containers: Vec<Container> = pod.read("/spec/containers")?.unwrap_or_default();
        println!("{} is {phase}, with {} containers", pod.name_any(), containers.len());
        if let Event::Updated { new, .. } = &event {
            // And who needs all of it has it.
            let whole: Pod = new.decode()?;
            println!(
                "  {} conditions",
                whole.status.and_then(|status| status.conditions).map_or(0, |all| all.len())
            );
        }
    }
    pods.stop();
    pods.stopped().await;
    Ok(())
}
