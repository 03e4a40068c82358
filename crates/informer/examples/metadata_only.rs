//! Caches only the metadata of pods: the server does not send spec and status.

use k8s_openapi::api::core::v1::Pod;
use kube::core::PartialObjectMeta;
use kube_devserver::{Churn, DevServer};
use kube_informer::Informer;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = DevServer::start();
    server.churn(Churn::pods(300));
    let metadata = Informer::<PartialObjectMeta<Pod>>::builder(server.client())
        .index("owner", |pod: &PartialObjectMeta<Pod>| {
            pod.metadata.owner_references.iter().flatten().map(|owner| owner.name.clone()).collect::<Vec<_>>()
        })
        .start()?;
    metadata.synced().await?;
    let owners = metadata.store().index_values("owner")?;
    println!("{} pods of {} owners", metadata.len(), owners.len());
    for owner in owners.iter().take(3) {
        println!("{owner}: {} pods", metadata.by_index("owner", owner)?.len());
    }
    metadata.stop();
    metadata.stopped().await;
    Ok(())
}
