//! The example `website_operator` under faults and restarts.

mod random_steps;
#[path = "../../../examples/website_operator/operator.rs"]
mod operator;
mod permissions;
#[path = "../../../examples/website_operator/website.rs"]
mod website;

use self::{
    operator::{Context, Dns, FINALIZER, INTERVAL, MANAGER, WebsiteInformers, leader_election, manager},
    website::{Website, WebsiteSpec},
};
use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Event as EventObject, Service},
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Client, CustomResourceExt, ResourceExt,
    api::{Api, DeleteParams, ListParams, ObjectList, ObjectMeta, Patch, PatchParams, PostParams},
};
use kube_devserver::{DevServer, Fault, Verb};
use kube_informer::{
    controller::{ControllerHandle, events::Recorder, find_condition},
    manager::ManagerError,
};
use kube_leases::{Leases, TokioClock};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};

/// A server with the definition of websites. Its operator can be started several times.
struct World {
    server: DevServer,
    websites: Api<Website>,
    deployments: Api<Deployment>,
    maps: Api<ConfigMap>,
}

/// A running operator.
struct Operator {
    context: Arc<Context>,
    leases: Leases,
    handle: ControllerHandle,
    running: JoinHandle<Result<(), ManagerError>>,
}

/// Starts the leader election under paused time.
fn start_leases(client: &Client) -> Leases {
    leader_election().clock(TokioClock::new()).start(client.clone()).unwrap()
}

impl World {
    async fn new() -> Self {
        let server = DevServer::start();
        let definitions: Api<CustomResourceDefinition> = Api::all(server.client());
        definitions.create(&PostParams::default(), &Website::crd()).await.unwrap();
        let client = server.client();
        Self {
            websites: Api::default_namespaced(client.clone()),
            deployments: Api::default_namespaced(client.clone()),
            maps: Api::default_namespaced(client),
            server,
        }
    }

    fn start(&self, dns: Dns) -> Operator {
        self.start_with(self.server.client(), dns)
    }

    fn start_with(&self, client: Client, dns: Dns) -> Operator {
        let leases = start_leases(&client);
        let context = Arc::new(Context {
            recorder: Recorder::new(client.clone(), MANAGER),
            informers: WebsiteInformers::start(&client).unwrap(),
            dns,
            client,
        });
        let manager = manager(&context, &leases);
        let handle = manager.handles().remove(0);
        Operator { context, leases, handle, running: tokio::spawn(manager.run()) }
    }

    /// Returns the versions of all objects but the Lease.
    async fn versions(&self) -> Vec<Option<String>> {
        let params = ListParams::default();
        let services: Api<Service> = Api::default_namespaced(self.server.client());
        let mut versions = Vec::new();
        versions.extend(metadata(self.websites.list(&params).await.unwrap()));
        versions.extend(metadata(self.deployments.list(&params).await.unwrap()));
        versions.extend(metadata(self.maps.list(&params).await.unwrap()));
        versions.extend(metadata(services.list(&params).await.unwrap()));
        versions.into_iter().map(|metadata| metadata.resource_version).collect()
    }

    async fn create(&self, name: &str, page: &str) {
        self.websites
            .create(&PostParams::default(), &Website::new(name, WebsiteSpec::new(page, 2)))
            .await
            .unwrap();
    }

    async fn set_page(&self, name: &str, page: &str) {
        let patch = Patch::Merge(json!({ "spec": { "page": page } }));
        self.websites.patch(name, &PatchParams::default(), &patch).await.unwrap();
    }

    /// Returns the page in the config map of a website.
    async fn page(&self, name: &str) -> Option<String> {
        self.maps.get_opt(name).await.unwrap()?.data?.remove("index.html")
    }

    async fn is_ready(&self, name: &str) -> Option<bool> {
        let status = self.websites.get(name).await.unwrap().status?;
        find_condition(&status.conditions, "Ready").map(|ready| ready.status == "True")
    }
}

fn metadata<K: ResourceExt + Clone>(list: ObjectList<K>) -> impl Iterator<Item = ObjectMeta> {
    list.items.into_iter().map(|object| object.meta().clone())
}

impl Operator {
    async fn stop(self) {
        self.handle.stop();
        self.running.await.unwrap().unwrap();
        let informers = &self.context.informers;
        let tasks = || informers.websites.tasks() + informers.maps.tasks();
        assert_eq!(tasks(), 4, "only the tasks of the informers remain");
    }
}

#[tokio::test(start_paused = true)]
async fn owned_objects_status_and_events_follow_the_website() {
    let world = World::new().await;
    let operator = world.start(Dns::default());
    world.create("shop", "one").await;
    sleep(Duration::from_secs(5)).await;
    operator.handle.idle().await;
    assert_eq!(
        (world.page("shop").await.as_deref(), world.is_ready("shop").await),
        (Some("one"), Some(false))
    );
    let services: Api<Service> = Api::default_namespaced(world.server.client());
    assert!(services.get_opt("shop").await.unwrap().is_some());
    let site = world.websites.get("shop").await.unwrap();
    assert_eq!(site.metadata.finalizers, Some(vec![FINALIZER.to_owned()]));
    let events: Api<EventObject> = Api::default_namespaced(world.server.client());
    assert_eq!(
        events.list(&ListParams::default()).await.unwrap().items.len(),
        3,
        "three objects were created"
    );

    let ready = Patch::Merge(json!({ "status": { "replicas": 2, "readyReplicas": 2 } }));
    world.deployments.patch_status("shop", &PatchParams::default(), &ready).await.unwrap();
    sleep(Duration::from_secs(5)).await;
    assert_eq!(world.is_ready("shop").await, Some(true));

    // The watch is cut while an owned object is deleted and the website changes.
    world.server.cut_watches();
    world.deployments.delete("shop", &DeleteParams::default()).await.unwrap();
    world.set_page("shop", "two").await;
    sleep(Duration::from_secs(60)).await;
    operator.handle.idle().await;
    assert!(world.deployments.get_opt("shop").await.unwrap().is_some(), "created again");
    assert_eq!(
        (world.page("shop").await.as_deref(), world.is_ready("shop").await),
        (Some("two"), Some(false))
    );
    operator.stop().await;
}

#[tokio::test(start_paused = true)]
async fn ten_minutes_of_errors_and_conflicts_are_survived() {
    let world = World::new().await;
    let operator = world.start(Dns::default());
    operator.handle.idle().await;
    let faults: Vec<_> = [Verb::Create, Verb::Update, Verb::Patch]
        .map(|verb| {
            let broken = Fault::answer(500).on(verb).of("deployments");
            world.server.faults().inject(broken)
        })
        .into();
    for number in 0..50 {
        world.create(&format!("s{number}"), "page").await;
    }
    sleep(Duration::from_secs(600)).await;
    let requests: u64 = faults.iter().map(|fault| fault.hits()).sum();
    assert!((50..1500).contains(&requests), "{requests} requests in ten minutes");
    faults.iter().for_each(|fault| fault.withdraw());
    world.server.faults().inject(Fault::answer(409).on(Verb::Patch).times(20));
    // The longest backoff, twice: a retry may meet a conflict.
    sleep(Duration::from_secs(640)).await;
    operator.handle.idle().await;
    assert_eq!(world.deployments.list(&ListParams::default()).await.unwrap().items.len(), 50);
    for number in 0..50 {
        assert_eq!(world.is_ready(&format!("s{number}")).await, Some(false), "s{number} has a status");
    }
    operator.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_deleted_website_is_cleaned_up_even_if_the_operator_was_down() {
    let world = World::new().await;
    let operator = world.start(Dns::default());
    world.create("shop", "one").await;
    sleep(Duration::from_secs(5)).await;
    assert!(operator.context.dns.names().contains("shop"));
    operator.handle.stop();
    operator.running.await.unwrap().unwrap();
    world.websites.delete("shop", &DeleteParams::default()).await.unwrap();
    assert!(world.websites.get_opt("shop").await.unwrap().is_some(), "the finalizer keeps it");
    let dns = Arc::into_inner(operator.context).unwrap().dns;
    let operator = world.start(dns);
    sleep(Duration::from_secs(5)).await;
    operator.handle.idle().await;
    assert!(world.websites.get_opt("shop").await.unwrap().is_none());
    assert!(operator.context.dns.names().is_empty());
    operator.stop().await;
}

#[tokio::test(start_paused = true)]
async fn one_replica_works_and_another_one_takes_over_at_once_when_it_stops() {
    let world = World::new().await;
    let first = world.start(Dns::default());
    first.leases.acquired().await.unwrap();
    let second = world.start(Dns::default());
    world.create("shop", "one").await;
    sleep(Duration::from_secs(60)).await;
    assert!(first.context.dns.names().contains("shop"));
    assert!(second.context.dns.names().is_empty() && second.leases.held().is_empty());
    assert!(second.context.informers.websites.has_synced(), "it can take over without a list");

    let (leases, start) = (first.leases.clone(), Instant::now());
    first.stop().await;
    assert!(leases.held().is_empty(), "the manager has released the Lease");
    second.leases.acquired().await.unwrap();
    sleep(Duration::from_secs(1)).await;
    second.handle.idle().await;
    assert!(second.context.dns.names().contains("shop"));
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    world.set_page("shop", "two").await;
    sleep(Duration::from_secs(5)).await;
    assert_eq!(world.page("shop").await.as_deref(), Some("two"));
    second.stop().await;
}

#[tokio::test(start_paused = true)]
async fn four_hours_of_requeues_change_nothing() {
    let world = World::new().await;
    let operator = world.start(Dns::default());
    world.create("shop", "one").await;
    sleep(Duration::from_secs(5)).await;
    operator.handle.idle().await;
    let versions = world.versions().await;
    assert_eq!(versions.len(), 4, "{versions:?}");
    let requests = world.server.faults().inject(Fault::stall(Duration::ZERO).on(Verb::Patch));
    let mut outcomes = operator.handle.outcomes();
    sleep(Duration::from_secs(4 * 60 * 60)).await;
    let mut count = 0;
    while let Ok(Some(outcome)) = tokio::time::timeout(Duration::ZERO, outcomes.next()).await {
        assert!(outcome.is_success(), "{outcome:?}");
        count += 1;
    }
    assert_eq!(count, 4 * 60 * 60 / INTERVAL.as_secs(), "one reconcile for each interval");
    assert_eq!(requests.hits(), 3 * count, "one apply for each owned object, and none for the status");
    assert_eq!(world.versions().await, versions, "nothing was written");
    operator.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_field_that_another_manager_changed_is_applied_again() {
    let world = World::new().await;
    let operator = world.start(Dns::default());
    world.create("shop", "one").await;
    sleep(Duration::from_secs(5)).await;
    operator.handle.idle().await;
    let other = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "labels": { "team": "web" } },
        "spec": { "replicas": 7, "minReadySeconds": 3 },
    });
    let scaled = PatchParams::apply("kubectl").force();
    world.deployments.patch("shop", &scaled, &Patch::Apply(other)).await.unwrap();
    sleep(Duration::from_secs(5)).await;
    operator.handle.idle().await;
    let deployment = world.deployments.get("shop").await.unwrap();
    let labels = deployment.metadata.labels.unwrap();
    assert_eq!(labels.keys().map(String::as_str).collect::<Vec<_>>(), ["team", "website"]);
    let spec = deployment.spec;
    assert_eq!((spec.replicas, spec.min_ready_seconds), (Some(2), Some(3)), "other fields stay");
    operator.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_derived_definition_has_a_schema_and_a_status_subresource() {
    let definition = serde_json::to_value(Website::crd()).unwrap();
    let version = &definition["spec"]["versions"][0];
    assert_eq!(version["subresources"]["status"], json!({}));
    let schema = &version["schema"]["openAPIV3Schema"]["properties"];
    assert_eq!(schema["spec"]["required"], json!(["page", "replicas"]));
    assert_eq!(schema["status"]["properties"]["conditions"]["x-kubernetes-list-type"], "map");
}
