//! Network faults between an informer and a server, and the time that the informer needs to notice them and to recover.

use crate::{
    checked_informer::CheckedInformer,
    proxy::{Direction, Disturbance, Proxy},
    random::Random,
    request_log::{RequestCounts, RequestLog},
    server::Server,
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Client,
    api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use kube_informer::{
    reflector::{Config, Strategy},
    source::ListWatch,
    wire::ResourceVersion,
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fmt, time::Duration};
use tokio::{
    task::{JoinHandle, JoinSet},
    time::{Instant, interval, sleep_until},
};
use tokio_util::sync::CancellationToken;

/// A network fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkFault {
    /// The connection of a watch stops to forward after a bookmark, without a FIN or RST.
    StopForwarding,
    /// The connection of a watch stops to forward before the first bookmark of the server.
    StopBeforeFirstBookmark,
    /// The first connection stops to forward in the middle of the initial list.
    StopDuringInitialList,
    /// The connection of a watch stops to forward, and so do four idle connections in the pool of the client.
    StopIdleConnections,
    /// All connections, new ones included, stop to forward for this time.
    Outage(Duration),
    /// Every byte arrives late in both directions; then the connections are cut.
    Delay(Duration),
    /// The bandwidth is limited to this number of bytes per second; then the connections are cut.
    Bandwidth(u32),
    /// Every byte arrives in a packet of its own; then the connections are cut.
    SingleBytes,
    /// One direction of the connection is closed.
    HalfClose(Direction),
}

impl fmt::Display for NetworkFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StopForwarding => f.write_str("stops forwarding"),
            Self::StopBeforeFirstBookmark => f.write_str("stops before the first bookmark"),
            Self::StopDuringInitialList => f.write_str("stops during the initial list"),
            Self::StopIdleConnections => f.write_str("stops, and so do idle connections"),
            Self::Outage(time) => write!(f, "outage of {} s", time.as_secs()),
            Self::Delay(time) => write!(f, "delay of {} s, then cut", time.as_secs()),
            Self::Bandwidth(bytes) => write!(f, "{} KB/s, then cut", bytes / 1000),
            Self::SingleBytes => f.write_str("single bytes, then cut"),
            Self::HalfClose(Direction::ToClient) => f.write_str("half-close to the client"),
            Self::HalfClose(Direction::ToServer) => f.write_str("half-close to the server"),
        }
    }
}

impl NetworkFault {
    /// Returns the disturbance that lasts from the start of the informer to its end.
    fn disturbance(self) -> Disturbance {
        match self {
            Self::Delay(delay) => Disturbance::Delay(delay),
            Self::Bandwidth(rate) => Disturbance::Bandwidth(rate),
            Self::SingleBytes => Disturbance::SingleBytes,
            Self::StopForwarding
            | Self::StopBeforeFirstBookmark
            | Self::StopDuringInitialList
            | Self::StopIdleConnections
            | Self::Outage(_)
            | Self::HalfClose(_) => Disturbance::None,
        }
    }

    /// Returns true if only the idle timeout reveals the fault.
    #[must_use]
    pub fn is_silent(self) -> bool {
        match self {
            Self::StopForwarding
            | Self::StopBeforeFirstBookmark
            | Self::StopDuringInitialList
            | Self::StopIdleConnections
            | Self::Outage(_) => true,
            Self::Delay(_) | Self::Bandwidth(_) | Self::SingleBytes | Self::HalfClose(_) => false,
        }
    }
}

/// An informer and the fault that affects it.
#[derive(Clone, Copy, Debug)]
pub struct FaultRound {
    /// The fault.
    pub fault: NetworkFault,
    /// The way in which the informer requests full lists.
    pub strategy: Strategy,
    /// The idle timeout of the informer.
    pub idle_timeout: Duration,
    /// The minimum time of writes while the fault lasts and after it.
    pub writes_for: Duration,
    /// The seed of the writes.
    pub seed: u64,
}

/// The reaction of an informer to a fault.
#[derive(Clone, Debug)]
pub struct Reaction {
    /// The time from the start of the informer to its sync.
    pub synced_after: Duration,
    /// The time from the fault to the first error report or request.
    pub noticed_after: Duration,
    /// The time from the fault until the cache had a change that was written right after the fault.
    pub recovered_after: Duration,
    /// The requests from the fault to the recovery.
    pub requests: RequestCounts,
    /// The number of writes to the server.
    pub writes: u64,
    /// The differences between cache, delivered events and server at the end. Empty unless there is a bug.
    pub differences: Vec<String>,
}

/// The number of objects of an informer, each of about a kilobyte.
const OBJECTS: u64 = 60;

/// The number of bytes of the initial list that are forwarded by [`NetworkFault::StopDuringInitialList`].
const PART_OF_LIST: usize = 20_000;

/// The interval of writes.
const WRITE_INTERVAL: Duration = Duration::from_millis(500);

/// The interval in which a condition is checked.
const POLL: Duration = Duration::from_millis(20);

/// The maximum time of each phase; no phase of a correct informer takes as long.
const PHASE_TIMEOUT: Duration = Duration::from_secs(400);

/// The name of the object that is changed to observe the recovery.
const MARKER: &str = "marker";

impl FaultRound {
    /// Runs the round in a namespace of its own.
    ///
    /// # Errors
    /// A description of the phase that did not end.
    pub async fn run(&self, server: &Server) -> Result<Reaction, String> {
        let fixture = Fixture::new(server, self).await;
        let reaction = fixture.run().await.map_err(|phase| fixture.timed_out(&phase));
        fixture.informer.stop().await;
        reaction
    }

    fn config(&self) -> Config {
        let mut config = Config::default();
        config.strategy = self.strategy;
        config.idle_timeout = self.idle_timeout;
        config
    }
}

/// An informer behind a proxy, and an API to the same objects that does not use the proxy.
struct Fixture {
    round: FaultRound,
    proxy: Proxy,
    requests: RequestLog,
    /// The client of the informer.
    client: Client,
    namespace: String,
    api: Api<ConfigMap>,
    /// The objects of another namespace: a write there is only visible in bookmarks.
    other: Api<ConfigMap>,
    started_at: Instant,
    informer: CheckedInformer<ConfigMap>,
}

impl Fixture {
    async fn new(server: &Server, round: &FaultRound) -> Self {
        let namespace = server.namespace().await;
        let api: Api<ConfigMap> = Api::namespaced(server.client(), &namespace);
        let other = Api::namespaced(server.client(), &server.namespace().await);
        let mut random = Random::new(round.seed);
        for number in 0..OBJECTS {
            create(&api, &format!("initial-{number}"), &mut random).await;
        }
        create(&api, MARKER, &mut random).await;
        let proxy = server.proxy(round.seed).await;
        proxy.disturb(round.fault.disturbance());
        if round.fault == NetworkFault::StopDuringInitialList {
            proxy.stop_next_connection_after(PART_OF_LIST);
        }
        let requests = RequestLog::default();
        let client = server.client_recorded(&requests, &proxy);
        let started_at = Instant::now();
        let source = ListWatch::namespaced(client.clone(), &namespace);
        let informer = CheckedInformer::start(source, round.config());
        let round = *round;
        Self { round, proxy, requests, client, namespace, api, other, started_at, informer }
    }

    async fn run(&self) -> Result<Reaction, String> {
        self.wait_until_ready().await?;
        let churn = Churn::start(self.api.clone(), self.round.seed);
        let before = self.snapshot();
        let injected_at = Instant::now();
        self.inject();
        let marker = self.write_marker().await;
        let noticed = self.wait("notice the fault", || {
            let now = self.snapshot();
            now.reports > before.reports || now.requests.total() > before.requests.total()
        });
        let recovered = self.wait_for_version(&marker);
        let (noticed_at, recovered, ()) = tokio::join!(noticed, recovered, self.end_outage(injected_at));
        let recovered = recovered?;
        sleep_until(injected_at + self.round.writes_for).await;
        let writes = churn.stop().await;
        let mut differences = Vec::new();
        // The last writes may still be on their way.
        let deadline = Instant::now() + PHASE_TIMEOUT;
        let mut pace = interval(POLL * 10);
        while Instant::now() < deadline {
            pace.tick().await;
            differences = self.differences().await;
            if differences.is_empty() {
                break;
            }
        }
        Ok(Reaction {
            synced_after: before.at - self.started_at,
            noticed_after: noticed_at? - injected_at,
            recovered_after: recovered.at - injected_at,
            requests: recovered.requests.since(&before.requests),
            writes,
            differences,
        })
    }

    /// Waits until the informer is in the state in which the fault is injected.
    async fn wait_until_ready(&self) -> Result<(), String> {
        if self.round.fault == NetworkFault::StopDuringInitialList {
            let is_reached = || self.proxy.limits_reached() > 0;
            return self.wait("receive a part of the initial list", is_reached).await.map(drop);
        }
        self.wait("sync", || self.informer.store.version().is_some()).await?;
        match self.round.fault {
            NetworkFault::StopForwarding => {
                let version = self.informer.store.version();
                // A change that is only visible in bookmarks.
                create(&self.other, "other", &mut Random::new(self.round.seed)).await;
                self.wait("receive a bookmark", || self.informer.store.version() > version).await?;
            }
            NetworkFault::StopIdleConnections => {
                let mut gets = JoinSet::new();
                for number in 0..4 {
                    let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), &self.namespace);
                    gets.spawn(async move { api.get(&format!("initial-{number}")).await });
                }
                while let Some(got) = gets.join_next().await {
                    got.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
                }
            }
            NetworkFault::StopBeforeFirstBookmark
            | NetworkFault::StopDuringInitialList
            | NetworkFault::Outage(_)
            | NetworkFault::Delay(_)
            | NetworkFault::Bandwidth(_)
            | NetworkFault::SingleBytes
            | NetworkFault::HalfClose(_) => {}
        }
        let marker = self.write_marker().await;
        self.wait_for_version(&marker).await.map(drop)
    }

    /// Waits until the cache has the version.
    async fn wait_for_version(&self, version: &ResourceVersion) -> Result<Snapshot, String> {
        let arrived = self.informer.informer.wait_for_within(version, PHASE_TIMEOUT).await;
        arrived.map_err(|error| format!("reach version {version} ({error})"))?;
        Ok(self.snapshot())
    }

    fn inject(&self) {
        match self.round.fault {
            NetworkFault::StopForwarding
            | NetworkFault::StopBeforeFirstBookmark
            | NetworkFault::StopIdleConnections => self.proxy.stop_forwarding(),
            // The limit of the connection was reached.
            NetworkFault::StopDuringInitialList => {}
            NetworkFault::Outage(_) => self.proxy.stall(),
            NetworkFault::Delay(_) | NetworkFault::Bandwidth(_) | NetworkFault::SingleBytes => {
                self.proxy.cut();
            }
            NetworkFault::HalfClose(direction) => self.proxy.half_close(direction),
        }
    }

    async fn end_outage(&self, injected_at: Instant) {
        if let NetworkFault::Outage(time) = self.round.fault {
            sleep_until(injected_at + time).await;
            self.proxy.resume();
        }
    }

    async fn write_marker(&self) -> ResourceVersion {
        let value = self.started_at.elapsed().as_nanos().to_string();
        version(&patch(&self.api, MARKER, &value).await)
    }

    /// Waits for a condition, and returns the time at which it was observed.
    async fn wait(&self, phase: &str, is_reached: impl Fn() -> bool) -> Result<Instant, String> {
        let deadline = Instant::now() + PHASE_TIMEOUT;
        let mut pace = interval(POLL);
        while !is_reached() {
            if Instant::now() > deadline {
                return Err(phase.to_owned());
            }
            pace.tick().await;
        }
        Ok(Instant::now())
    }

    fn snapshot(&self) -> Snapshot {
        let (requests, reports) = (self.requests.counts(), self.informer.reports().len());
        Snapshot { at: Instant::now(), requests, reports }
    }

    /// Returns the differences between cache, delivered events and server; a failed request is a difference.
    async fn differences(&self) -> Vec<String> {
        let listed = match self.api.list(&ListParams::default()).await {
            Ok(listed) => listed,
            Err(error) => return vec![format!("the server could not be listed: {error}")],
        };
        let on_server = contents(listed.items.iter());
        let cached_objects = self.informer.store.list();
        let cached = contents(cached_objects.iter().map(|object| &**object));
        let delivered = self.informer.known();
        let keys = on_server.keys().chain(cached.keys()).chain(delivered.keys());
        let keys: std::collections::BTreeSet<&String> = keys.collect();
        let mut differences = Vec::new();
        for key in keys {
            let (server, cache) = (on_server.get(key), cached.get(key));
            if server != cache {
                differences.push(format!("{key}: the server has {server:?}, the cache {cache:?}"));
            }
            let version = server.and_then(|object| object["metadata"]["resourceVersion"].as_str());
            let last = delivered.get(key).map(String::as_str);
            if version != last {
                differences.push(format!("{key}: the server has version {version:?}, events {last:?}"));
            }
        }
        differences
    }

    fn timed_out(&self, phase: &str) -> String {
        let status = self.informer.informer.status();
        let reports = self.informer.reports();
        format!("the informer did not {phase} within {PHASE_TIMEOUT:?}: {status:?}, {reports:#?}")
    }
}

/// The counts of an informer at a time.
struct Snapshot {
    at: Instant,
    requests: RequestCounts,
    reports: usize,
}

/// A task that creates, changes and deletes objects.
struct Churn {
    end: CancellationToken,
    task: JoinHandle<u64>,
}

impl Churn {
    fn start(api: Api<ConfigMap>, seed: u64) -> Self {
        let end = CancellationToken::new();
        let task = tokio::spawn(churn(api, seed, end.clone()));
        Self { end, task }
    }

    /// Ends the task after its current write, and returns the number of writes.
    async fn stop(self) -> u64 {
        self.end.cancel();
        self.task.await.unwrap()
    }
}

async fn churn(api: Api<ConfigMap>, seed: u64, end: CancellationToken) -> u64 {
    let (mut random, mut exists, mut writes) = (Random::new(seed), [false; 10], 0);
    let mut pace = interval(WRITE_INTERVAL);
    loop {
        tokio::select! {
            () = end.cancelled() => return writes,
            _ = pace.tick() => {}
        }
        let number = random.below(10) as usize;
        let name = format!("churn-{number}");
        match (exists[number], random.below(4)) {
            (false, _) => {
                create(&api, &name, &mut random).await;
                exists[number] = true;
            }
            (true, 0) => {
                drop(api.delete(&name, &DeleteParams::default()).await.unwrap());
                exists[number] = false;
            }
            (true, _) => drop(patch(&api, &name, &writes.to_string()).await),
        }
        writes += 1;
    }
}

/// Creates an object of about a kilobyte that cannot be compressed well.
async fn create(api: &Api<ConfigMap>, name: &str, random: &mut Random) {
    let letter = |random: &mut Random| char::from(b'!' + random.below(90) as u8);
    let payload: String = (0..900).map(|_| letter(random)).collect();
    let object = json!({ "metadata": { "name": name }, "data": { "payload": payload } });
    let object = serde_json::from_value(object).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap();
}

async fn patch(api: &Api<ConfigMap>, name: &str, value: &str) -> ConfigMap {
    let patch = Patch::Merge(json!({ "data": { "value": value } }));
    api.patch(name, &PatchParams::default(), &patch).await.unwrap()
}

fn version(object: &ConfigMap) -> ResourceVersion {
    object.metadata.resource_version.as_deref().unwrap().parse().unwrap()
}

/// Returns objects by name, without managed fields, which the cache does not have.
fn contents<'a>(objects: impl Iterator<Item = &'a ConfigMap>) -> BTreeMap<String, Value> {
    let content = |object: &ConfigMap| {
        let mut object = object.clone();
        object.metadata.managed_fields = None;
        let metadata = &object.metadata;
        let key = format!("{}/{}", metadata.namespace.as_deref().unwrap(), metadata.name.as_deref().unwrap());
        (key, serde_json::to_value(&object).unwrap())
    };
    objects.map(content).collect()
}
