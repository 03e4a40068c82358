//! A controller that labels every config map with `seen`, and retries failed requests.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Client, ResourceExt,
    api::{Api, Patch, PatchParams, PostParams},
};
use kube_devserver::{DevServer, Fault, Verb};
use kube_informer::{
    Informer,
    controller::{Action, Controller, ErrorPolicy},
    wire::LabelSelector,
};
use serde_json::json;
use std::sync::Arc;

struct Context {
    client: Client,
}

async fn reconcile(map: Arc<ConfigMap>, context: Arc<Context>) -> Result<Action, kube::Error> {
    if !map.labels().contains_key("seen") {
        let api: Api<ConfigMap> =
            Api::namespaced(context.client.clone(), &map.namespace().unwrap_or_default());
        let patch = Patch::Merge(json!({ "metadata": { "labels": { "seen": "yes" } } }));
        api.patch(&map.name_any(), &PatchParams::default(), &patch).await?;
        println!("labeled {}", map.name_any());
    }
    Ok(Action::await_change())
}

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
    let controller = Controller::new(&maps).named("labels").concurrency(2);
    let handle = controller.handle();
    let context = Arc::new(Context { client: server.client() });
    let running = tokio::spawn(controller.run(reconcile, ErrorPolicy::default(), context));

    let seen: LabelSelector = "seen=yes".parse()?;
    let mut outcomes = handle.outcomes();
    while maps.store().matching(&seen).len() < 5 && outcomes.next().await.is_some() {}
    println!("all {} are labeled", maps.store().matching(&seen).len());
    handle.stop();
    running.await??;
    Ok(())
}
