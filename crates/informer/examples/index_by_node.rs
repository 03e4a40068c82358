//! Finds the pods of a node with an index, and adds another index while the informer runs.

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube_devserver::{Churn, DevServer};
use kube_informer::Informer;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = DevServer::start();
    server.churn(Churn::pods(500));
    let by_node = |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
    let pods = Informer::<Pod>::builder(server.client()).index("node", by_node).start()?;
    pods.synced().await?;

    for node in pods.store().index_values("node")?.iter().take(3) {
        println!("{node}: {} pods", pods.by_index("node", node)?.len());
    }
    // An object can have any number of values in an index.
    pods.add_index("owner", |pod: &Pod| {
        pod.owner_references()
            .iter()
            .map(|owner| format!("{} {}", owner.kind, owner.name))
            .collect::<Vec<_>>()
    })?;
    let owners = pods.store().index_values("owner")?;
    println!("{} owners, for example {:?}", owners.len(), owners.first());
    // The error names the indexes that exist.
    println!("{}", pods.by_index("zone", "a").expect_err("there is no such index"));
    pods.stop();
    pods.stopped().await;
    Ok(())
}
