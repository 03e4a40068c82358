//! One informer with its subscribers, from its start to its end.

use crate::{
    action::{Consumption, Ending, NAMESPACES, SubscriberProfile},
    folder::Folder,
    history::{History, Rule},
    informer_start::{InformerStart, RestoredState, TIER},
    persisted_state::PersistedState,
    planted_bug::PlantedBug,
    server::Server,
    subscriber::{JoinContext, Moment, Resyncs, Subscriber},
    subscriber_check::{Change, ObservedObject},
    transport::Transport,
    write_log::{Scope, Versions, WriteLog, namespace},
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{
    Informer,
    cache::{Snapshot, Store},
    informer::InformerStatus,
    reflector::ReflectorPhase,
    subscription::{Policy, Replay},
};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

/// A running informer, and the observations so far.
#[derive(Debug)]
pub(crate) struct InformerRun {
    pub(crate) informer: Informer<ConfigMap>,
    pub(crate) scope: Scope,
    transport: Transport,
    /// The first one joins before the start, and receives every event.
    subscribers: Vec<Subscriber>,
    joined: usize,
    history: History,
    /// The maximum number of events that are published at once.
    batch: u64,
    /// The default resync period in seconds.
    resync: u64,
    resyncs: Resyncs,
    list_periods: ListPeriods,
    /// The version of the server when the informer was first observed to have synced.
    pub(crate) synced_at: Option<u64>,
    last: Option<Arc<Snapshot<ConfigMap>>>,
    newest: BTreeMap<String, u64>,
    /// The restored state, if there is one.
    pub(crate) restored_state: Option<RestoredState>,
    persisted: PersistedState,
    /// Whether a subscriber of differences was removed, after which saving ends.
    pub(crate) has_lost_differences: bool,
    /// The last upgrade of the server.
    upgrade: Option<Upgrade>,
    planted: Option<PlantedBug>,
}

/// An upgrade of the server.
#[derive(Debug)]
struct Upgrade {
    generation: u8,
    /// The number of lists of each source before it.
    lists: Vec<u64>,
}

/// Periods without a list.
#[derive(Debug, Default)]
struct ListPeriods {
    /// Increased by each observation that does not exclude a list since the previous one.
    number: u64,
    /// The counts of lists at the last observation.
    lists: u64,
    is_listing: bool,
}

impl ListPeriods {
    fn observe(&mut self, status: &InformerStatus) {
        let counts = status.counts;
        let lists = counts.lists + counts.streams + counts.replaces;
        let is_listing = status.sources.iter().any(|source| source.status.phase != ReflectorPhase::Watching);
        // A list that was complete at the last observation may have been delivered since.
        if self.is_listing || is_listing || lists != self.lists {
            self.number += 1;
        }
        (self.lists, self.is_listing) = (lists, is_listing);
    }
}

/// The maximum number of events of a watch that are published at once.
const MAX_BATCH: u64 = 64;

/// The files and states of earlier informers.
#[derive(Debug)]
pub(crate) struct EarlierRuns<'p> {
    pub(crate) folder: Option<&'p mut Folder>,
    pub(crate) persisted: &'p PersistedState,
    /// The last state of the previous informer; `None` if it was killed.
    pub(crate) last: Option<FinalState>,
}

/// The last state of a cache.
#[derive(Debug)]
pub(crate) struct FinalState {
    version: Option<u64>,
    versions: Versions,
}

impl FinalState {
    fn of(store: &Store<ConfigMap>) -> Self {
        let snapshot = store.snapshot();
        let observed = snapshot.list();
        let versions = observed
            .iter()
            .map(|map| ObservedObject::of(map))
            .map(|observed| (observed.key, observed.version))
            .collect();
        Self { version: number(&snapshot), versions }
    }

    fn equals(&self, restored_state: &RestoredState) -> bool {
        let restored = restored_state.observed.iter().map(|observed| (&observed.key, &observed.version));
        self.version == restored_state.version
            && self.versions.iter().eq(restored.collect::<BTreeMap<_, _>>())
    }
}

/// Returns the version of a snapshot.
fn number(snapshot: &Snapshot<ConfigMap>) -> Option<u64> {
    snapshot.version().and_then(|version| version.to_string().parse().ok())
}

impl InformerRun {
    /// Starts an informer with the saved cache, if there is one.
    pub(crate) fn start(informer_start: InformerStart<'_>, server: &Server, past: EarlierRuns<'_>) -> Self {
        let InformerStart { setup, history, .. } = informer_start;
        let transport = Transport::new(history.clone(), Arc::clone(&server.connections));
        let (informer, restored_state) = informer_start.informer(&transport, &server.client(), past.folder);
        let replay = setup.saving.map_or(Replay::All, |saving| saving.replay);
        let is_last = |restored_state: &RestoredState| {
            past.last.as_ref().is_some_and(|last| last.equals(restored_state))
        };
        match &restored_state {
            Some(restored_state) if is_last(restored_state) => history.count("restarts: complete"),
            Some(_) => past.persisted.older_cache_restored(),
            None => {}
        }
        if restored_state.is_none() || replay == Replay::All {
            // It receives all objects.
            past.persisted.clear();
        }
        let restored = restored_state.as_ref().map(|restored_state| &*restored_state.observed);
        let context = JoinContext {
            informer: &informer,
            history,
            restored,
            persisted: Some(past.persisted.clone()),
            planted: setup.planted,
        };
        let first =
            Subscriber::join(context, SubscriberProfile { replay, ..SubscriberProfile::UNBOUNDED }, 0)
                .expect("the informer is not stopped");
        let keys = (setup.objects + 1) * NAMESPACES.len() as u64;
        let scope = setup.scope();
        let sources = scope.sources().len() as u64;
        let mut informer_run = Self {
            informer,
            scope,
            transport,
            subscribers: vec![first],
            joined: 0,
            history: history.clone(),
            batch: MAX_BATCH * sources + 4 * keys,
            resync: setup.resync,
            resyncs: if setup.resync > 0 { Resyncs::Some } else { Resyncs::Never },
            list_periods: ListPeriods::default(),
            synced_at: None,
            last: None,
            newest: BTreeMap::new(),
            restored_state,
            persisted: past.persisted.clone(),
            has_lost_differences: false,
            upgrade: None,
            planted: setup.planted,
        };
        informer_run.check(server);
        informer_run.informer.start();
        informer_run
    }

    pub(crate) fn join(&mut self, profile: SubscriberProfile) {
        self.joined += 1;
        if profile.resync.unwrap_or(self.resync) > 0 {
            self.resyncs = Resyncs::Some;
        }
        self.history.count(&format!("joined: {}", kind(profile)));
        let restored_state = self.restored_state.as_ref().filter(|_| !self.informer.has_synced());
        let restored = restored_state.map(|restored_state| &*restored_state.observed);
        if restored.is_some() && profile.replay == Replay::Differences {
            self.history.count("joined: late, for differences");
        }
        let context = JoinContext {
            informer: &self.informer,
            history: &self.history,
            restored,
            persisted: None,
            planted: self.planted,
        };
        match Subscriber::join(context, profile, self.joined) {
            Some(subscriber) => self.subscribers.push(subscriber),
            None => {
                self.history.violate(Rule::Progress, "a running informer rejects a subscriber".to_owned())
            }
        }
    }

    /// Removes a subscriber, except the first one.
    pub(crate) async fn leave(&mut self, number: usize) {
        if number + 1 < self.subscribers.len() {
            self.history.count("removed");
            let subscriber = self.subscribers.remove(number + 1);
            self.has_lost_differences |= subscriber.profile.replay == Replay::Differences;
            subscriber.leave().await;
        }
    }

    pub(crate) async fn read(&mut self, number: usize, events: usize) {
        if let Some(subscriber) = self.subscribers.get_mut(number + 1) {
            subscriber.read(events).await;
        }
    }

    /// Reads all pending events of all subscribers, and returns their number.
    pub(crate) async fn read_all(&mut self) -> usize {
        let mut count = 0;
        for subscriber in &mut self.subscribers {
            count += subscriber.read(usize::MAX).await;
            subscriber.check().process_delayed();
        }
        count
    }

    pub(crate) async fn catch_up(&mut self) {
        for subscriber in &mut self.subscribers {
            subscriber.catch_up().await;
        }
    }

    /// Checks the rules that hold at any time.
    pub(crate) fn check(&mut self, server: &Server) {
        if self.informer.is_stopped() {
            self.history.violate(Rule::Progress, "the informer stopped".to_owned());
        }
        if self.synced_at.is_none() && self.informer.has_synced() {
            self.synced_at = Some(server.version());
        }
        let status = self.informer.status();
        if status.counts.replaces > 0 {
            self.persisted.listed();
        }
        self.list_periods.observe(&status);
        for subscriber in &self.subscribers {
            subscriber.check().verify(&server.write_log);
            subscriber.check_bounds(self.batch, &self.history);
        }
        self.check_order();
        self.check_snapshot(&server.write_log);
    }

    fn check_snapshot(&mut self, write_log: &WriteLog) {
        let snapshot = self.informer.snapshot();
        if self.last.as_ref().is_some_and(|last| Arc::ptr_eq(last, &snapshot)) {
            return;
        }
        if let Some(last) = &self.last
            && number(last) > number(&snapshot)
        {
            self.history.violate(
                Rule::VersionsNeverDecrease,
                format!("the cache had version {:?}, and has {:?}", last.version(), snapshot.version()),
            );
        }
        let mut fronts = Vec::new();
        for object in snapshot.list() {
            let observed = ObservedObject::of(&object);
            let newest = self.newest.entry(observed.key.clone()).or_default();
            if observed.version < *newest {
                self.history.violate(
                    Rule::VersionsNeverDecrease,
                    format!("{} had version {newest}, and has {}", observed.key, observed.version),
                );
            }
            *newest = observed.version;
            if !observed.existed(write_log) {
                self.history.violate(Rule::ObjectsExisted, format!("{observed:?} is cached"));
            }
            if observed.is_front {
                fronts.push(observed.key);
            }
        }
        let mut indexed: Vec<_> = snapshot
            .by_index(TIER, "front")
            .unwrap_or_default()
            .iter()
            .map(|map| ObservedObject::of(map).key)
            .collect();
        fronts.sort_unstable();
        indexed.sort_unstable();
        if fronts != indexed {
            self.history.violate(
                Rule::IndexesMatch,
                format!("the index has {indexed:?} for front, expected {fronts:?}"),
            );
        }
        self.last = Some(snapshot);
    }

    /// Returns the time since the last request.
    pub(crate) fn since_last_request(&self) -> Duration {
        self.transport.since_last_request()
    }

    /// Returns the number of full lists that were requested.
    pub(crate) fn full_list_requests(&self) -> u64 {
        let counts = self.informer.status().counts;
        counts.lists + counts.streams
    }

    /// Returns the versions of the cached objects.
    pub(crate) fn versions(&self) -> Versions {
        let observed = self.informer.list();
        observed
            .iter()
            .map(|map| ObservedObject::of(map))
            .map(|observed| (observed.key, observed.version))
            .collect()
    }

    /// Returns whether the cache has reached the version, and subscribers have received all events.
    pub(crate) fn is_settled(&self, version: u64, write_log: &WriteLog) -> bool {
        let reached = self.informer.version().and_then(|version| version.to_string().parse::<u64>().ok());
        reached.is_some_and(|reached| reached >= version)
            && self
                .subscribers
                .iter()
                .all(|subscriber| subscriber.has_received(&self.expected(subscriber, write_log)))
    }

    fn expected(&self, subscriber: &Subscriber, write_log: &WriteLog) -> Versions {
        write_log.versions(|key, state| self.scope.matches(key, state) && subscriber.sees(key, state))
    }

    /// Returns the reason why the informer is not settled.
    pub(crate) fn unsettled_reason(&self, version: u64, write_log: &WriteLog) -> (Rule, String) {
        let status = self.informer.status();
        let at = self.informer.version();
        if at.as_ref().is_none_or(|at| at.to_string().parse::<u64>().is_ok_and(|at| at < version)) {
            let sources: Vec<_> = status
                .sources
                .iter()
                .map(|source| (&source.namespace, &source.status.phase, &source.status.last_error))
                .collect();
            return (
                Rule::Progress,
                format!("the cache has version {at:?}, expected {version}: {sources:?}"),
            );
        }
        let slow = self
            .subscribers
            .iter()
            .find(|subscriber| !subscriber.has_received(&self.expected(subscriber, write_log)));
        let detail = slow.map(|subscriber| {
            format!(
                "{}; it received {:?}, expected {:?}",
                subscriber.describe(),
                subscriber.check().versions(),
                self.expected(subscriber, write_log)
            )
        });
        (Rule::EventsAddUp, detail.unwrap_or_default())
    }

    /// Compares the events of subscribers with each other and with the writes.
    pub(crate) fn compare(&mut self, write_log: &WriteLog) {
        let reference = self.subscribers[0].check().changes.clone();
        for subscriber in
            self.subscribers.iter().skip(1).filter(|subscriber| subscriber.receives_every_event())
        {
            let check = subscriber.check();
            let received = &check.changes;
            let same = reference
                .len()
                .checked_sub(received.len())
                .is_some_and(|skip| reference[skip..] == received[..]);
            if !same {
                self.history.violate(
                    Rule::SubscribersAgree,
                    format!("{} received {received:?}, the first one {reference:?}", subscriber.describe()),
                );
            }
        }
        self.compare_persisted(write_log);
        let replaces = self.informer.status().counts.replaces;
        let sources = self.scope.sources().len() as u64;
        let since = match &self.restored_state {
            None => self.synced_at.filter(|_| replaces == sources),
            // Writes while there was no informer are delivered as well.
            Some(restored_state) => restored_state.version.filter(|_| replaces == 0 && sources == 1),
        };
        if let (Some(since), false) = (since, self.scope.only_front) {
            self.history.count(if self.restored_state.is_some() {
                "compared: every write since it was saved"
            } else {
                "compared: every write"
            });
            self.compare_writes(since, &reference, write_log);
        }
    }

    /// Checks that the events of one watch were delivered in order, to each subscriber that has received all of them, unless there
    /// was a list since the last check.
    fn check_order(&mut self) {
        if self.scope.sources().len() > 1 || !self.subscribers[0].is_up_to_date() {
            return;
        }
        let published = self.subscribers[0].check().changes.len();
        for subscriber in self.subscribers.iter_mut().filter(|subscriber| subscriber.is_up_to_date()) {
            let moment = Moment { period: self.list_periods.number, published };
            let Some(checked) = subscriber.check_order(moment, self.resyncs) else { continue };
            self.history.count("compared: order");
            if let Err(detail) = checked {
                self.history.violate(Rule::WatchOrder, detail);
            }
        }
    }

    /// Checks the state that the first subscriber persists over several informers.
    fn compare_persisted(&self, write_log: &WriteLog) {
        let expected = write_log.versions(|key, state| self.scope.matches(key, state));
        let persisted = self.persisted.settled(&expected);
        if persisted != expected {
            let detail = format!("persisted {persisted:?}, expected {expected:?}");
            self.history.violate(Rule::PersistedEqualsServer, detail);
        }
    }

    fn compare_writes(&self, since: u64, received: &[Change], write_log: &WriteLog) {
        let mut by_key: BTreeMap<&str, [Vec<(u64, bool)>; 2]> = BTreeMap::new();
        for write in
            write_log.writes.iter().filter(|write| write.version > since && self.scope.has(&write.key))
        {
            by_key.entry(&write.key).or_default()[0].push((write.version, write.state.is_none()));
        }
        for change in received.iter().filter(|change| change.version > since) {
            by_key.entry(&change.key).or_default()[1].push((change.version, change.is_deleted));
        }
        for (key, [written, received]) in by_key {
            if written != received {
                self.history.violate(
                    Rule::EveryWriteDelivered,
                    format!("{key}: written {written:?}, received {received:?}"),
                );
            }
        }
    }

    /// Records an upgrade of the server.
    pub(crate) fn upgraded(&mut self, generation: u8) {
        self.upgrade = Some(Upgrade { generation, lists: self.lists_by_source() });
    }

    fn lists_by_source(&self) -> Vec<u64> {
        let status = self.informer.status();
        let counts = status.sources.iter().map(|source| source.status.counts);
        counts.map(|counts| counts.lists + counts.streams).collect()
    }

    /// Checks that sources that were listed since the last upgrade have the content that the server serves.
    pub(crate) fn check_content(&self) {
        let Some(Upgrade { generation, lists }) = &self.upgrade else { return };
        let expected = char::from_digit(u32::from(*generation), 10);
        let status = self.informer.status();
        let now = self.lists_by_source();
        for (source, _) in
            status.sources.iter().zip(now.iter().zip(lists)).filter(|(_, (now, then))| now > then)
        {
            self.history.count("compared: content after an upgrade");
            let is_of_source =
                |key: &str| source.namespace.as_deref().is_none_or(|name| namespace(key) == name);
            for object in self.informer.list() {
                let observed = ObservedObject::of(&object);
                if is_of_source(&observed.key) && observed.generation != expected {
                    let detail = format!("{observed:?} is cached, and generation {expected:?} is served");
                    return self.history.violate(Rule::ContentIsCurrent, detail);
                }
            }
        }
    }

    /// Ends the informer, and returns the last state of the cache.
    pub(crate) async fn end(self, ending: Ending) -> FinalState {
        let Self { informer, transport, subscribers, history, restored_state, .. } = self;
        let counts = informer.status().counts;
        if restored_state.is_some() && informer.has_synced() {
            history.count(if counts.replaces == 0 { "restarts: resumed" } else { "restarts: relisted" });
        }
        for (what, count) in [
            ("lists", counts.lists),
            ("streams", counts.streams),
            ("watches", counts.watches),
            ("full lists", counts.replaces),
            ("streamed full lists", counts.streamed),
            ("changes", counts.events),
        ] {
            history.add(&format!("reflected: {what}"), count);
        }
        let store = informer.store().clone();
        match ending {
            Ending::Stopped => {
                informer.stop();
                informer.stopped().await;
                if informer.tasks() > 0 {
                    history.violate(
                        Rule::NothingAfterStop,
                        format!("{} tasks run after stop", informer.tasks()),
                    );
                }
                history.count("ended: stopped");
            }
            Ending::Dropped | Ending::Killed(_) => {
                drop(informer);
                // Running handlers finish.
                tokio::time::sleep(Duration::from_secs(2)).await;
                history.count(if ending == Ending::Dropped { "ended: dropped" } else { "ended: killed" });
            }
        }
        transport.close();
        subscribers.iter().for_each(|subscriber| subscriber.check().close());
        // Longer than any pending timer.
        tokio::time::sleep(Duration::from_secs(100)).await;
        FinalState::of(&store)
    }
}

fn kind(profile: SubscriberProfile) -> &'static str {
    match (profile.policy, profile.consumption) {
        (Policy::Unbounded, _) => "unbounded",
        (Policy::Block(_), Consumption::Read) => "blocking, reads on request",
        (Policy::Block(_), _) => "blocking",
        (Policy::Coalesce(_), Consumption::Read) => "coalescing, reads on request",
        (Policy::Coalesce(_), _) => "coalescing",
    }
}
