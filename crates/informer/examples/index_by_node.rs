//! Which pods run on a node, without looking at any other pod; and an index that is added while the informer runs.

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

    for node in pods.index_values("node")?.iter().take(3) {
        println!("{node}: {} pods", pods.by_index("node", node)?.len());
    }
    // An object may stand under any number of values.
    pods.add_index("owner", |pod: &Pod| {
        pod.owner_references()
            .iter()
            .map(|owner| format!("{} {}", owner.kind, owner.name))
            .collect::<Vec<_>>()
    })?;
    let owners = pods.index_values("owner")?;
    println!("{} owners, among them {:?}", owners.len(), owners.first());
    // A question about an index that is not there has an answer that helps.
    println!("{}", pods.by_index("zone", "a").expect_err("nobody added it"));
    pods.stop();
    pods.stopped().await;
    Ok(())
}
