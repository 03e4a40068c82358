//! The snippets of the docs, completed to functions.

#![allow(dead_code, unused_variables, reason = "snippets are compiled, but not run")]
#![allow(clippy::unwrap_used, clippy::needless_pass_by_value, reason = "snippets are short")]

use futures_util::{StreamExt, TryStreamExt};
use k8s_openapi::api::{
    apps::v1::{Deployment, ReplicaSet},
    core::v1::{ConfigMap, Pod, PodStatus},
};
use kube::{
    Client,
    api::{Api, DynamicObject, PostParams},
    core::{
        PartialObjectMeta,
        admission::{AdmissionResponse, AdmissionReview},
    },
    runtime::{
        self, WatchStreamExt,
        controller::Action as KubeAction,
        predicates,
        reflector::{self, reflector},
        watcher,
    },
};
use kube_devserver::{DevServer, Fault, User, Verb};
use kube_informer::{
    Event, Informer, Informers, Lazy, Object,
    bridge::watcher_events,
    controller::{self, Controller, ErrorPolicy, apply},
    event::Deletion,
    informer::CacheState,
    manager::{Manager, PrometheusRecorder, shutdown_signal},
};
use kube_leases::Leases;
use std::{pin::pin, sync::Arc, time::Duration};

type Done = Result<(), Box<dyn std::error::Error>>;

#[rustfmt::skip]
async fn readable(pods: Informer<Pod>) {
    pods.watch_status().wait_for(|status| status.cache >= CacheState::Readable).await;
}

#[rustfmt::skip]
async fn sync_errors(widgets: Informer<DynamicObject>) -> Done {
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
fn in_process_server() {
    let server = DevServer::start();
    let pods: Api<Pod> = Api::default_namespaced(server.client());
    drop(pods);
}

#[rustfmt::skip]
async fn listening_server() -> Done {
    let server = DevServer::builder()
        .listen("127.0.0.1:0")
        .tls(["devserver.example"])
        .token("secret")
        .start().await?;
    server.write_kubeconfig("kubeconfig")?;
    Ok(())
}

#[rustfmt::skip]
fn restricted_clients(server: DevServer) {
    let website = server.client_as("system:serviceaccount:ops:website");
    let alice = server.client_as(User::new("alice").group("developers"));
    drop((website, alice));
}

#[rustfmt::skip]
async fn inject_fault(server: DevServer) {
    let busy = server.faults().inject(Fault::answer(429).retry_after(Duration::from_secs(1)).on(Verb::List).of("pods").times(2));
    busy.hit(2).await;
}

fn validate(review: AdmissionReview<Pod>) -> AdmissionReview<DynamicObject> {
    AdmissionResponse::invalid("not a pod review").into_review()
}

#[rustfmt::skip]
async fn serve_webhook(server: DevServer) -> Done {
    server.apply_yaml(&std::fs::read_to_string("deploy/webhook.yaml")?).await?;
    server.serve_webhook("ops", "policy", "/validate", |review: AdmissionReview<Pod>| async move { validate(review) });
    Ok(())
}

fn added(_: &Object<Pod>) {}
fn deleted(_: &Object<Pod>, _: Deletion) {}

#[rustfmt::skip]
async fn shared_informers(client: Client) -> Done {
    let informers = Informers::with_resync(client, Duration::from_secs(600));
    let pods = informers.get::<Pod>()?;
    pods.add_handler(|event: &Event<Pod>| match event {
        Event::Added { object, .. } => added(object),
        Event::Updated { .. } => {}
        Event::Deleted { last_known, deletion, .. } => deleted(last_known, *deletion),
        _ => {}
    })?;
    informers.start();
    informers.synced(Duration::from_secs(30)).await?;
    Ok(())
}

#[rustfmt::skip]
fn index(pods: &Informer<Pod>) -> Done {
    pods.add_index("node", |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.node_name.clone()))?;
    let on_node = pods.by_index("node", "node-17")?;
    drop(on_node);
    Ok(())
}

async fn reconcile_map(_: Arc<ConfigMap>, _: Arc<()>) -> Result<KubeAction, kube::Error> {
    Ok(KubeAction::await_change())
}

fn policy(_: Arc<ConfigMap>, _: &kube::Error, _: Arc<()>) -> KubeAction {
    KubeAction::await_change()
}

#[rustfmt::skip]
fn kube_controller(client: Client) -> Done {
    let (reconcile, error_policy, context) = (reconcile_map, policy, Arc::new(()));
    let running = {
        let maps = Informer::<ConfigMap>::builder(client).start()?;
        let (reader, writer) = reflector::store();
        let trigger = reflector(writer, watcher_events(maps.subscribe())).applied_objects();
        runtime::Controller::for_stream(trigger, reader).run(reconcile, error_policy, context)
    };
    drop(running);
    Ok(())
}

#[rustfmt::skip]
#[tokio::test(start_paused = true)]
async fn deletes_unused_config_maps() {
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
async fn subscribe(api: Api<Pod>, client: Client) -> Done {
    let mut events = pin!(watcher(api, watcher::Config::default()).default_backoff().applied_objects());
    while let Some(pod) = events.try_next().await? { seen(pod) }
    let pods = Informer::<Pod>::builder(client).start()?;
    let mut events = pods.subscribe();
    while let Some(event) = events.next().await {
        match event {
            Event::Added { object, .. } | Event::Updated { new: object, .. } => seen(object.get()),
            _ => {}
        }
    }
    Ok(())
}

#[rustfmt::skip]
async fn cache(api: Api<Pod>, config: watcher::Config, client: Client) -> Done {
    let (reader, writer) = reflector::store();
    tokio::spawn(reflector(writer, watcher(api, config).default_backoff()).for_each(|_| async {}));
    reader.wait_until_ready().await?;
    let pods = Informer::<Pod>::builder(client).start()?;
    pods.synced().await?;
    Ok(())
}

#[rustfmt::skip]
#[expect(clippy::needless_pass_by_value, reason = "the code is that of the docs")]
fn owners(
    api: Api<Deployment>,
    sets: Api<ReplicaSet>,
    client: Client,
    reader: reflector::Store<Deployment>,
) -> Done {
    let deployments = watcher(api, watcher::Config::default());
    let trigger = deployments.applied_objects().predicate_filter(predicates::generation, Default::default());
    let controller = runtime::Controller::for_stream(trigger, reader).owns(sets, watcher::Config::default());
    let deployments = Informer::<Deployment>::builder(client.clone()).start()?;
    let sets = Informer::<PartialObjectMeta<ReplicaSet>>::builder(client.clone()).start()?;
    let controller = Controller::new(&deployments).filter(controller::predicates::generation).owns(&sets);
    drop(controller);
    Ok(())
}

#[rustfmt::skip]
fn lazy(client: Client, pod: &Lazy<Pod>) -> Done {
    let pods = Informer::<Pod>::builder(client)
        .lazy()
        .index_path("node", "/spec/nodeName")
        .start()?;
    let phase: Option<&str> = pod.read("/status/phase")?;
    let status: Option<PodStatus> = pod.read("/status")?;
    let decoded: Pod = pod.decode()?;
    drop((pods, status, decoded));
    seen(phase);
    Ok(())
}

#[rustfmt::skip]
async fn save_and_restore(client: Client) -> Done {
    let pods = Informer::<Pod>::builder(client).save_to("/var/lib/mine/pods").build()?;
    println!("{} pods, {:?}", pods.len(), pods.status().restored);
    pods.start();
    pods.synced().await?;
    Ok(())
}

struct Context {
    client: Client,
}

fn page_of(_: &Deployment) -> ConfigMap {
    ConfigMap::default()
}

use kube_informer::controller::Action;

#[rustfmt::skip]
async fn reconcile(site: Arc<Deployment>, context: Arc<Context>) -> Result<Action, kube::Error> {
    let maps: Api<ConfigMap> = Api::namespaced(context.client.clone(), "default");
    apply(&maps, "site-operator", &page_of(&site)).await?;
    Ok(Action::requeue(Duration::from_secs(600)))
}

#[rustfmt::skip]
async fn controller(client: Client) -> Done {
    let sites = Informer::<Deployment>::builder(client.clone()).start()?;
    let maps = Informer::<ConfigMap>::builder(client.clone()).start()?;
    Controller::new(&sites)
        .owns(&maps)
        .filter(controller::predicates::generation)
        .concurrency(4)
        .shutdown_on(shutdown_signal())
        .run(reconcile, ErrorPolicy::default(), Arc::new(Context { client }))
        .await?;
    Ok(())
}

#[rustfmt::skip]
async fn sharded_controller(client: Client) -> Done {
    let leases = Leases::shards("sites", 16).namespace("ops").start(client.clone())?;
    let sites = Informer::<Deployment>::builder(client.clone()).shards(&leases).start()?;
    let maps = Informer::<ConfigMap>::builder(client.clone()).owned_by(&sites).start()?;
    Controller::new(&sites)
        .owns(&maps)
        .leases(&leases)
        .shutdown_on(shutdown_signal())
        .run(reconcile, ErrorPolicy::default(), Arc::new(Context { client }))
        .await?;
    leases.stop();
    leases.stopped().await;
    Ok(())
}

#[rustfmt::skip]
async fn manager(sites: Informer<Deployment>, context: Arc<Context>) -> Done {
    let recorder = PrometheusRecorder::new();
    recorder.install()?;
    Manager::new()
        .informer(&sites)
        .controller(Controller::new(&sites).named("sites"), reconcile, ErrorPolicy::default(), context)
        .serve("0.0.0.0:8080".parse()?)
        .metrics(recorder)
        .shutdown_on(shutdown_signal())
        .shutdown_deadline(Duration::from_secs(25))
        .run()
        .await?;
    Ok(())
}

type Decisions = std::sync::Mutex<Vec<String>>;

async fn replace_failed(pod: Arc<Pod>, decisions: Arc<Decisions>) -> Result<controller::Action, kube::Error> {
    Ok(controller::Action::await_change())
}

#[rustfmt::skip]
async fn replay_an_incident() -> Done {
    let history = kube_informer::history::History::open("testdata/incident")?;
    let replay = history.replay("2026-11-16T03:10:00Z".parse()?.."2026-11-16T03:20:00Z".parse()?);
    let last = replay.last_version(replay.kind("", "v1", "pods")?)?.ok_or("pods were never listed")?;
    let pods = Informer::<Pod>::from_source(replay).start()?;
    let decisions = Arc::new(Decisions::default());
    let controller = Controller::new(&pods);
    let handle = controller.handle();
    let running = tokio::spawn(controller.run(replace_failed, ErrorPolicy::default(), Arc::clone(&decisions)));
    pods.wait_for(&last).await?;
    handle.idle().await;
    handle.stop();
    running.await??;
    assert_eq!(*decisions.lock().unwrap(), ["replace b", "replace a", "replace c"]);
    Ok(())
}
