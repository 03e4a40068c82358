//! The tasks and the shared state of an informer.

use super::{
    cache_sink::{CacheSink, OutdatedKeys, SourceCoverage},
    cache_state::CacheState,
    leased_shards::LeasedShards,
    metrics_name::MetricsName,
    namespace_error::NamespaceError,
    restore::RestoredCache,
    save::{ClusterCheck, Saver},
    source_spec::{NewSource, ServedResource, SourceSpec},
    status::{
        InformerPhase, InformerStatus, RestoredState, SaveStatus, SourceStatus, SubscriberStatus, Times, sum,
    },
    sync::SyncState,
    sync_error::SyncError,
};
use crate::{
    cache::{Entry, Scope, Store},
    ingest::Ingest,
    parallel::run_blocking,
    reflector::{Config, Reflector, ReflectorStatus, Report},
    source::{ListerWatcher, ShardSet, Sharded},
    subscription::{Broadcaster, Registration},
};
use futures_util::FutureExt;
use kube_core::Resource;
use kube_informer_wire::ShardRange;
use std::{
    collections::BTreeMap,
    panic::AssertUnwindSafe,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::{runtime::Handle, sync::watch, time::Instant};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// The state that the handles and the tasks of an informer share.
pub(super) struct Inner<K> {
    pub(super) store: Store<K>,
    pub(super) broadcaster: Arc<Broadcaster<K>>,
    pub(super) sync: Arc<SyncState>,
    pub(super) name: String,
    metrics_name: MetricsName,
    pub(super) resource: String,
    /// `None` for a custom source.
    pub(super) served: Option<ServedResource>,
    pub(super) tasks: TaskTracker,
    pub(super) times: watch::Sender<Times>,
    /// `None` if the informer does not follow leases.
    pub(super) leased: Option<LeasedShards>,
    pub(super) cancel: CancellationToken,
    sources: Mutex<Sources<K>>,
    new_source: NewSource<K>,
    ingest: Ingest<K>,
    config: Config,
    on_error: Option<Arc<OnError>>,
    /// `None` if the cache is not saved.
    saved: Option<RestoredCache<K>>,
}

/// The sources of an informer, which can change while it runs.
struct Sources<K> {
    /// By number. Numbers are not used again.
    handles: BTreeMap<usize, SourceHandle>,
    next_number: usize,
    /// `None` for all namespaces.
    namespaces: Option<Vec<String>>,
    /// The held shards of an informer that follows leases.
    shards: Vec<HeldShard>,
    /// Reflectors that run when the informer is started.
    idle: Vec<IdleReflector<K>>,
}

struct IdleReflector<K> {
    number: usize,
    reflector: CacheReflector<K>,
    cancel: CancellationToken,
}

/// A shard that this process holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HeldShard {
    pub(super) index: u32,
    /// Differs for each acquisition.
    pub(super) term: u64,
    pub(super) range: ShardRange,
}

type CacheReflector<K> = Reflector<K, Arc<dyn ListerWatcher<K>>, CacheSink<K>>;

/// A source of a running informer.
struct SourceHandle {
    coverage: Arc<SourceCoverage>,
    /// The shards of the coverage.
    shards: Vec<HeldShard>,
    status: watch::Receiver<ReflectorStatus>,
    is_restored: bool,
    cancel: CancellationToken,
}

/// Called for every failure.
pub(super) type OnError = dyn Fn(&Report<'_>) + Send + Sync;

/// The parts of a new informer.
pub(super) struct InformerSpec<K> {
    pub(super) name: String,
    pub(super) metrics_name: MetricsName,
    pub(super) resource: String,
    pub(super) served: Option<ServedResource>,
    pub(super) store: Store<K>,
    pub(super) broadcaster: Broadcaster<K>,
    pub(super) sync: SyncState,
    pub(super) sources: Vec<SourceSpec<K>>,
    pub(super) new_source: NewSource<K>,
    pub(super) leased: Option<LeasedShards>,
    pub(super) ingest: Ingest<K>,
    pub(super) config: Config,
    pub(super) on_error: Option<Arc<OnError>>,
    /// `None` if the cache is not saved.
    pub(super) saved: Option<RestoredCache<K>>,
}

/// Calls the error handler, or logs the failure if there is none.
fn report(on_error: Option<&OnError>, report: &Report<'_>) {
    let Some(on_error) = on_error else { return report.log() };
    if std::panic::catch_unwind(AssertUnwindSafe(|| on_error(report))).is_err() {
        tracing::error!(reflector = report.name, "error handler panicked");
    }
}

impl<K: Resource + Send + Sync + 'static> Inner<K> {
    pub(super) fn new(spec: InformerSpec<K>) -> Self {
        let namespaces = spec.served.as_ref().and_then(|served| served.namespaces.clone());
        let is_readable = spec.sync.cache_state() >= CacheState::Readable;
        let times = Times { readable: is_readable.then(Instant::now), ..Times::default() };
        let inner = Self {
            store: spec.store,
            broadcaster: Arc::new(spec.broadcaster),
            sync: Arc::new(spec.sync),
            name: spec.name,
            metrics_name: spec.metrics_name,
            resource: spec.resource,
            served: spec.served,
            tasks: TaskTracker::new(),
            times: watch::Sender::new(times),
            leased: spec.leased,
            cancel: CancellationToken::new(),
            sources: Mutex::new(Sources {
                handles: BTreeMap::new(),
                next_number: spec.sources.len(),
                namespaces,
                shards: Vec::new(),
                idle: Vec::new(),
            }),
            new_source: spec.new_source,
            ingest: spec.ingest,
            config: spec.config,
            on_error: spec.on_error,
            saved: spec.saved,
        };
        let mut sources = inner.sources();
        for (number, source) in spec.sources.into_iter().enumerate() {
            let idle = inner.add_source(&mut sources, number, source);
            sources.idle.push(idle);
        }
        drop(sources);
        inner
    }

    fn sources(&self) -> MutexGuard<'_, Sources<K>> {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the handle of a source, and returns its reflector.
    fn add_source(&self, sources: &mut Sources<K>, number: usize, source: SourceSpec<K>) -> IdleReflector<K> {
        let cancel = self.cancel.child_token();
        let coverage =
            Arc::new(SourceCoverage { namespace: source.namespace.clone(), shards: source.shards.clone() });
        let is_restored = source.restored.is_some();
        let reflector = self.reflector(number, source, Arc::clone(&coverage), cancel.clone());
        let sync = Arc::clone(&self.sync);
        let on_error = self.on_error.clone();
        let reflector = reflector.on_error(move |failure| {
            sync.failed(number, failure);
            report(on_error.as_deref(), failure);
        });
        let status = reflector.status();
        let shards = Vec::new();
        sources
            .handles
            .insert(number, SourceHandle { coverage, shards, status, is_restored, cancel: cancel.clone() });
        IdleReflector { number, reflector, cancel }
    }

    fn reflector(
        &self,
        number: usize,
        source: SourceSpec<K>,
        coverage: Arc<SourceCoverage>,
        cancel: CancellationToken,
    ) -> CacheReflector<K> {
        let name_of_source = |informer: &str| match &source.namespace {
            Some(namespace) => format!("{informer}@{namespace}"),
            None => informer.to_owned(),
        };
        let name = name_of_source(&self.name);
        let metrics_name = name_of_source(self.metrics_name.as_str());
        let sink = CacheSink {
            source: number,
            coverage,
            cancel,
            ingest: self.ingest.clone(),
            broadcaster: Arc::clone(&self.broadcaster),
            sync: Arc::clone(&self.sync),
            times: self.times.clone(),
            has_listed: source.restored.is_some(),
            version: source.restored.clone(),
            outdated: OutdatedKeys::default(),
            saver: self.saver(number).cloned(),
        };
        let reflector = Reflector::with_config(source.source, sink, self.config.clone())
            .named(name)
            .metrics_name(metrics_name);
        match source.restored {
            None => reflector,
            Some(version) if source.has_gaps => reflector.list_from(version),
            Some(version) => reflector.resume_from(version),
        }
    }

    /// Starts the tasks. Returns `false` if they were started before, or the informer is stopped.
    pub(super) fn start(self: &Arc<Self>) -> bool {
        // This panics outside of a runtime, so it is called before the reflectors are taken.
        let runtime = Handle::current();
        let mut sources = self.sources();
        if self.times.borrow().started.is_some() || self.broadcaster.is_closed() {
            return false;
        }
        self.times.send_modify(|times| times.started = Some(Instant::now()));
        let idle = std::mem::take(&mut sources.idle);
        drop(sources);
        if self.sync.started() {
            self.broadcaster.mark_synced();
            self.times.send_modify(|times| {
                times.synced = times.started;
                times.readable = times.started;
            });
            self.sync.notify();
        }
        for idle in idle {
            self.spawn(idle, &runtime);
        }
        self.tasks.spawn_on(Arc::clone(&self.broadcaster).run_resyncs(self.cancel.clone()), &runtime);
        true
    }

    fn spawn(self: &Arc<Self>, idle: IdleReflector<K>, runtime: &Handle) {
        let IdleReflector { number, reflector, cancel } = idle;
        let inner = Arc::clone(self);
        let task = async move {
            let Some(reflector) = inner.check_cluster(number, reflector).await else {
                return inner.finish(number).await;
            };
            let result = AssertUnwindSafe(reflector.run(cancel)).catch_unwind().await;
            inner.finish(number).await;
            if result.is_err() {
                inner.fail("a reflector panicked");
            }
        };
        self.tasks.spawn_on(task, runtime);
    }

    /// Returns the watches of the status of all sources, by number.
    pub(super) fn source_statuses(&self) -> BTreeMap<usize, watch::Receiver<ReflectorStatus>> {
        let status = |(number, handle): (&usize, &SourceHandle)| (*number, handle.status.clone());
        self.sources().handles.iter().map(status).collect()
    }

    pub(super) fn status(&self) -> InformerStatus {
        let source = |(number, source): (&usize, &SourceHandle)| SourceStatus {
            namespace: source.coverage.namespace.clone(),
            status: source.status.borrow().clone(),
            is_restored: source.is_restored,
            cache: self.sync.cache_state_of(*number),
        };
        let sources: Vec<_> = self.sources().handles.iter().map(source).collect();
        let times = *self.times.borrow();
        let phase = match times.started {
            _ if self.broadcaster.is_closed() => InformerPhase::Stopped,
            None => InformerPhase::Idle,
            Some(_) if self.sync.is_complete() => InformerPhase::Synced,
            Some(_) => InformerPhase::Syncing,
        };
        let subscribers =
            Registration::all(&self.broadcaster).into_iter().map(|subscriber| SubscriberStatus {
                name: subscriber.name().to_owned(),
                depth: subscriber.depth(),
                has_synced: subscriber.has_synced(),
                panics: subscriber.panics(),
            });
        let snapshot = self.store.snapshot();
        InformerStatus {
            phase,
            cache: self.sync.cache_state(),
            objects: snapshot.len(),
            version: snapshot.version().cloned(),
            last_error: sources
                .iter()
                .find_map(|source| source.status.last_error.clone())
                .or_else(|| self.cluster_error()),
            counts: sum(&sources),
            times,
            subscribers: subscribers.collect(),
            restored: self.restored(),
            saving: self.saving(),
            sources,
        }
    }
}

/// Sources that are added and removed while the informer runs.
impl<K: Resource + Send + Sync + 'static> Inner<K> {
    /// Returns the namespaces; `None` for all.
    pub(super) fn namespaces(&self) -> Option<Vec<String>> {
        self.sources().namespaces.clone()
    }

    pub(super) fn add_namespace(self: &Arc<Self>, namespace: &str) -> Result<(), NamespaceError> {
        let mut sources = self.sources();
        let namespaces = self.check_namespaces(&mut sources)?;
        if namespaces.iter().any(|known| known == namespace) {
            return Ok(());
        }
        if self.times.borrow().started.is_some() && Handle::try_current().is_err() {
            return Err(NamespaceError::NoRuntime);
        }
        namespaces.push(namespace.to_owned());
        let shards = sources.shards.clone();
        if self.leased.is_none() || !shards.is_empty() {
            self.start_source(&mut sources, Some(namespace), shards);
        }
        Ok(())
    }

    pub(super) fn remove_namespace(&self, namespace: &str) -> Result<(), NamespaceError> {
        let mut sources = self.sources();
        self.check_namespaces(&mut sources)?.retain(|known| known != namespace);
        self.remove_sources(&mut sources, |handle| handle.coverage.namespace.as_deref() == Some(namespace));
        drop(sources);
        self.release(|entry| entry.key().namespace() == Some(namespace));
        Ok(())
    }

    fn check_namespaces<'s>(
        &self,
        sources: &'s mut Sources<K>,
    ) -> Result<&'s mut Vec<String>, NamespaceError> {
        if self.broadcaster.is_closed() {
            return Err(NamespaceError::Stopped { resource: self.resource.clone() });
        }
        if self.saved.is_some() {
            return Err(NamespaceError::Saved { resource: self.resource.clone() });
        }
        let all = || NamespaceError::AllNamespaces { resource: self.resource.clone() };
        sources.namespaces.as_mut().ok_or_else(all)
    }

    /// Lists and watches shards, and adds their objects to the cache. They become one source, so that shards which are gained together
    /// need one list and one watch.
    #[cfg(feature = "leases")]
    pub(super) fn add_shards(self: &Arc<Self>, shards: &[HeldShard]) {
        let mut sources = self.sources();
        if shards.is_empty() || self.broadcaster.is_closed() {
            return;
        }
        sources.shards.extend_from_slice(shards);
        match sources.namespaces.clone() {
            None => self.start_source(&mut sources, None, shards.to_vec()),
            Some(namespaces) => {
                for namespace in &namespaces {
                    self.start_source(&mut sources, Some(namespace), shards.to_vec());
                }
            }
        }
    }

    /// Removes the objects of shards for which `is_released` returns true from the cache.
    #[cfg(feature = "leases")]
    pub(super) fn release_shards(&self, is_released: impl Fn(&HeldShard) -> bool) {
        let mut sources = self.sources();
        sources.shards.retain(|shard| !is_released(shard));
        for handle in sources.handles.values_mut() {
            handle.shards.retain(|shard| !is_released(shard));
            if let Some(shards) = &handle.coverage.shards {
                shards.set_ranges(handle.shards.iter().map(|shard| shard.range).collect());
            }
        }
        self.remove_sources(&mut sources, |handle| handle.shards.is_empty());
        let kept: Vec<_> = sources.handles.values().map(|handle| Arc::clone(&handle.coverage)).collect();
        drop(sources);
        self.release(|entry| !kept.iter().any(|coverage| coverage.contains(entry)));
    }

    /// Returns true if the objects of a shard are in the cache.
    #[cfg(feature = "leases")]
    pub(super) fn has_synced_shard(&self, index: u32, term: u64) -> bool {
        let is_shard = |shard: &HeldShard| shard.index == index && shard.term == term;
        let sources = self.sources();
        let covers = |handle: &SourceHandle| handle.shards.iter().any(is_shard);
        sources.shards.iter().any(is_shard)
            && sources
                .handles
                .iter()
                .filter(|(_, handle)| covers(handle))
                .all(|(number, _)| self.sync.has_listed(*number))
    }

    fn start_source(
        self: &Arc<Self>,
        sources: &mut Sources<K>,
        namespace: Option<&str>,
        shards: Vec<HeldShard>,
    ) {
        let number = sources.next_number;
        sources.next_number += 1;
        let mut spec = SourceSpec::new(namespace.map(str::to_owned), (self.new_source)(namespace));
        if let Some(leased) = &self.leased {
            let ranges = shards.iter().map(|shard| shard.range).collect();
            let set = Arc::new(ShardSet::new(leased.field(), ranges));
            spec.source = Arc::new(Sharded::following(spec.source, Arc::clone(&set)));
            spec.shards = Some(set);
        }
        self.sync.add(number, spec.namespace.clone());
        let idle = self.add_source(sources, number, spec);
        if let Some(handle) = sources.handles.get_mut(&number) {
            handle.shards = shards;
        }
        match Handle::try_current() {
            Ok(runtime) if self.times.borrow().started.is_some() => self.spawn(idle, &runtime),
            Ok(_) | Err(_) => sources.idle.push(idle),
        }
        self.times.send_modify(|_| {});
        self.sync.notify();
    }

    fn remove_sources(&self, sources: &mut Sources<K>, is_removed: impl Fn(&SourceHandle) -> bool) {
        let removed: Vec<_> = sources
            .handles
            .iter()
            .filter(|(_, handle)| is_removed(handle))
            .map(|(number, _)| *number)
            .collect();
        for number in removed {
            if let Some(handle) = sources.handles.remove(&number) {
                handle.cancel.cancel();
            }
            sources.idle.retain(|idle| idle.number != number);
            self.sync.remove(number);
        }
    }

    /// Removes objects from the cache that no source covers any more.
    fn release(&self, is_released: impl Fn(&Entry<K>) -> bool) {
        self.broadcaster.publish(Instant::now(), |writer, events| {
            let mut edit = writer.edit();
            edit.release(Scope::Matching(&is_released), events);
            if let Some(version) = self.sync.version() {
                edit.set_version(version);
            }
        });
        // The sources that remain may have synced before.
        let is_complete = self.sync.started();
        if is_complete {
            self.broadcaster.mark_synced();
        }
        let now = Instant::now();
        self.times.send_modify(|times| times.synced = times.synced.or(is_complete.then_some(now)));
        self.sync.notify();
    }
}

/// Saving.
impl<K: Resource + Send + Sync + 'static> Inner<K> {
    fn saver(&self, source: usize) -> Option<&Arc<Saver<K>>> {
        self.saved.as_ref()?.savers.get(source)
    }

    /// Checks that the restored state of a source is of the cluster that it watches.
    async fn check_cluster(&self, source: usize, reflector: CacheReflector<K>) -> Option<CacheReflector<K>> {
        let Some(saved) = &self.saved else { return Some(reflector) };
        let check = async {
            let mut check = pin!(saved.savers.check_cluster(source));
            loop {
                tokio::select! {
                    biased;
                    checked = &mut check => return checked,
                    // Nothing is listed until the cluster is known, so that the status has to show the reason.
                    () = saved.savers.cluster_failed(source) => self.times.send_modify(|_| {}),
                }
            }
        };
        match self.cancel.run_until_cancelled(check).await? {
            ClusterCheck::Same => Some(reflector),
            ClusterCheck::StartOver => Some(reflector.start_over()),
            ClusterCheck::Other { saved, found } => {
                self.sync.failed_for_good(|resource| SyncError::OtherCluster { resource, saved, found });
                self.fail("the saved state is of another cluster");
                None
            }
        }
    }

    fn cluster_error(&self) -> Option<String> {
        self.saved.as_ref()?.savers.cluster_error()
    }

    /// Saves the remaining changes of a source after its reflector has ended.
    async fn finish(&self, source: usize) {
        let Some(saver) = self.saver(source).cloned() else { return };
        let snapshot = self.broadcaster.snapshot();
        let handled = self.broadcaster.handled_position();
        // If the runtime shuts down first, the remaining changes are saved when the last handle is dropped.
        run_blocking(move || saver.close(snapshot, handled)).await;
    }

    fn restored(&self) -> Option<RestoredState> {
        let restored = self.saved.as_ref()?.restored?;
        Some(RestoredState { is_confirmed: self.sync.is_complete(), ..restored })
    }

    fn saving(&self) -> Option<SaveStatus> {
        self.saved.as_ref()?.savers.status()
    }
}

impl<K> Inner<K> {
    fn fail(&self, reason: &str) {
        tracing::error!(informer = self.name, reason, "informer failed and was stopped");
        self.stop();
    }

    /// Stops all tasks, and ends all subscriptions.
    pub(super) fn stop(&self) {
        self.cancel.cancel();
        self.broadcaster.close();
        self.sources.lock().unwrap_or_else(PoisonError::into_inner).idle.clear();
        self.tasks.close();
        self.times.send_modify(|_| {});
        self.sync.notify();
    }
}
