//! Reads a write back from the cache, by waiting for its version.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams};
use kube_devserver::DevServer;
use kube_informer::{Informer, wire::ResourceVersion};
use std::time::Duration;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = DevServer::start();
    let api: Api<ConfigMap> = Api::default_namespaced(server.client());
    let maps = Informer::<ConfigMap>::builder(server.client()).start()?;
    maps.synced().await?;

    for number in 0..3 {
        let mut map = ConfigMap::default();
        map.metadata.name = Some(format!("map-{number}"));
        let written = api.create(&PostParams::default(), &map).await?;
        let version: ResourceVersion = written.metadata.resource_version.unwrap_or_default().parse()?;
        let before = maps.get(("default", format!("map-{number}").as_str())).is_some();
        // The timeout applies if the watch is interrupted.
        tokio::time::timeout(Duration::from_secs(5), maps.wait_for(&version)).await??;
        let after = maps.get(("default", format!("map-{number}").as_str())).is_some();
        println!("version {version}: cached immediately: {before}, after waiting: {after}");
    }
    maps.stop();
    maps.stopped().await;
    Ok(())
}
