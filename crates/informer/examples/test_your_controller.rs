//! Tests a handler without a cluster: an in-process server, paused time, and injected faults.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, PostParams};
use kube_devserver::{DevServer, Fault, Verb};
use kube_informer::{Event, Informer};
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

/// The code under test: keeps the names of all config maps.
#[derive(Clone, Default)]
struct Audit(Arc<Mutex<BTreeSet<String>>>);

impl Audit {
    fn handle(&self, event: &Event<ConfigMap>) {
        let name = event.key().name().to_owned();
        let mut names = self.0.lock().expect("not poisoned");
        match event {
            Event::Added { .. } => names.insert(name),
            Event::Updated { .. } => false,
            Event::Deleted { .. } => names.remove(&name),
            _ => false,
        };
    }
}

// In a test: #[tokio::test(start_paused = true)]. Retries are then immediate.
#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = DevServer::start();
    let api: Api<ConfigMap> = Api::default_namespaced(server.client());
    let audit = Audit::default();
    let maps = Informer::<ConfigMap>::builder(server.client()).start()?;
    let handled = audit.clone();
    let handler = maps.add_handler(move |event: &Event<ConfigMap>| handled.handle(event))?;
    maps.synced().await?;

    // The watch ends, and cannot be reopened until the server has compacted its history. Meanwhile an object is deleted.
    let fault = server.faults().inject(Fault::answer(503).on(Verb::Watch).times(5));
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
    let known = audit.0.lock().expect("not poisoned").clone();
    println!("{} faults, and the handler has {known:?}", fault.hits());
    assert!(known.iter().eq(["three", "two"]));
    maps.stop();
    maps.stopped().await;
    Ok(())
}
