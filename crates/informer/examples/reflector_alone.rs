//! Runs a reflector that writes to a queue, without a cache, against an in-process server.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube_devserver::{DevServer, Fault, Verb};
use kube_informer::{
    Delta,
    delta_fifo::{DeltaFifo, Entry},
    reflector::Reflector,
    source::ListWatch,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = DevServer::start();
    let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
    maps.create(&PostParams::default(), &named("existing")).await?;

    let (queue, cancel) = (DeltaFifo::builder().build(), CancellationToken::new());
    let source = ListWatch::<ConfigMap>::namespaced(server.client(), "default");
    let reflecting = tokio::spawn(Reflector::new(source, queue.clone()).run(cancel.clone()));
    show(&queue).await;
    maps.create(&PostParams::default(), &named("settings")).await?;
    // The watch is interrupted twice from here on. The reflector reconnects and delivers every change.
    server.faults().inject(Fault::cut_after_events(1).on(Verb::Watch).times(2));
    server.cut_watches();
    for value in ["one", "two", "three"] {
        let patch = Patch::Merge(json!({ "data": { "value": value } }));
        maps.patch("settings", &PatchParams::default(), &patch).await?;
        show(&queue).await;
    }
    maps.delete("settings", &DeleteParams::default()).await?;
    show(&queue).await;
    cancel.cancel();
    Ok(reflecting.await?)
}

fn named(name: &str) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.to_owned());
    map
}

/// Pops one entry and prints it.
async fn show(queue: &DeltaFifo<ConfigMap>) {
    let Some(batch) = queue.pop().await else { return };
    match &batch.entries[0] {
        Entry::Replaced { listing, .. } => {
            println!("listed  {:?}", listing.objects.iter().map(|(key, _)| key).collect::<Vec<_>>());
        }
        Entry::Deltas(deltas) => match deltas.newest() {
            Delta::Added(..) => println!("added   {}", deltas.key()),
            Delta::Updated(key, map) => println!("updated {key} {:?}", map.get().data),
            Delta::Deleted(..) => println!("deleted {}", deltas.key()),
            Delta::Skipped(key) => println!("skipped {key}"),
        },
        Entry::Resync | Entry::Bookmark | Entry::Resumed => {}
    }
}
