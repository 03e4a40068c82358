//! Random sequences of steps with the operator: every fault of the development server, restarts and kills.
//!
//! `PROPTEST_CASES=1000` runs 1,000 sequences instead of the default.

use super::{
    World,
    operator::{Context, Dns, MANAGER, WebsiteInformers, controller, reconcile},
    start_leases,
    website::{Website, WebsiteSpec},
};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube_devserver::{DevServer, Fault, Verb, Versions};
use kube_informer::{
    Key,
    controller::{Action, ControllerError, ControllerHandle, ErrorPolicy, FinalizerError, events::Recorder},
};
use kube_leases::Leases;
use proptest::prelude::*;
use serde_json::json;
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    task::JoinHandle,
    time::{sleep, timeout},
};

#[derive(Clone, Copy, Debug)]
enum Step {
    Create(u8),
    Change(u8),
    Delete(u8),
    DeleteOwned(u8),
    Fault(u8),
    /// Ends the process at once.
    Kill,
    /// Ends the process after its running reconciles.
    Restart,
    /// Restores the server from a backup, with versions that start again. Clients cannot detect this in general, so that
    /// Kubernetes requires to restart them as well.
    Restore,
    Wait(u16),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..4u8).prop_map(Step::Create),
        4 => (0..4u8).prop_map(Step::Change),
        2 => (0..4u8).prop_map(Step::Delete),
        2 => (0..4u8).prop_map(Step::DeleteOwned),
        6 => (0..FAULTS).prop_map(Step::Fault),
        1 => Just(Step::Kill),
        1 => Just(Step::Restart),
        1 => Just(Step::Restore),
        4 => (0..5000u16).prop_map(Step::Wait),
    ]
}

/// The number of faults of [`inject`].
const FAULTS: u8 = 23;

/// Injects a fault. All faults of the server are here, except for [`Step::Restore`].
fn inject(server: &DevServer, number: u8) {
    let fault = match number {
        0 => return server.cut_watches(),
        1 => return server.compact(),
        2 => return server.restart(Versions::Kept),
        3 => Fault::answer(500).times(5),
        4 => Fault::answer(409).on(Verb::Patch).times(5),
        5 => Fault::answer(429).retry_after(Duration::from_secs(2)).times(3),
        6 => Fault::answer(503).on(Verb::Watch).times(4),
        7 => Fault::answer(410).on(Verb::Watch).times(2),
        8 => Fault::answer(403).on(Verb::List).times(2),
        9 => Fault::answer(404).on(Verb::Patch).times(2),
        10 => Fault::stall(Duration::from_secs(3)).times(3),
        11 => Fault::stall_until_withdrawn().on(Verb::Patch).times(1),
        12 => Fault::cut_after_events(1).times(3),
        13 => Fault::cut_after_events(2).abruptly().times(3),
        14 => Fault::cut_after(Duration::from_secs(2)).times(3),
        15 => Fault::pieces(7).times(5),
        16 => Fault::drop_bookmarks().times(3),
        17 => Fault::delay_bookmarks(Duration::from_secs(30)).times(3),
        18 => Fault::drop_initial_events_end().times(2),
        19 => Fault::delay_initial_events_end(Duration::from_secs(20)).times(2),
        20 => Fault::refuse_streaming_lists().times(3),
        21 => Fault::expire_continue().times(2),
        _ => Fault::refuse_connections(Duration::from_secs(6)),
    };
    drop(server.faults().inject(fault));
}

/// The websites that are being reconciled by one process, and those that were reconciled twice at the same time.
#[derive(Default)]
struct Reconciling {
    running: Mutex<BTreeSet<Key>>,
    concurrent: Mutex<BTreeSet<Key>>,
}

/// Removes a website from [`Reconciling`], also if the reconcile is dropped.
struct ReconcileGuard<'a> {
    reconciling: &'a Reconciling,
    key: Key,
}

impl Reconciling {
    fn enter(&self, key: Key) -> ReconcileGuard<'_> {
        if !self.running.lock().unwrap().insert(key.clone()) {
            // A panic here would be caught by the controller.
            self.concurrent.lock().unwrap().insert(key.clone());
        }
        ReconcileGuard { reconciling: self, key }
    }

    /// Checks that all reconciles have ended, and that there never were two of one website.
    fn check(&self) {
        let empty = BTreeSet::new();
        assert_eq!(*self.concurrent.lock().unwrap(), empty, "reconciled twice at the same time");
        assert_eq!(*self.running.lock().unwrap(), empty, "running after the end");
    }
}

impl Drop for ReconcileGuard<'_> {
    fn drop(&mut self) {
        self.reconciling.running.lock().unwrap().remove(&self.key);
    }
}

/// The context of the operator with a check for concurrent reconciles.
struct Checked {
    operator: Arc<Context>,
    reconciling: Reconciling,
}

type ReconcileError = FinalizerError<super::operator::OperatorError>;

async fn checked_reconcile(site: Arc<Website>, context: Arc<Checked>) -> Result<Action, ReconcileError> {
    let _guard = context.reconciling.enter(Key::of(&*site).unwrap());
    reconcile(site, Arc::clone(&context.operator)).await
}

/// One process of the operator.
struct Process {
    context: Arc<Checked>,
    leases: Leases,
    handle: ControllerHandle,
    running: JoinHandle<Result<(), ControllerError>>,
}

impl Process {
    fn start(world: &World, dns: Dns) -> Self {
        let client = world.server.client();
        let informers = WebsiteInformers::start(&client).unwrap();
        let recorder = Recorder::new(client.clone(), MANAGER);
        let operator = Arc::new(Context { recorder, informers, dns, client });
        let context = Arc::new(Checked { operator, reconciling: Reconciling::default() });
        let leases = start_leases(&context.operator.client);
        let controller = controller(&context.operator.informers, &leases);
        let handle = controller.handle();
        let run = controller.run(checked_reconcile, ErrorPolicy::default(), Arc::clone(&context));
        Self { context, leases, handle, running: tokio::spawn(run) }
    }

    /// Ends the process at once, and returns the state of the name servers.
    async fn kill(self) -> Dns {
        self.running.abort();
        assert!(self.running.await.unwrap_err().is_cancelled());
        self.context.reconciling.check();
        Dns::with_names(self.context.operator.dns.names())
    }

    /// Shuts the process down. A reconcile may be waiting for a request that the server does not answer, so that this is limited.
    async fn stop(self) -> Dns {
        self.handle.stop();
        let mut running = self.running;
        match timeout(Duration::from_secs(20), &mut running).await {
            Ok(ended) => ended.unwrap().unwrap(),
            Err(_) => {
                running.abort();
                assert!(running.await.unwrap_err().is_cancelled());
            }
        }
        self.context.reconciling.check();
        self.leases.stop();
        self.leases.stopped().await;
        Dns::with_names(self.context.operator.dns.names())
    }
}

/// Sends a request of the test. Faults may hit it, so that errors are ignored.
async fn attempt<T>(request: impl Future<Output = kube::Result<T>>) {
    let _ = timeout(Duration::from_secs(10), request).await;
}

/// Runs steps with the operator, which may restart it. At the end, the desired state is reached.
async fn run_steps(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let world = World::new().await;
    let mut process = Process::start(&world, Dns::default());
    for (number, step) in steps.into_iter().enumerate() {
        match step {
            Step::Create(site) => {
                let site = Website::new(&format!("s{site}"), WebsiteSpec::new("first", 2));
                attempt(world.websites.create(&PostParams::default(), &site)).await;
            }
            Step::Change(site) => {
                let patch = Patch::Merge(json!({ "spec": { "page": format!("page {number}") } }));
                attempt(world.websites.patch(&format!("s{site}"), &PatchParams::default(), &patch)).await;
            }
            Step::Delete(site) => {
                attempt(world.websites.delete(&format!("s{site}"), &DeleteParams::default())).await;
            }
            Step::DeleteOwned(site) => {
                attempt(world.deployments.delete(&format!("s{site}"), &DeleteParams::default())).await;
            }
            Step::Fault(number) => inject(&world.server, number),
            Step::Kill => process = Process::start(&world, process.kill().await),
            Step::Restart => process = Process::start(&world, process.stop().await),
            Step::Restore => {
                world.server.restart(Versions::Reset);
                process = Process::start(&world, process.kill().await);
            }
            Step::Wait(millis) => sleep(Duration::from_millis(millis.into())).await,
        }
    }
    world.server.faults().clear();
    sleep(Duration::from_secs(400)).await;
    process.handle.idle().await;
    check(&world, &process.context.operator.dns).await?;
    drop(process.stop().await);
    drop(world);
    no_task_is_left().await
}

/// Checks that the desired state is reached.
async fn check(world: &World, dns: &Dns) -> Result<(), TestCaseError> {
    let mut names = BTreeSet::new();
    for site in world.websites.list(&ListParams::default()).await.unwrap().items {
        let name = site.metadata.name.clone().unwrap();
        prop_assert_eq!(site.metadata.deletion_timestamp.as_ref(), None, "{} was not cleaned up", name);
        prop_assert_eq!(world.page(&name).await, Some(site.spec.page), "{}", name);
        prop_assert!(world.deployments.get_opt(&name).await.unwrap().is_some(), "{name} has no deployment");
        prop_assert_eq!(world.is_ready(&name).await, Some(false), "{} has no status", name);
        names.insert(name);
    }
    prop_assert_eq!(dns.names(), names);
    Ok(())
}

/// Waits until all tasks of controllers, informers and clients have ended.
async fn no_task_is_left() -> Result<(), TestCaseError> {
    let metrics = tokio::runtime::Handle::current().metrics();
    for _ in 0..1000 {
        if metrics.num_alive_tasks() == 0 {
            return Ok(());
        }
        sleep(Duration::from_secs(1)).await;
    }
    prop_assert_eq!(metrics.num_alive_tasks(), 0, "tasks are left");
    Ok(())
}

/// Returns the number of sequences: `PROPTEST_CASES`, or 30.
fn sequences() -> ProptestConfig {
    let default = ProptestConfig::default();
    let is_set = std::env::var_os("PROPTEST_CASES").is_some();
    ProptestConfig { cases: if is_set { default.cases } else { 30 }, failure_persistence: None, ..default }
}

proptest! {
    #![proptest_config(sequences())]

    #[test]
    fn the_desired_state_is_reached_after_random_steps(steps in proptest::collection::vec(step(), 1..50)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(run_steps(steps))?;
    }
}
