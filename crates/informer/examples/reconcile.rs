//! A controller that labels every config map with `seen`, and retries failed requests.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube_devserver::{DevServer, Fault, Verb};
use kube_informer::{
    Informer,
    controller::{Action, Controller},
    wire::{Key, LabelSelector},
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = DevServer::start();
    let api: Api<ConfigMap> = Api::default_namespaced(server.client());
    for number in 0..5 {
        let mut map = ConfigMap::default();
        map.metadata.name = Some(format!("map-{number}"));
        api.create(&PostParams::default(), &map).await?;
    }
    server.faults().inject(Fault::answer(500).on(Verb::Patch).times(2));

    let maps = Informer::<ConfigMap>::builder(server.client()).start()?;
    let (store, cancel) = (maps.store().clone(), CancellationToken::new());
    let reconcile = move |key: Key| {
        let (map, api) = (store.get(&key), api.clone());
        async move {
            let Some(map) = map else { return Ok(Action::await_change()) };
            if !map.metadata.labels.iter().flatten().any(|(name, _)| name == "seen") {
                let patch = Patch::Merge(json!({ "metadata": { "labels": { "seen": "yes" } } }));
                api.patch(key.name(), &PatchParams::default(), &patch).await?;
                println!("labeled {key}");
            }
            Ok::<_, kube::Error>(Action::await_change())
        }
    };
    let running = tokio::spawn(Controller::new(&maps).concurrency(2).run(reconcile, cancel.clone()));

    let seen: LabelSelector = "seen=yes".parse()?;
    let mut events = maps.subscribe();
    while maps.store().matching(&seen).len() < 5 && events.next().await.is_some() {}
    println!("all {} are labeled", maps.store().matching(&seen).len());
    cancel.cancel();
    running.await??;
    Ok(())
}
