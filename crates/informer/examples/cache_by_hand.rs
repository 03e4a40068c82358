//! Assembles the parts of an informer by hand, without a cluster: deltas are queued, applied to an indexed store, and become events.

use k8s_openapi::api::core::v1::{Pod, PodSpec};
use kube_informer::{
    Event,
    cache::Store,
    delta_fifo::{DeltaFifo, apply},
    event::Phase,
    wire::ResourceVersion,
};
use std::num::NonZeroUsize;

fn pod(name: &str, version: u64, node: &str) -> Pod {
    let mut pod = Pod::default();
    pod.metadata.namespace = Some("web".into());
    pod.metadata.name = Some(name.into());
    pod.metadata.resource_version = Some(version.to_string());
    pod.spec = Some(PodSpec { node_name: Some(node.into()), ..PodSpec::default() });
    pod
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let by_node = |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
    let (pods, mut writer) = Store::builder().index("node", by_node).build()?;
    let queue = DeltaFifo::builder().build();

    // The changes that a list and a watch would deliver.
    queue.replace([pod("a", 1, "n1"), pod("b", 2, "n1")], Some(ResourceVersion::number(2))).await?;
    queue.update(pod("b", 3, "n2")).await?;
    queue.add(pod("c", 4, "n2")).await?;
    queue.delete(pod("a", 5, "n1")).await?;
    queue.close();

    let mut events = Vec::new();
    while let Some(batch) = queue.pop_batch(NonZeroUsize::MAX).await {
        apply(batch, &mut writer, &mut events).done();
    }
    for event in &events {
        let what = match event {
            Event::Added { phase: Phase::Initial, .. } => "listed",
            Event::Added { .. } => "added",
            Event::Updated { .. } => "updated",
            Event::Deleted { .. } => "deleted",
            _ => "changed",
        };
        println!("{} {what}", event.key());
    }
    println!("on n2: {:?}", pods.snapshot().index_keys("node", "n2")?);
    println!("complete up to version {}", pods.version().ok_or("the store has no version")?);
    Ok(())
}
