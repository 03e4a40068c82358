//! The snippets of the docs, within what they leave out.

#![allow(dead_code, reason = "what is shown is compiled, and not called")]
#![allow(clippy::unwrap_used, reason = "what is shown is short")]

use futures_util::{StreamExt, TryStreamExt};
use k8s_openapi::api::{
    apps::v1::{Deployment, ReplicaSet},
    core::v1::{ConfigMap, Pod, PodStatus},
};
use kube::{
    Client,
    api::{Api, DynamicObject, PostParams},
    core::PartialObjectMeta,
    runtime::{
        Controller, WatchStreamExt,
        controller::Action,
        predicates,
        reflector::{self, reflector},
        watcher,
    },
};
use kube_devserver::{DevServer, Fault, Verb};
use kube_informer::{
    Event, Informer, Informers, Lazy, Object,
    bridge::watcher_events,
    controller::{Controller, controller_owner, generation_changed},
};
use std::{pin::pin, sync::Arc, time::Duration};

type Done = Result<(), Box<dyn std::error::Error>>;

#[rustfmt::skip]
async fn a_client() -> Result<Client, Box<dyn std::error::Error>> {
    let mut config = kube::Config::infer().await?;
    config.default_retry = false;
    let client = kube::Client::try_from(config)?;
    Ok(client)
}

#[rustfmt::skip]
async fn a_choice(widgets: Informer<DynamicObject>) -> Done {
    match widgets.synced().await {
        Ok(()) => {}
        Err(error) if error.is_skipped() => eprintln!("{error}"),
        Err(error) if error.is_not_found() => {
            widgets.watch_status().wait_for(|status| status.times.synced.is_some()).await;
        }
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

#[rustfmt::skip]
fn a_server_in_the_process() {
    let server = DevServer::start();
    let pods: Api<Pod> = Api::default_namespaced(server.client());
    drop(pods);
}

#[rustfmt::skip]
async fn a_server_that_listens() -> Done {
    let server = DevServer::builder()
        .listen("127.0.0.1:0")
        .tls(["devserver.example"])
        .token("secret")
        .start().await?;
    std::fs::write("kubeconfig", server.kubeconfig().unwrap())?;
    Ok(())
}

#[rustfmt::skip]
async fn a_fault(server: DevServer) {
    let busy = server.faults().inject(Fault::answer(429).retry_after(Duration::from_secs(1)).on(Verb::List).of("pods").times(2));
    busy.hit(2).await;
}

fn added(_: &Object<Pod>) {}
fn gone(_: &Object<Pod>, _: bool) {}

#[rustfmt::skip]
async fn a_factory(client: Client) -> Done {
    let informers = Informers::with_resync(client, Duration::from_secs(600));
    let pods = informers.get::<Pod>()?;
    pods.add_handler(|event: &Event<Pod>| match event {
        Event::Added { object, .. } => added(object),
        Event::Updated { .. } => {}
        Event::Deleted { last_known, observed, .. } => gone(last_known, *observed),
    })?;
    informers.start();
    informers.synced(Duration::from_secs(30)).await?;
    Ok(())
}

#[rustfmt::skip]
fn an_index(pods: &Informer<Pod>) -> Done {
    pods.add_index("node", |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.node_name.clone()))?;
    let on_node = pods.by_index("node", "node-17")?;
    drop(on_node);
    Ok(())
}

async fn reconciled(_: Arc<ConfigMap>, _: Arc<()>) -> Result<Action, kube::Error> {
    Ok(Action::await_change())
}

fn policy(_: Arc<ConfigMap>, _: &kube::Error, _: Arc<()>) -> Action {
    Action::await_change()
}

#[rustfmt::skip]
fn a_controller_of_kube(client: Client) -> Done {
    let (reconcile, error_policy, context) = (reconciled, policy, Arc::new(()));
    let running = {
        let maps = Informer::<ConfigMap>::builder(client).start()?;
        let (reader, writer) = reflector::store();
        let trigger = reflector(writer, watcher_events(maps.subscribe())).applied_objects();
        Controller::for_stream(trigger, reader).run(reconcile, error_policy, context)
    };
    drop(running);
    Ok(())
}

#[rustfmt::skip]
#[tokio::test(start_paused = true)]
async fn deletes_what_it_no_longer_needs() {
    let server = DevServer::start();
    let api: Api<ConfigMap> = Api::default_namespaced(server.client());
    let maps = Informer::<ConfigMap>::builder(server.client()).start().unwrap();
    server.faults().inject(Fault::answer(503).on(Verb::Watch).times(5));
    server.cut_watches();
    server.compact();
    let mut map = ConfigMap::default();
    map.metadata.name = Some("one-more".into());
    let last = api.create(&PostParams::default(), &map).await.unwrap();
    maps.wait_for(&last.metadata.resource_version.unwrap().parse().unwrap()).await.unwrap();
}

fn seen<T>(_: T) {}

#[rustfmt::skip]
async fn following(api: Api<Pod>, client: Client) -> Done {
    let mut events = pin!(watcher(api, watcher::Config::default()).default_backoff().applied_objects());
    while let Some(pod) = events.try_next().await? { seen(pod) }
    let pods = Informer::<Pod>::builder(client).start()?;
    let mut events = pods.subscribe();
    while let Some(event) = events.next().await {
        match event {
            Event::Added { object, .. } | Event::Updated { new: object, .. } => seen(&object),
            Event::Deleted { .. } => {}
        }
    }
    Ok(())
}

#[rustfmt::skip]
async fn a_cache(api: Api<Pod>, config: watcher::Config, client: Client) -> Done {
    let (reader, writer) = reflector::store();
    tokio::spawn(reflector(writer, watcher(api, config).default_backoff()).for_each(|_| async {}));
    reader.wait_until_ready().await?;
    let pods = Informer::<Pod>::builder(client).start()?;
    pods.synced().await?;
    Ok(())
}

#[rustfmt::skip]
fn owners(
    (api, sets, client): (Api<Deployment>, Api<ReplicaSet>, Client),
    reader: reflector::Store<Deployment>,
) -> Done {
    let deployments = watcher(api, watcher::Config::default());
    let trigger = deployments.applied_objects().predicate_filter(predicates::generation, Default::default());
    let controller = Controller::for_stream(trigger, reader).owns(sets, watcher::Config::default());
    let deployments = Informer::<Deployment>::builder(client.clone()).start()?;
    let sets = Informer::<PartialObjectMeta<ReplicaSet>>::builder(client.clone()).start()?;
    let reconciler = Controller::filtered(&deployments, generation_changed).watches(&sets, controller_owner::<Deployment, _>);
    drop((controller, reconciler));
    Ok(())
}

#[rustfmt::skip]
fn lazily(client: Client, pod: &Lazy<Pod>) -> Done {
    let pods = Informer::<Lazy<Pod>>::builder(client)
        .index("node", |pod: &Lazy<Pod>| pod.read::<String>("/spec/nodeName").ok().flatten())
        .start()?;
    let phase: Option<&str> = pod.read("/status/phase")?;
    let status: Option<PodStatus> = pod.read("/status")?;
    let whole: Pod = pod.decode()?;
    drop((pods, status, whole));
    seen(phase);
    Ok(())
}

#[rustfmt::skip]
async fn a_restart(client: Client) -> Done {
    let pods = Informer::<Pod>::builder(client).save_to("/var/lib/mine/pods").build()?;
    println!("{} pods, {:?}", pods.len(), pods.status().restored);
    pods.start();
    pods.synced().await?;
    Ok(())
}
