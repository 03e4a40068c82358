//! A complete operator: owned objects, status conditions, a finalizer, events, leader election, probes, metrics and a graceful shutdown.

mod operator;
mod website;

use k8s_openapi::{
    api::apps::v1::Deployment,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    CustomResourceExt,
    api::{Api, DeleteParams, Patch, PatchParams, PostParams},
};
use kube_devserver::DevServer;
use kube_informer::{
    controller::{events::Recorder, is_condition_true},
    manager::{PrometheusRecorder, shutdown_signal},
};
use operator::{Context, Dns, MANAGER, WebsiteInformers, leader_election, manager};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use website::{Website, WebsiteSpec};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    tracing_subscriber::fmt().init();
    let server = DevServer::start(); // instead of a cluster
    let client = server.client();
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    definitions.create(&PostParams::default(), &Website::crd()).await?;

    let metrics = PrometheusRecorder::new();
    metrics.install()?;
    let context = Arc::new(Context {
        recorder: Recorder::new(client.clone(), MANAGER),
        informers: WebsiteInformers::start(&client)?,
        dns: Dns::default(),
        client: client.clone(),
    });
    let leases = leader_election().start(client.clone())?;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let manager = manager(&context, &leases)
        .serve("127.0.0.1:0".parse()?)
        .metrics(metrics.clone())
        .shutdown_on(shutdown_signal())
        .shutdown_on(async move { drop(stopped.await) }) // this program ends by itself
        .shutdown_deadline(Duration::from_secs(25));
    println!("{}", manager.role_yaml(MANAGER));
    let handle = manager.handles().remove(0);
    let running = tokio::spawn(manager.run());

    let websites: Api<Website> = Api::default_namespaced(client.clone());
    let deployments: Api<Deployment> = Api::default_namespaced(client);
    let mut outcomes = handle.outcomes();
    let shop = Website::new("shop", WebsiteSpec::new("<h1>Shop</h1>", 2));
    websites.create(&PostParams::default(), &shop).await?;
    while deployments.get_opt("shop").await?.is_none() && outcomes.next().await.is_some() {}
    // The devserver runs no pods, so this program reports them as ready.
    let ready = Patch::Merge(json!({ "status": { "replicas": 2, "readyReplicas": 2 } }));
    deployments.patch_status("shop", &PatchParams::default(), &ready).await?;
    let is_ready = |site: Website| is_condition_true(&site.status.unwrap_or_default().conditions, "Ready");
    while !is_ready(websites.get("shop").await?) && outcomes.next().await.is_some() {}
    println!("shop is ready, and known to the name servers: {:?}", context.dns.names());

    websites.delete("shop", &DeleteParams::default()).await?;
    while websites.get_opt("shop").await?.is_some() && outcomes.next().await.is_some() {}
    println!("shop is deleted, and the name servers know {:?}", context.dns.names());
    println!("{} lines of metrics", metrics.render().lines().count());
    drop(stop);
    running.await??;
    Ok(())
}
