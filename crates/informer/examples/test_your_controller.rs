//! How one tests a controller without a cluster: a server in the process, paused time, and a fault on purpose.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, PostParams};
use kube_devserver::{DevServer, Fault, Verb};
use kube_informer::{Event, Informer};
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

/// What is to be tested: remembers which config maps there are.
#[derive(Clone, Default)]
struct Audit(Arc<Mutex<BTreeSet<String>>>);

impl Audit {
    fn handle(&self, event: &Event<ConfigMap>) {
        let name = event.object().get().metadata.name.clone().unwrap_or_default();
        let mut names = self.0.lock().expect("nobody panics");
        match event {
            Event::Added { .. } => names.insert(name),
            Event::Updated { .. } => false,
            Event::Deleted { .. } => names.remove(&name),
        };
    }
}

// In a test: #[tokio::test(start_paused = true)]. Waits for retries then take no time.
#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = DevServer::start();
    let api: Api<ConfigMap> = Api::default_namespaced(server.client());
    let (audit, maps) = (Audit::default(), Informer::<ConfigMap>::builder(server.client()).start()?);
    let heard = audit.clone();
    let handler = maps.add_handler(move |event: &Event<ConfigMap>| heard.handle(event))?;
    maps.synced().await?;

    // The watch breaks, the server is away for a while and forgets its history, and a deletion happens meanwhile.
    let away = server.faults().inject(Fault::answer(503).on(Verb::Watch).times(5));
    let mut map = ConfigMap::default();
    for name in ["one", "two"] {
        map.metadata.name = Some(name.to_owned());
        api.create(&PostParams::default(), &map).await?;
    }
    server.cut_watches();
    api.delete("one", &DeleteParams::default()).await?;
    server.compact();
    map.metadata.name = Some("three".to_owned());
    let last = api.create(&PostParams::default(), &map).await?.metadata.resource_version.unwrap_or_default();

    maps.wait_for(&last.parse()?).await?;
    handler.caught_up().await;
    let known = audit.0.lock().expect("nobody panics").clone();
    println!("hit by {} faults, and knows {known:?}", away.hits());
    assert!(known.iter().eq(["three", "two"]));
    maps.stop();
    maps.stopped().await;
    Ok(())
}
