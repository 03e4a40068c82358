//! The server, who writes to it, and what goes wrong with it.

use crate::{
    act::{Asked, NAMESPACES, Place, Tier, Trouble},
    ear::Seen,
    history::History,
    scenario::Setup,
    tap::{Tear, Tears},
    truth::{State, Truth},
};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::{
    Api, Client,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use kube_devserver::{DevServer, Fault, Injected, Verb, Versions};
use serde_json::json;
use std::{collections::BTreeMap, sync::PoisonError};

/// A server, and the truth about it.
#[derive(Debug)]
pub(crate) struct Server {
    server: DevServer,
    maps: Vec<Api<ConfigMap>>,
    pub(crate) truth: Truth,
    pub(crate) tears: Tears,
    history: History,
    injected: Vec<(&'static str, Injected)>,
    writes: u64,
}

impl Server {
    pub(crate) fn new(setup: &Setup, history: History) -> Self {
        // Without a socket there is nothing to wait for.
        let start = DevServer::builder().history(setup.history).bookmark_interval(setup.bookmarks).start();
        let server = ready(start).expect("a server in memory starts");
        let client = server.client();
        let maps = NAMESPACES.map(|namespace| Api::namespaced(client.clone(), namespace)).into();
        Self {
            server,
            maps,
            truth: Truth::default(),
            tears: Tears::default(),
            history,
            injected: Vec::new(),
            writes: 0,
        }
    }

    pub(crate) fn client(&self) -> Client {
        self.server.client()
    }

    /// The newest version.
    pub(crate) fn version(&self) -> u64 {
        self.server.version()
    }

    /// Makes an object, or changes it. Says whether it could.
    pub(crate) async fn put(&mut self, (namespace, name): (usize, &str), tier: Tier) -> bool {
        self.writes += 1;
        let maps = &self.maps[namespace];
        let key = format!("{}/{name}", NAMESPACES[namespace]);
        let content = json!({
            "metadata": { "name": name, "labels": { "tier": tier.label() } },
            "data": { "value": self.writes.to_string() },
        });
        let (made, what) = if self.truth.is_there(&key) {
            (maps.patch(name, &PatchParams::default(), &Patch::Merge(content)).await, "changed")
        } else {
            let map = serde_json::from_value(content).expect("it is a config map");
            (maps.create(&PostParams::default(), &map).await, "made")
        };
        let Ok(made) = made else { return self.refused() };
        let seen = Seen::of(&made);
        self.history.note(format_args!("  {what} {key}@{}", seen.version));
        self.history.count(&format!("written: {what}"));
        self.truth.put(&key, &seen.into_state());
        true
    }

    pub(crate) async fn delete(&mut self, place: Place) -> bool {
        let (name, key) = (place.name(), place.to_string());
        if !self.truth.is_there(&key) {
            return true;
        }
        if self.maps[place.namespace].delete(&name, &DeleteParams::default()).await.is_err() {
            return self.refused();
        }
        // Nobody else writes.
        let version = self.server.version();
        self.history.note(format_args!("  deleted {key}@{version}"));
        self.history.count("written: deleted");
        self.truth.delete(&key, version);
        true
    }

    /// Writes something that no follower of config maps is told of.
    pub(crate) async fn touch_another_kind(&self) {
        let namespaces: Api<Namespace> = Api::all(self.server.client());
        let content =
            json!({ "metadata": { "annotations": { "touched": self.server.version().to_string() } } });
        let touched = namespaces.patch(NAMESPACES[0], &PatchParams::default(), &Patch::Merge(content)).await;
        touched.expect("nothing goes wrong");
    }

    fn refused(&self) -> bool {
        self.history.note(format_args!("  write refused"));
        self.history.count("written: refused");
        false
    }

    pub(crate) fn cut(&self) {
        self.history.count("struck: cut");
        self.server.cut_watches();
    }

    pub(crate) fn compact(&self) {
        self.history.count("struck: compaction");
        self.server.compact();
    }

    pub(crate) fn restart(&self) {
        self.history.count("struck: server restart");
        self.server.restart(Versions::Kept);
    }

    pub(crate) fn inject(&mut self, trouble: Trouble) {
        let fault = match trouble {
            Trouble::Tear { asked, bytes, abruptly } => {
                let tear = Tear { asked, bytes, abruptly };
                self.tears.lock().unwrap_or_else(PoisonError::into_inner).push(tear);
                return;
            }
            Trouble::Answer { asked, code, retry_after, times } => {
                let fault = Fault::answer(code).on(verb(asked)).times(times);
                match retry_after {
                    Some(seconds) => fault.retry_after(std::time::Duration::from_secs(seconds)),
                    None => fault,
                }
            }
            Trouble::Stall { asked, time } => Fault::stall(time).on(verb(asked)).times(1),
            Trouble::CutAfterEvents { events, abruptly } => {
                abrupt(Fault::cut_after_events(events), abruptly).times(1)
            }
            Trouble::CutAfter { time, abruptly } => abrupt(Fault::cut_after(time), abruptly).times(1),
            Trouble::Pieces { size } => Fault::pieces(size).times(2),
            Trouble::DropBookmarks => Fault::drop_bookmarks().times(1),
            Trouble::DelayBookmarks { time } => Fault::delay_bookmarks(time).times(1),
            Trouble::DropInitialEventsEnd => Fault::drop_initial_events_end().times(1),
            Trouble::DelayInitialEventsEnd { time } => Fault::delay_initial_events_end(time).times(1),
            Trouble::RefuseStreams { times } => Fault::refuse_streaming_lists().times(times),
            Trouble::ExpireContinue => Fault::expire_continue().times(1),
            Trouble::RefuseConnections { time } => Fault::refuse_connections(time),
        };
        let injected = self.server.faults().inject(fault.of("configmaps"));
        self.injected.push((trouble.kind(), injected));
    }

    /// Nothing goes wrong any more.
    pub(crate) fn calm(&mut self) {
        self.server.faults().clear();
        self.tears.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Counts how often what was injected has struck, also after it was withdrawn.
    pub(crate) fn tell_strikes(&mut self) {
        for (kind, injected) in self.injected.drain(..) {
            self.history.add(&format!("struck: {kind}"), injected.hits());
        }
    }

    /// What the server says that it has.
    pub(crate) async fn listed(&self) -> BTreeMap<String, u64> {
        let mut all = BTreeMap::new();
        for maps in &self.maps {
            let list = maps.list(&ListParams::default()).await.expect("nothing goes wrong");
            let seen = list.items.iter().map(Seen::of);
            all.extend(seen.map(|seen| (seen.key, seen.version)));
        }
        all
    }
}

impl Seen {
    fn into_state(self) -> State {
        let Self { version, uid, value, is_front, .. } = self;
        State { version, uid, value, is_front }
    }
}

fn verb(asked: Asked) -> Verb {
    match asked {
        Asked::List => Verb::List,
        Asked::Watch => Verb::Watch,
    }
}

fn abrupt(fault: Fault, abruptly: bool) -> Fault {
    if abruptly { fault.abruptly() } else { fault }
}

/// What a future says that has nothing to wait for.
fn ready<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match future.as_mut().poll(&mut context) {
        std::task::Poll::Ready(value) => value,
        std::task::Poll::Pending => unreachable!("it has nothing to wait for"),
    }
}
