//! Runs an unchanged `kube::runtime::Controller` on an informer: the first step of a migration.

use futures_util::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, ResourceExt,
    api::PostParams,
    runtime::{Controller, WatchStreamExt, controller::Action, reflector},
};
use kube_devserver::DevServer;
use kube_informer::{Informer, bridge::watcher_events};
use std::{convert::Infallible, sync::Arc, time::Duration};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = DevServer::start();
    let api: Api<ConfigMap> = Api::default_namespaced(server.client());
    for name in ["one", "two"] {
        let mut map = ConfigMap::default();
        map.metadata.name = Some(name.to_owned());
        api.create(&PostParams::default(), &map).await?;
    }

    // Instead of `Controller::new(api, watcher::Config::default())`: one watch, shared by all subscribers.
    let maps = Informer::<ConfigMap>::builder(server.client()).start()?;
    let (reader, writer) = reflector::store();
    let trigger = reflector(writer, watcher_events(maps.subscribe())).applied_objects();
    let mut controller =
        Controller::for_stream(trigger, reader).run(reconcile, error_policy, Arc::new(())).boxed();

    for _ in 0..2 {
        let (object, _) = controller.next().await.ok_or("the controller ended")??;
        println!("kube reconciled {}", object.name);
    }
    println!("the shared cache has {} config maps", maps.len());
    maps.stop();
    maps.stopped().await;
    Ok(())
}

async fn reconcile(map: Arc<ConfigMap>, _: Arc<()>) -> Result<Action, Infallible> {
    println!("reconciling {}", map.name_any());
    Ok(Action::await_change())
}

fn error_policy(_: Arc<ConfigMap>, _: &Infallible, _: Arc<()>) -> Action {
    Action::requeue(Duration::from_secs(5))
}
