//! Watches two namespaces: one watch each, one cache, one stream of events.

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::{
    Client,
    api::{Api, PostParams},
};
use kube_devserver::DevServer;
use kube_informer::{Informer, subscription::SubscribeOptions};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = DevServer::start();
    for namespace in ["web", "batch", "secret"] {
        create(server.client(), namespace, "settings").await?;
    }
    let maps = Informer::<ConfigMap>::builder(server.client()).namespaces(["web", "batch"]).start()?;
    maps.synced().await?;
    println!("all:   {:?}", maps.store().keys());
    println!("web:   {:?}", maps.lister().namespace("web").get("settings")?.metadata.name);
    println!(
        "error: {}",
        maps.lister().namespace("secret").get("settings").expect_err("this namespace is not watched")
    );

    // Subscribes to one of the namespaces.
    let mut batch = maps.subscribe_with(SubscribeOptions::new().namespace("batch"));
    println!("batch: {:?}", batch.next().await.map(|event| event.key().clone()));
    for source in maps.status().sources {
        println!("{:?}: {:?} at {:?}", source.namespace, source.status.phase, source.status.version);
    }
    maps.stop();
    maps.stopped().await;
    Ok(())
}

async fn create(client: Client, namespace: &str, name: &str) -> kube::Result<()> {
    let mut space = Namespace::default();
    space.metadata.name = Some(namespace.to_owned());
    Api::all(client.clone()).create(&PostParams::default(), &space).await?;
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.to_owned());
    Api::namespaced(client, namespace).create(&PostParams::default(), &map).await?;
    Ok(())
}
