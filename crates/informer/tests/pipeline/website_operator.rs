//! The example `website_operator` under faults and restarts.

#[path = "../../examples/website_operator/operator.rs"]
mod operator;
#[path = "../../examples/website_operator/website.rs"]
mod website;

use self::{
    operator::{Context, Dns, FINALIZER, INTERVAL, WebsiteInformers, manager},
    website::Website,
};
use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Event as EventObject, Service},
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube_devserver::{DevServer, Fault, Verb};
use kube_informer::{
    controller::{ControllerHandle, events::Recorder, find_condition},
    manager::ManagerError,
};
use proptest::prelude::*;
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tokio::{task::JoinHandle, time::sleep};

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
    handle: ControllerHandle,
    running: JoinHandle<Result<(), ManagerError>>,
}

impl World {
    async fn new() -> Self {
        let server = DevServer::start();
        let definitions: Api<CustomResourceDefinition> = Api::all(server.client());
        definitions.create(&PostParams::default(), &Website::definition().unwrap()).await.unwrap();
        let client = server.client();
        Self {
            websites: Api::default_namespaced(client.clone()),
            deployments: Api::default_namespaced(client.clone()),
            maps: Api::default_namespaced(client),
            server,
        }
    }

    fn start(&self, dns: Dns) -> Operator {
        let client = self.server.client();
        let context = Arc::new(Context {
            recorder: Recorder::new(client.clone(), "website-operator"),
            informers: WebsiteInformers::start(&client).unwrap(),
            dns,
            client,
        });
        let manager = manager(&context);
        let handle = manager.handles().remove(0);
        Operator { context, handle, running: tokio::spawn(manager.run()) }
    }

    async fn create(&self, name: &str, page: &str) {
        self.websites.create(&PostParams::default(), &Website::new(name, page, 2)).await.unwrap();
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
async fn a_day_of_requeues_costs_no_requests() {
    let world = World::new().await;
    let operator = world.start(Dns::default());
    world.create("shop", "one").await;
    sleep(Duration::from_secs(5)).await;
    operator.handle.idle().await;
    let version = world.server.version();
    let writes = world.server.faults().inject(Fault::stall(Duration::ZERO).on(Verb::Patch));
    let mut outcomes = operator.handle.outcomes();
    sleep(Duration::from_secs(24 * 60 * 60)).await;
    let mut count = 0;
    while let Ok(Some(outcome)) = tokio::time::timeout(Duration::ZERO, outcomes.next()).await {
        assert!(outcome.is_success(), "{outcome:?}");
        count += 1;
    }
    assert_eq!(count, 24 * 60 * 60 / INTERVAL.as_secs(), "one reconcile for each interval");
    assert_eq!((world.server.version(), writes.hits()), (version, 0), "nothing was written");
    operator.stop().await;
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Create(u8),
    Change(u8),
    Delete(u8),
    DeleteOwned(u8),
    Fault(u8),
    Kill,
    Wait(u16),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..4u8).prop_map(Step::Create),
        4 => (0..4u8).prop_map(Step::Change),
        2 => (0..4u8).prop_map(Step::Delete),
        2 => (0..4u8).prop_map(Step::DeleteOwned),
        4 => (0..9u8).prop_map(Step::Fault),
        1 => Just(Step::Kill),
        4 => (0..5000u16).prop_map(Step::Wait),
    ]
}

fn inject(server: &DevServer, number: u8) {
    let faults = server.faults();
    match number {
        0 => server.cut_watches(),
        1 => server.compact(),
        2 => drop(faults.inject(Fault::answer(500).times(5))),
        3 => drop(faults.inject(Fault::answer(409).on(Verb::Patch).times(5))),
        4 => drop(faults.inject(Fault::answer(429).times(3))),
        5 => drop(faults.inject(Fault::answer(503).on(Verb::Watch).times(4))),
        6 => drop(faults.inject(Fault::stall(Duration::from_secs(3)).times(3))),
        7 => drop(faults.inject(Fault::drop_bookmarks().times(3))),
        _ => drop(faults.inject(Fault::cut_after_events(1).times(3))),
    }
}

/// One life of the operator, with restarts. At the end, the desired state is reached.
async fn live(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let world = World::new().await;
    let mut operator = world.start(Dns::default());
    // Requests of the test itself may be hit by faults, so that their errors are ignored here.
    for (number, step) in steps.into_iter().enumerate() {
        let page = json!({ "spec": { "page": format!("page {number}") } });
        match step {
            Step::Create(site) => {
                let site = Website::new(&format!("s{site}"), "first", 2);
                let _ = world.websites.create(&PostParams::default(), &site).await;
            }
            Step::Change(site) => {
                let patch = Patch::Merge(page);
                let _ = world.websites.patch(&format!("s{site}"), &PatchParams::default(), &patch).await;
            }
            Step::Delete(site) => {
                let _ = world.websites.delete(&format!("s{site}"), &DeleteParams::default()).await;
            }
            Step::DeleteOwned(site) => {
                let _ = world.deployments.delete(&format!("s{site}"), &DeleteParams::default()).await;
            }
            Step::Fault(number) => inject(&world.server, number),
            Step::Kill => {
                operator.running.abort();
                let _ = operator.running.await;
                // The process ended, but the name servers still exist.
                let dns = Dns::with_names(operator.context.dns.names());
                operator = world.start(dns);
            }
            Step::Wait(millis) => sleep(Duration::from_millis(millis.into())).await,
        }
    }
    world.server.faults().clear();
    sleep(Duration::from_secs(400)).await;
    operator.handle.idle().await;
    let sites = world.websites.list(&ListParams::default()).await.unwrap().items;
    let mut names = std::collections::BTreeSet::new();
    for site in sites {
        let name = site.metadata.name.clone().unwrap();
        prop_assert_eq!(site.metadata.deletion_timestamp.as_ref(), None, "{} was not cleaned up", name);
        prop_assert_eq!(world.page(&name).await, Some(site.spec.page), "{}", name);
        prop_assert!(world.deployments.get_opt(&name).await.unwrap().is_some(), "{name} has no deployment");
        prop_assert_eq!(world.is_ready(&name).await, Some(false), "{} has no status", name);
        names.insert(name);
    }
    prop_assert_eq!(operator.context.dns.names(), names);
    operator.stop().await;
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_desired_state_is_reached_in_every_life(steps in proptest::collection::vec(step(), 1..50)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(live(steps))?;
    }
}
