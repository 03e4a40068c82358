//! The inside of an informer: what runs, and what its handles share.

#[cfg(feature = "saved")]
use super::save::{Folders, Moment, Saver, Verdict};
#[cfg(feature = "saved")]
use super::sync_error::SyncError;
use super::{
    status::{FollowerStatus, Phase, Restored, Saving, Source, Status, Times, sum},
    sync::Progress,
};
#[cfg(feature = "saved")]
use crate::parallel::run_blocking;
use crate::{
    cache::Store,
    cache::{Extent, apply_within},
    delta_fifo::{self, Batch, DeltaFifo, Entry},
    delta_fifo::{Controller, Process},
    reflector::{self, Activity, Cause, Outlook, Report},
    source::{BoxError, ListerWatcher},
    subscription::Hub,
};
use futures_util::FutureExt;
use kube_core::Resource;
use kube_informer_wire::{Key, KeyMap, ResourceVersion};
use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::{runtime::Handle, sync::watch, time::Instant};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// What the handles of an informer and its tasks share.
pub(super) struct Body<K> {
    pub(super) store: Store<K>,
    pub(super) hub: Arc<Hub<K>>,
    pub(super) progress: Arc<Progress>,
    pub(super) name: String,
    pub(super) resource: String,
    pub(super) tasks: TaskTracker,
    pub(super) milestones: watch::Sender<Times>,
    /// Where the objects come from, and where that stands.
    pub(super) sources: Vec<Origin>,
    /// What an earlier process had saved.
    restored: Option<Restored>,
    #[cfg(feature = "saved")]
    folders: Folders<K>,
    cancel: CancellationToken,
    /// What is to run; taken when it does.
    prepared: Mutex<Vec<Run<K>>>,
}

/// A namespace, or nothing for all; where its source stands; and whether it was restored.
type Origin = (Option<String>, watch::Receiver<reflector::Status>, bool);

type Run<K> = Controller<K, Arc<dyn ListerWatcher<K>>, Pump<K>>;

/// Hears of every failure.
pub(super) type OnError = dyn Fn(&Report<'_>) + Send + Sync;

/// What is to run.
pub(super) struct Plan<K> {
    pub(super) feeds: Vec<Feed<K>>,
    pub(super) fifo: delta_fifo::Builder<K>,
    pub(super) config: reflector::Config,
    pub(super) on_error: Option<Arc<OnError>>,
}

/// Tells the error handler of a failure, or the log where there is none.
fn tell(on_error: Option<&OnError>, report: &Report<'_>) {
    let Some(hear) = on_error else { return report.log() };
    if std::panic::catch_unwind(AssertUnwindSafe(|| hear(report))).is_err() {
        tracing::error!(reflector = report.name, "error handler panicked");
    }
}

/// A source, and the namespace it speaks of.
pub(super) struct Feed<K> {
    pub(super) namespace: Option<String>,
    pub(super) source: Arc<dyn ListerWatcher<K>>,
    /// The version of what was restored of it.
    pub(super) restored: Option<ResourceVersion>,
    /// Whether that is not all there was.
    pub(super) has_gaps: bool,
}

impl<K: Resource + Send + Sync + 'static> Body<K> {
    pub(super) fn new(
        store: Store<K>,
        hub: Hub<K>,
        progress: Progress,
        (name, resource): (String, String),
    ) -> Self {
        Self {
            store,
            hub: Arc::new(hub),
            progress: Arc::new(progress),
            name,
            resource,
            tasks: TaskTracker::new(),
            milestones: watch::Sender::default(),
            sources: Vec::new(),
            restored: None,
            #[cfg(feature = "saved")]
            folders: Folders::default(),
            cancel: CancellationToken::new(),
            prepared: Mutex::default(),
        }
    }

    /// Prepares what is to run.
    pub(super) fn planned(mut self, plan: Plan<K>) -> Self {
        let mut prepared = Vec::new();
        for (number, feed) in plan.feeds.into_iter().enumerate() {
            let name = match &feed.namespace {
                Some(namespace) => format!("{}@{namespace}", self.name),
                None => self.name.clone(),
            };
            let (progress, on_error) = (Arc::clone(&self.progress), plan.on_error.clone());
            let (reflector, resource) = (name.clone(), self.resource.clone());
            let fifo = plan.fifo.clone().on_rejected(move |rejected| {
                progress.rejected(number, rejected.to_string());
                let cause = Cause::Rejected(&rejected);
                reflector::metrics::failed(&reflector, cause.kind());
                let (activity, outlook) = (Activity::Deliver, Outlook::GoesOn);
                let report = Report { name: &reflector, resource: &resource, activity, cause, outlook };
                tell(on_error.as_deref(), &report);
            });
            let fifo = fifo.build();
            let pump = Pump {
                number,
                namespace: feed.namespace.clone(),
                fifo: fifo.clone(),
                hub: Arc::clone(&self.hub),
                progress: Arc::clone(&self.progress),
                milestones: self.milestones.clone(),
                #[cfg(feature = "saved")]
                saver: self.folders.of(number).cloned(),
            };
            let (progress, on_error) = (Arc::clone(&self.progress), plan.on_error.clone());
            let run = Controller::new(feed.source, fifo, plan.config.clone(), pump).named(name);
            let is_restored = feed.restored.is_some();
            let run = match feed.restored {
                None => run,
                Some(version) if feed.has_gaps => run.list_from(version),
                Some(version) => run.resume_from(version),
            };
            let run = run.on_error(move |report| {
                progress.failed(number, report);
                tell(on_error.as_deref(), report);
            });
            self.sources.push((feed.namespace, run.status(), is_restored));
            prepared.push(run);
        }
        self.prepared = Mutex::new(prepared);
        self
    }

    /// Runs what is prepared; says whether there was something.
    pub(super) fn start(self: &Arc<Self>) -> bool {
        // Said before anything is taken, where it would be lost.
        let runtime = Handle::current();
        let prepared = std::mem::take(&mut *self.prepared.lock().unwrap_or_else(PoisonError::into_inner));
        if prepared.is_empty() || self.hub.is_closed() {
            return false;
        }
        self.milestones.send_modify(|times| times.started = Some(Instant::now()));
        for (number, run) in prepared.into_iter().enumerate() {
            let body = Arc::clone(self);
            let task = async move {
                let Some(run) = body.admitted(number, run).await else { return body.finished(number).await };
                let outcome = AssertUnwindSafe(run.run(body.cancel.clone())).catch_unwind().await;
                body.finished(number).await;
                let why = match outcome {
                    Ok(Ok(())) => return,
                    Ok(Err(error)) => error.to_string(),
                    Err(_) => "it panicked".to_owned(),
                };
                body.broke_down(&why);
            };
            self.tasks.spawn_on(task, &runtime);
        }
        self.tasks.spawn_on(Arc::clone(&self.hub).keep_resyncing(self.cancel.clone()), &runtime);
        true
    }

    /// Where it stands.
    pub(super) fn status(self: &Arc<Self>) -> Status {
        let source = |(namespace, status, is_restored): &Origin| Source {
            namespace: namespace.clone(),
            status: status.borrow().clone(),
            is_restored: *is_restored,
        };
        let sources: Vec<_> = self.sources.iter().map(source).collect();
        let times = *self.milestones.borrow();
        let phase = match (self.hub.is_closed(), times.started, self.progress.is_complete()) {
            (true, ..) => Phase::Stopped,
            (false, None, _) => Phase::Idle,
            (false, Some(_), false) => Phase::Syncing,
            (false, Some(_), true) => Phase::Synced,
        };
        let followers = self.hub.followers().into_iter().map(|follower| FollowerStatus {
            name: follower.name().to_owned(),
            depth: follower.depth(),
            has_synced: follower.has_synced(),
            panics: follower.panics(),
        });
        let snapshot = self.store.snapshot();
        Status {
            phase,
            objects: snapshot.len(),
            version: snapshot.version().cloned(),
            last_error: sources.iter().find_map(|source| source.status.last_error.clone()),
            counts: sum(&sources),
            times,
            followers: followers.collect(),
            restored: self
                .restored
                .map(|restored| Restored { is_confirmed: self.progress.is_complete(), ..restored }),
            saving: self.saving(),
            sources,
        }
    }
}

#[cfg(not(feature = "saved"))]
impl<K: Resource + Send + Sync + 'static> Body<K> {
    async fn admitted(&self, _: usize, run: Run<K>) -> Option<Run<K>> {
        Some(run)
    }

    async fn finished(&self, _: usize) {}

    fn saving(&self) -> Option<Saving> {
        None
    }
}

#[cfg(feature = "saved")]
impl<K: Resource + Send + Sync + 'static> Body<K> {
    /// What was restored, and where the cache is saved.
    pub(super) fn saved_in(self, folders: Folders<K>, restored: Option<Restored>) -> Self {
        Self { folders, restored, ..self }
    }

    /// Lets a source begin, unless what was restored of it is of another cluster.
    async fn admitted(&self, number: usize, run: Run<K>) -> Option<Run<K>> {
        match self.cancel.run_until_cancelled(self.folders.verdict(number)).await? {
            Verdict::GoesOn => Some(run),
            Verdict::StartsOver => Some(run.start_over()),
            Verdict::Refused { saved, found } => {
                let error = |resource| SyncError::OtherCluster { resource, saved, found };
                self.progress.ended(error);
                self.broke_down("what was restored is of another cluster");
                None
            }
        }
    }

    /// A source has come to its end: what there is of it is written.
    async fn finished(&self, number: usize) {
        let Some(saver) = self.folders.of(number).cloned() else { return };
        let (snapshot, handled) = (self.hub.snapshot(), self.hub.handled());
        // What is not done then is done when the last handle goes.
        run_blocking(move || saver.close(snapshot, handled)).await;
    }

    fn saving(&self) -> Option<Saving> {
        self.folders.saving()
    }
}

impl<K> Body<K> {
    fn broke_down(&self, why: &str) {
        tracing::error!(informer = self.name, why, "informer broke down, and stops");
        self.shut();
    }

    /// Stops everything that runs, and tells followers that nothing more will come.
    pub(super) fn shut(&self) {
        self.cancel.cancel();
        self.hub.close();
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.tasks.close();
        self.milestones.send_modify(|_| {});
        self.progress.nudge();
    }
}

/// Takes what one source says to the cache and its followers.
pub(super) struct Pump<K> {
    number: usize,
    namespace: Option<String>,
    fifo: DeltaFifo<K>,
    hub: Arc<Hub<K>>,
    progress: Arc<Progress>,
    milestones: watch::Sender<Times>,
    #[cfg(feature = "saved")]
    saver: Option<Arc<Saver<K>>>,
}

/// Of what there is news.
fn heard_of<K>(entries: &[Entry<K>]) -> impl Iterator<Item = &Key> {
    entries.iter().filter_map(|entry| match entry {
        Entry::Deltas(deltas) => Some(deltas.key()),
        Entry::Replaced { .. } | Entry::Resync | Entry::Bookmark | Entry::Resumed => None,
    })
}

/// What the last list of a batch could not read, and of which there is no news behind it; nothing where there is no list.
fn unread<K>(entries: &[Entry<K>]) -> Option<Vec<Key>> {
    let (at, mut unreadable) = entries.iter().enumerate().rev().find_map(|(at, entry)| match entry {
        Entry::Replaced { listing, .. } => Some((at, listing.unreadable.clone())),
        Entry::Resumed => Some((at, Vec::new())),
        Entry::Deltas(_) | Entry::Resync | Entry::Bookmark => None,
    })?;
    if !unreadable.is_empty() {
        let heard: KeyMap<()> = heard_of(&entries[at..]).map(|key| (key.clone(), ())).collect();
        unreadable.retain(|key| !heard.contains_key(key));
    }
    Some(unreadable)
}

impl<K: Resource + Send + Sync + 'static> Process<K> for Pump<K> {
    async fn process(&mut self, batch: Batch<K>) -> Result<(), BoxError> {
        self.hub.metrics.queue_depth.set(self.fifo.load() as f64);
        self.hub.room().await;
        let now = Instant::now();
        self.progress.heard_of(self.number, heard_of(&batch.entries));
        let list = unread(&batch.entries);
        let extent = self.namespace.as_deref().map_or(Extent::Everything, Extent::Namespace);
        #[cfg(feature = "saved")]
        let (is_complete, is_whole, own) = (batch.is_complete, list.is_some(), batch.version.clone());
        #[cfg(feature = "saved")]
        let has_gaps = batch.has_gaps;
        let applied = self.hub.publish(batch.received.unwrap_or(now), |writer, tidings| {
            // Within the step that publishes, so that the version of several sources does not go back.
            let version = self.progress.moved(self.number, batch.version.clone());
            let batch = Batch { version, ..batch };
            #[cfg(feature = "saved")]
            if let Some(saver) = &self.saver {
                return apply_within(extent, batch, writer, &mut saver.noting(tidings));
            }
            apply_within(extent, batch, writer, tidings)
        });
        let Some(applied) = applied else { return Ok(()) };
        #[cfg(feature = "saved")]
        if let Some(saver) = &self.saver {
            let (snapshot, position) = (self.hub.snapshot(), self.hub.told());
            let handled = self.hub.handled();
            let version = own;
            saver.applied(Moment { version, is_complete, has_gaps, is_whole, snapshot, position, handled });
            if self.hub.is_handled_for_good(handled) {
                saver.ends();
            }
        }
        applied.done();
        let is_complete = list.is_some_and(|unreadable| self.progress.listed(self.number, unreadable));
        if is_complete {
            self.hub.complete();
        }
        self.milestones.send_modify(|times| {
            times.heard = Some(now);
            times.synced = times.synced.or(is_complete.then_some(now));
        });
        self.progress.nudge();
        Ok(())
    }
}
