//! A watch that breaks in the middle, and a client that copes.

use futures_util::TryStreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, ResourceExt,
    api::PostParams,
    runtime::{WatchStreamExt, watcher},
};
use kube_devserver::{DevServer, Fault};
use std::pin::pin;

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = DevServer::start();
    let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
    let cut = server.faults().inject(Fault::cut_after_events(1).abruptly().times(1));

    let mut events =
        pin!(watcher(maps.clone(), watcher::Config::default()).default_backoff().applied_objects());
    let writing = async {
        for name in ["one", "two", "three"] {
            let mut map = ConfigMap::default();
            map.metadata.name = Some(name.to_owned());
            maps.create(&PostParams::default(), &map).await?;
        }
        Ok::<_, kube::Error>(())
    };
    let reading = async {
        let mut seen = Vec::new();
        while seen.len() < 3 {
            match events.try_next().await {
                Ok(Some(map)) => seen.push(map.name_any()),
                Ok(None) => break,
                Err(error) => println!("the watch broke: {error}"),
            }
        }
        seen
    };
    let (written, seen) = tokio::join!(writing, reading);
    written?;
    println!("saw {seen:?} through {} broken watch", cut.hits());
    server.stop().await;
    Ok(())
}
