//! The tasks and the shared state of an informer.

use super::{
    cache_sink::{CacheSink, OutdatedKeys},
    cache_state::CacheState,
    metrics_name::MetricsName,
    restore::RestoredCache,
    save::{ClusterCheck, Saver},
    source_spec::{ServedResource, SourceSpec},
    status::{
        InformerPhase, InformerStatus, RestoredState, SaveStatus, SourceStatus, SubscriberStatus, Times, sum,
    },
    sync::SyncState,
    sync_error::SyncError,
};
use crate::{
    cache::Store,
    ingest::Ingest,
    parallel::run_blocking,
    reflector::{Config, Reflector, ReflectorStatus, Report},
    source::ListerWatcher,
    subscription::{Broadcaster, Registration},
};
use futures_util::FutureExt;
use kube_core::Resource;
use std::{
    panic::AssertUnwindSafe,
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
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
    pub(super) sources: Vec<SourceHandle>,
    /// `None` if the cache is not saved.
    saved: Option<RestoredCache<K>>,
    cancel: CancellationToken,
    /// Taken when the informer is started.
    reflectors: Mutex<Vec<CacheReflector<K>>>,
}

type CacheReflector<K> = Reflector<K, Arc<dyn ListerWatcher<K>>, CacheSink<K>>;

/// A source of a running informer.
pub(super) struct SourceHandle {
    /// `None` for all namespaces.
    namespace: Option<String>,
    pub(super) status: watch::Receiver<ReflectorStatus>,
    is_restored: bool,
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
        let is_readable = spec.sync.cache_state() >= CacheState::Readable;
        let times = Times { readable: is_readable.then(Instant::now), ..Times::default() };
        let mut inner = Self {
            store: spec.store,
            broadcaster: Arc::new(spec.broadcaster),
            sync: Arc::new(spec.sync),
            name: spec.name,
            metrics_name: spec.metrics_name,
            resource: spec.resource,
            served: spec.served,
            tasks: TaskTracker::new(),
            times: watch::Sender::new(times),
            sources: Vec::new(),
            saved: spec.saved,
            cancel: CancellationToken::new(),
            reflectors: Mutex::default(),
        };
        let mut reflectors = Vec::new();
        for (number, source) in spec.sources.into_iter().enumerate() {
            let namespace = source.namespace.clone();
            let is_restored = source.restored.is_some();
            let reflector = inner.reflector(number, source, &spec.ingest, spec.config.clone());
            let sync = Arc::clone(&inner.sync);
            let on_error = spec.on_error.clone();
            let reflector = reflector.on_error(move |failure| {
                sync.failed(number, failure);
                report(on_error.as_deref(), failure);
            });
            inner.sources.push(SourceHandle { namespace, status: reflector.status(), is_restored });
            reflectors.push(reflector);
        }
        inner.reflectors = Mutex::new(reflectors);
        inner
    }

    fn reflector(
        &self,
        number: usize,
        source: SourceSpec<K>,
        ingest: &Ingest<K>,
        config: Config,
    ) -> CacheReflector<K> {
        let name_of_source = |informer: &str| match &source.namespace {
            Some(namespace) => format!("{informer}@{namespace}"),
            None => informer.to_owned(),
        };
        let name = name_of_source(&self.name);
        let metrics_name = name_of_source(self.metrics_name.as_str());
        let sink = CacheSink {
            source: number,
            namespace: source.namespace,
            ingest: ingest.clone(),
            broadcaster: Arc::clone(&self.broadcaster),
            sync: Arc::clone(&self.sync),
            times: self.times.clone(),
            has_listed: source.restored.is_some(),
            version: source.restored.clone(),
            outdated: OutdatedKeys::default(),
            saver: self.saver(number).cloned(),
        };
        let reflector =
            Reflector::with_config(source.source, sink, config).named(name).metrics_name(metrics_name);
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
        let reflectors = std::mem::take(&mut *self.reflectors.lock().unwrap_or_else(PoisonError::into_inner));
        if reflectors.is_empty() || self.broadcaster.is_closed() {
            return false;
        }
        self.times.send_modify(|times| times.started = Some(Instant::now()));
        for (number, reflector) in reflectors.into_iter().enumerate() {
            let inner = Arc::clone(self);
            let task = async move {
                let Some(reflector) = inner.check_cluster(number, reflector).await else {
                    return inner.finish(number).await;
                };
                let result = AssertUnwindSafe(reflector.run(inner.cancel.clone())).catch_unwind().await;
                inner.finish(number).await;
                if result.is_err() {
                    inner.fail("a reflector panicked");
                }
            };
            self.tasks.spawn_on(task, &runtime);
        }
        self.tasks.spawn_on(Arc::clone(&self.broadcaster).run_resyncs(self.cancel.clone()), &runtime);
        true
    }

    pub(super) fn status(&self) -> InformerStatus {
        let source = |(number, source): (usize, &SourceHandle)| SourceStatus {
            namespace: source.namespace.clone(),
            status: source.status.borrow().clone(),
            is_restored: source.is_restored,
            cache: self.sync.cache_state_of(number),
        };
        let sources: Vec<_> = self.sources.iter().enumerate().map(source).collect();
        let cache = self.sync.cache_state();
        let times = *self.times.borrow();
        let phase = match times.started {
            _ if self.broadcaster.is_closed() => InformerPhase::Stopped,
            None => InformerPhase::Idle,
            Some(_) if cache == CacheState::Confirmed => InformerPhase::Synced,
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
            cache,
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
        self.reflectors.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.tasks.close();
        self.times.send_modify(|_| {});
        self.sync.notify();
    }
}
