//! The server of a scenario: writes to it, and faults.

use crate::{
    action::{NAMESPACES, ObjectName, RequestFault, RequestType, Tier},
    history::History,
    scenario::Setup,
    subscriber_check::ObservedObject,
    transport::{BodyEffect, BodyFault, ConnectionState, Connections, GENERATION_PREFIX, lock},
    write_log::{State, WriteLog},
};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::{
    Api, Client,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use kube_devserver::{DevServer, Fault, Injected, Verb, Versions};
use serde_json::json;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

/// A server, and the log of all writes to it.
#[derive(Debug)]
pub(crate) struct Server {
    server: DevServer,
    maps: Vec<Api<ConfigMap>>,
    pub(crate) write_log: WriteLog,
    pub(crate) connections: Connections,
    history: History,
    injected: Vec<(&'static str, Injected)>,
    writes: u64,
}

impl Server {
    pub(crate) fn new(setup: &Setup, history: History) -> Self {
        // A server without a socket starts without waiting.
        let start = DevServer::builder().history(setup.history).bookmark_interval(setup.bookmarks).start();
        let server = ready(start).expect("a server in memory starts");
        let client = server.client();
        let maps = NAMESPACES.map(|namespace| Api::namespaced(client.clone(), namespace)).into();
        Self {
            server,
            maps,
            write_log: WriteLog::default(),
            connections: Arc::new(Mutex::new(ConnectionState::new(setup.planted))),
            history,
            injected: Vec::new(),
            writes: 0,
        }
    }

    pub(crate) fn client(&self) -> Client {
        self.server.client()
    }

    /// Returns the newest version.
    pub(crate) fn version(&self) -> u64 {
        self.server.version()
    }

    /// Creates or changes an object, and returns whether the server accepted it.
    pub(crate) async fn write(&mut self, namespace: usize, name: &str, tier: Tier) -> bool {
        self.writes += 1;
        let maps = &self.maps[namespace];
        let key = format!("{}/{name}", NAMESPACES[namespace]);
        let content = json!({
            "metadata": { "name": name, "labels": { "tier": tier.label() } },
            "data": { "value": self.writes.to_string(), "served": format!("{GENERATION_PREFIX}0") },
        });
        let (written, what) = if self.write_log.exists(&key) {
            (maps.patch(name, &PatchParams::default(), &Patch::Merge(content)).await, "changed")
        } else {
            let map = serde_json::from_value(content).expect("the content is a config map");
            (maps.create(&PostParams::default(), &map).await, "created")
        };
        let Ok(written) = written else { return self.refused() };
        let observed = ObservedObject::of(&written);
        self.history.note(format_args!("  {what} {key}@{}", observed.version));
        self.history.count(&format!("written: {what}"));
        self.write_log.written(&key, &observed.into_state());
        true
    }

    /// Deletes an object, and returns whether it does not exist any more.
    pub(crate) async fn delete(&mut self, object: ObjectName) -> bool {
        let (name, key) = (object.name(), object.to_string());
        if !self.write_log.exists(&key) {
            return true;
        }
        if self.maps[object.namespace].delete(&name, &DeleteParams::default()).await.is_err() {
            return self.refused();
        }
        // There are no other writers.
        let version = self.server.version();
        self.history.note(format_args!("  deleted {key}@{version}"));
        self.history.count("written: deleted");
        self.write_log.deleted(&key, version);
        true
    }

    /// Changes an object of another kind.
    pub(crate) async fn touch_another_kind(&self) {
        let namespaces: Api<Namespace> = Api::all(self.server.client());
        let content =
            json!({ "metadata": { "annotations": { "touched": self.server.version().to_string() } } });
        let touched = namespaces.patch(NAMESPACES[0], &PatchParams::default(), &Patch::Merge(content)).await;
        touched.expect("there is no fault");
    }

    fn refused(&self) -> bool {
        self.history.note(format_args!("  write refused"));
        self.history.count("written: refused");
        false
    }

    pub(crate) fn cut(&self) {
        self.history.count("fault: cut");
        self.server.cut_watches();
    }

    pub(crate) fn compact(&self) {
        self.history.count("fault: compaction");
        self.server.compact();
    }

    pub(crate) fn restart(&self) {
        self.history.count("fault: server restart");
        self.server.restart(Versions::Kept);
    }

    /// Serves other content under the same versions from now on, and returns its generation.
    pub(crate) fn upgrade(&self) -> u8 {
        self.history.count("fault: upgrade");
        let mut connections = lock(&self.connections);
        connections.generation = (connections.generation + 1) % 10;
        connections.generation
    }

    /// Injects a fault into the next requests.
    pub(crate) fn inject(&mut self, request_fault: RequestFault) {
        let fault = match request_fault {
            RequestFault::TruncateBody { request_type, bytes, abruptly } => {
                let effect = if abruptly { BodyEffect::Reset } else { BodyEffect::End };
                return lock(&self.connections).faults.push(BodyFault { request_type, bytes, effect });
            }
            RequestFault::DeadBody { request_type, bytes } => {
                let effect = BodyEffect::Dead;
                return lock(&self.connections).faults.push(BodyFault { request_type, bytes, effect });
            }
            RequestFault::Answer { request_type, code, retry_after, times } => {
                let fault = Fault::answer(code).on(verb(request_type)).times(times);
                match retry_after {
                    Some(seconds) => fault.retry_after(std::time::Duration::from_secs(seconds)),
                    None => fault,
                }
            }
            RequestFault::Stall { request_type, time } => Fault::stall(time).on(verb(request_type)).times(1),
            RequestFault::CutAfterEvents { events, abruptly } => {
                abrupt(Fault::cut_after_events(events), abruptly).times(1)
            }
            RequestFault::CutAfter { time, abruptly } => abrupt(Fault::cut_after(time), abruptly).times(1),
            RequestFault::SmallChunks { size } => Fault::pieces(size).times(2),
            RequestFault::DropBookmarks => Fault::drop_bookmarks().times(1),
            RequestFault::DelayBookmarks { time } => Fault::delay_bookmarks(time).times(1),
            RequestFault::DropInitialEventsEnd => Fault::drop_initial_events_end().times(1),
            RequestFault::DelayInitialEventsEnd { time } => Fault::delay_initial_events_end(time).times(1),
            RequestFault::RefuseStreamingLists { times } => Fault::refuse_streaming_lists().times(times),
            RequestFault::ExpireContinue => Fault::expire_continue().times(1),
            RequestFault::RefuseConnections { time } => Fault::refuse_connections(time),
        };
        let injected = self.server.faults().inject(fault.of("configmaps"));
        self.injected.push((request_fault.kind(), injected));
    }

    /// Removes all faults that wait for a request. A connection that is dead stays dead.
    pub(crate) fn clear_faults(&mut self) {
        self.server.faults().clear();
        lock(&self.connections).faults.clear();
    }

    /// Counts the requests that injected faults have affected.
    pub(crate) fn count_fault_hits(&mut self) {
        for (kind, injected) in self.injected.drain(..) {
            self.history.add(&format!("fault: {kind}"), injected.hits());
        }
    }

    /// Lists all objects.
    pub(crate) async fn listed(&self) -> BTreeMap<String, u64> {
        let mut all = BTreeMap::new();
        for maps in &self.maps {
            let list = maps.list(&ListParams::default()).await.expect("there is no fault");
            let observed = list.items.iter().map(ObservedObject::of);
            all.extend(observed.map(|observed| (observed.key, observed.version)));
        }
        all
    }
}

impl ObservedObject {
    fn into_state(self) -> State {
        let Self { version, uid, value, is_front, .. } = self;
        State { version, uid, value, is_front }
    }
}

fn verb(request_type: RequestType) -> Verb {
    match request_type {
        RequestType::List => Verb::List,
        RequestType::Watch => Verb::Watch,
    }
}

fn abrupt(fault: Fault, abruptly: bool) -> Fault {
    if abruptly { fault.abruptly() } else { fault }
}

/// Returns the value of a future that does not wait.
fn ready<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match future.as_mut().poll(&mut context) {
        std::task::Poll::Ready(value) => value,
        std::task::Poll::Pending => unreachable!("the future does not wait"),
    }
}
