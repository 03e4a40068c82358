//! Two replicas of a controller divide the namespaces: each caches and reconciles only the objects of its own shards.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Client,
    api::{Api, PostParams},
};
use kube_devserver::DevServer;
use kube_informer::{
    BoxError, Informer,
    controller::{Action, Controller, ErrorPolicy},
};
use kube_leases::Leases;
use std::sync::Arc;
use tokio::sync::oneshot;

struct Context {
    replica: &'static str,
}

async fn reconcile(map: Arc<ConfigMap>, context: Arc<Context>) -> Result<Action, kube::Error> {
    let namespace = map.metadata.namespace.as_deref().unwrap_or_default();
    println!("{} reconciles {namespace}/settings", context.replica);
    Ok(Action::await_change())
}

/// Runs a replica until the signal.
async fn run(client: Client, replica: &'static str, signal: oneshot::Receiver<()>) -> Result<(), BoxError> {
    let leases = Leases::shards("settings-controller", 4)
        .namespace("default")
        .identity(replica)
        .start(client.clone())?;
    let maps = Informer::<ConfigMap>::builder(client).shards(&leases).start()?;
    Controller::new(&maps)
        .leases(&leases)
        .shutdown_on(async move { drop(signal.await) })
        .run(reconcile, ErrorPolicy::default(), Arc::new(Context { replica }))
        .await?;
    // The reconciles have ended, and the shards are released: a successor starts at once.
    leases.stop();
    leases.stopped().await;
    println!("{replica} has stopped");
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let server = DevServer::start(); // instead of a cluster
    for namespace in ["default", "kube-public", "kube-system"] {
        let maps: Api<ConfigMap> = Api::namespaced(server.client(), namespace);
        let mut map = ConfigMap::default();
        map.metadata.name = Some("settings".to_owned());
        maps.create(&PostParams::default(), &map).await?;
    }

    let (stop_first, first_stopped) = oneshot::channel();
    let (stop_second, second_stopped) = oneshot::channel();
    let first = tokio::spawn(run(server.client(), "replica-1", first_stopped));
    let second = tokio::spawn(run(server.client(), "replica-2", second_stopped));

    // Another member of the group would get shards. `informer leases` shows the same in a terminal.
    let leases: Api<k8s_openapi::api::coordination::v1::Lease> = Api::default_namespaced(server.client());
    let is_divided = |groups: &[kube_leases::GroupOverview]| {
        let members = groups.iter().flat_map(|group| &group.members);
        members.filter(|member| member.shards.len() == 2).count() == 2
    };
    while !is_divided(&kube_leases::GroupOverview::of_leases(leases.list(&<_>::default()).await?)) {
        tokio::task::yield_now().await;
    }
    println!("each replica holds two of the four shards");
    drop(stop_first);
    first.await??; // replica-2 takes over
    drop(stop_second);
    second.await??;
    Ok(())
}
