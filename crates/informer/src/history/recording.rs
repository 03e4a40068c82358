//! Records what reflectors receive into a history.

use crate::{
    boxed::{BoxError, error_chain},
    delta::{Delta, DeltaBatch},
    object::Listing,
    reflector::Sink,
};
use jiff::Timestamp;
use kube_history::{Kind, KindId, List, RecordError, Recorder, RecorderOptions, Statistics};
use kube_informer_wire::{EventType, Key, Lazy, Raw, ResourceVersion};
use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{mpsc, oneshot, watch},
    task::JoinHandle,
    time::{MissedTickBehavior, interval},
};

/// Records any number of kinds into one folder.
///
/// A task owns the [`Recorder`]. Each kind has a [`RecordingSink`], to which a [`Reflector`](crate::reflector::Reflector) of
/// [`Lazy`] objects writes; create its source with
/// [`ListWatch::lazy_dynamic`](crate::source::ListWatch::lazy_dynamic), so that objects are recorded as the server sent them. A
/// reflector waits until its changes are recorded, so a slow disk slows the watches down and loses nothing.
///
/// Changes are flushed about once a second. If flushing fails because the disk is full, it is retried. The status has the error.
#[derive(Debug)]
pub struct Recording {
    requests: mpsc::Sender<Request>,
    status: watch::Receiver<RecordingStatus>,
    /// The task; `None` after its error was returned.
    task: Option<JoinHandle<Result<(), RecordError>>>,
}

/// The progress of a [`Recording`], updated about once a second.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RecordingStatus {
    /// The changes and bytes since the start of the recording.
    pub statistics: Statistics,
    /// The number of recorded objects that exist.
    pub objects: usize,
    /// The size of the folder.
    pub size: u64,
    /// The first moment that can be read.
    pub start: Option<Timestamp>,
    /// The time of the last successful flush.
    pub flushed: Option<Timestamp>,
    /// The error of the last flush, if it failed.
    pub error: Option<String>,
    /// The sinks that have not received a list yet, without those that are denied.
    pub unlisted: usize,
    /// The sinks whose objects may not be read.
    pub denied: usize,
    /// The time of the last list, event or bookmark of the sink that has not received any for the longest time.
    pub received: Option<Timestamp>,
}

/// Receives the objects of one kind from a reflector and records them.
#[derive(Debug)]
pub struct RecordingSink {
    requests: mpsc::Sender<Request>,
    scope: Scope,
    last_error: LastError,
}

/// The last error of a reflector, which becomes the reason of a gap. Set it in the error handler of the reflector.
#[derive(Clone, Debug, Default)]
pub struct LastError(Arc<Mutex<ErrorState>>);

#[derive(Debug, Default)]
struct ErrorState {
    text: Option<String>,
    is_denied: bool,
}

/// The objects that a sink receives.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Scope {
    kind: KindId,
    namespace: Option<String>,
}

/// A request to the task that owns the recorder.
#[derive(Debug)]
struct Request {
    action: Action,
    reply: oneshot::Sender<Result<Option<KindId>, RecordError>>,
}

#[derive(Debug)]
enum Action {
    AddKind(NewKind),
    RemoveKind(KindId),
    Replace(Scope, Replacement),
    Apply(Scope, Changes),
}

#[derive(Debug)]
struct NewKind {
    kind: Box<Kind>,
    namespace: Option<String>,
    last_error: LastError,
}

#[derive(Debug)]
struct Replacement {
    objects: Vec<Raw>,
    skipped: Vec<Key>,
    version: Option<ResourceVersion>,
    /// The error before this list, if the watch was lost.
    reason: Option<String>,
}

#[derive(Debug)]
struct Changes {
    changes: Vec<Change>,
    version: Option<ResourceVersion>,
}

#[derive(Debug)]
enum Change {
    Put(EventType, Raw),
    DeletedKey(Key),
    Skipped(Key),
}

/// The recorder and the progress of its sinks.
struct State {
    recorder: Recorder,
    sinks: BTreeMap<Scope, Progress>,
    flushed: Option<Timestamp>,
    publish: watch::Sender<RecordingStatus>,
}

/// The progress of a sink.
#[derive(Debug)]
struct Progress {
    /// The time of the last list, event or bookmark; `None` before the first list.
    received: Option<Timestamp>,
    last_error: LastError,
}

/// The time between two flushes.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);

/// The number of requests that can wait. Each reflector waits for the result of its own.
const REQUESTS: usize = 64;

impl Recording {
    /// Opens a folder and starts the task that records into it.
    ///
    /// # Errors
    /// As [`Recorder::open`].
    ///
    /// # Panics
    /// Outside of a Tokio runtime.
    pub fn start(folder: impl AsRef<Path>, options: RecorderOptions) -> Result<Self, RecordError> {
        let recorder = Recorder::open(folder, options, Timestamp::now())?;
        let start = Some(recorder.start()?);
        let (requests, received) = mpsc::channel(REQUESTS);
        let (publish, status) = watch::channel(RecordingStatus { start, ..RecordingStatus::default() });
        let state = State { recorder, sinks: BTreeMap::new(), flushed: None, publish };
        let task = Some(tokio::spawn(run(state, received)));
        Ok(Self { requests, status, task })
    }

    /// Adds a kind, in all namespaces or in one, and returns the sink for its objects.
    ///
    /// # Errors
    /// [`RecordError::SecretsRefused`] for Secrets, unless they are configured. [`RecordError::SyncFailed`] if the recording has ended.
    pub async fn sink(&self, kind: Kind, namespace: Option<String>) -> Result<RecordingSink, RecordError> {
        let last_error = LastError::default();
        let (of_sink, in_namespace) = (last_error.clone(), namespace.clone());
        let action =
            Action::AddKind(NewKind { kind: Box::new(kind), namespace: in_namespace, last_error: of_sink });
        let kind = send(&self.requests, action).await?.ok_or(RecordError::SyncFailed)?;
        let scope = Scope { kind, namespace };
        Ok(RecordingSink { requests: self.requests.clone(), scope, last_error })
    }

    /// Records that a kind is no longer served: all its objects are deleted. Stop its reflectors first.
    ///
    /// # Errors
    /// [`RecordError::UnknownKind`]. [`RecordError::SyncFailed`] if the recording has ended.
    pub async fn remove_kind(&self, kind: KindId) -> Result<(), RecordError> {
        send(&self.requests, Action::RemoveKind(kind)).await.map(drop)
    }

    /// Returns the progress.
    #[must_use]
    pub fn status(&self) -> watch::Receiver<RecordingStatus> {
        self.status.clone()
    }

    /// Waits until the recording ends with an error. Then drop it and start another one.
    ///
    /// # Errors
    /// The error that ended it. Each later call returns [`RecordError::SyncFailed`].
    pub async fn failed(&mut self) -> Result<(), RecordError> {
        let Some(task) = &mut self.task else { return Err(RecordError::SyncFailed) };
        let outcome = task.await;
        self.task = None;
        joined(outcome)
    }

    /// Returns true if the recording has ended with an error.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.task.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Flushes all changes and ends the recording. Stop the reflectors first.
    ///
    /// # Errors
    /// As [`Recorder::close`]. [`RecordError::SyncFailed`] if [`failed`](Self::failed) has returned the error that ended the recording.
    pub async fn stop(self) -> Result<(), RecordError> {
        drop(self.requests);
        let Some(task) = self.task else { return Err(RecordError::SyncFailed) };
        joined(task.await)
    }
}

fn joined(outcome: Result<Result<(), RecordError>, tokio::task::JoinError>) -> Result<(), RecordError> {
    outcome.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
}

/// Sends a request and waits for its result.
async fn send(requests: &mpsc::Sender<Request>, action: Action) -> Result<Option<KindId>, RecordError> {
    let (reply, result) = oneshot::channel();
    // If the task has ended, its result has the error.
    if requests.send(Request { action, reply }).await.is_err() {
        return Err(RecordError::SyncFailed);
    }
    result.await.unwrap_or(Err(RecordError::SyncFailed))
}

/// Records requests and flushes about once a second, until all senders are dropped or the recorder fails.
async fn run(mut state: State, mut requests: mpsc::Receiver<Request>) -> Result<(), RecordError> {
    let mut flushes = interval(FLUSH_INTERVAL);
    flushes.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut batch = Vec::new();
    loop {
        tokio::select! {
            biased;
            _ = flushes.tick() => {
                let status;
                (state, status) = blocking(state, |state| state.flush(Timestamp::now())).await;
                state.publish.send_replace(status?);
            }
            count = requests.recv_many(&mut batch, REQUESTS) => {
                if count == 0 {
                    let (_, closed) = blocking(state, |state| state.recorder.flush(Timestamp::now())).await;
                    return closed;
                }
                let requests = std::mem::take(&mut batch);
                let recorded;
                (state, recorded) = blocking(state, |state| state.perform_all(requests)).await;
                recorded?;
            }
        }
    }
}

/// Runs blocking file operations on a thread for them.
async fn blocking<R: Send + 'static>(
    mut state: State,
    work: impl FnOnce(&mut State) -> R + Send + 'static,
) -> (State, R) {
    let done = tokio::task::spawn_blocking(move || {
        let result = work(&mut state);
        (state, result)
    });
    done.await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
}

impl State {
    /// Flushes the recorder and returns the status. Errors that can be retried are part of it.
    fn flush(&mut self, now: Timestamp) -> Result<RecordingStatus, RecordError> {
        let error = match self.recorder.flush(now) {
            Ok(()) => {
                self.flushed = Some(now);
                None
            }
            Err(error) if error.is_fatal() => return Err(error),
            Err(error) => Some(error_chain(&error)),
        };
        let is_denied = |sink: &&Progress| sink.received.is_none() && sink.last_error.is_denied();
        let denied = self.sinks.values().filter(is_denied).count();
        Ok(RecordingStatus {
            statistics: self.recorder.statistics(),
            objects: self.recorder.objects(),
            size: self.recorder.size().unwrap_or_default(),
            start: self.recorder.start().ok(),
            flushed: self.flushed,
            error,
            unlisted: self.sinks.values().filter(|sink| sink.received.is_none()).count() - denied,
            denied,
            received: self.sinks.values().filter_map(|sink| sink.received).min(),
        })
    }

    /// Performs requests in order. Returns an error if the recorder cannot continue.
    fn perform_all(&mut self, requests: Vec<Request>) -> Result<(), RecordError> {
        for Request { action, reply } in requests {
            let result = self.perform(action, Timestamp::now());
            if result.as_ref().is_err_and(RecordError::is_fatal) {
                return result.map(drop);
            }
            // A reflector that was stopped does not wait for the result.
            let _ = reply.send(result);
        }
        Ok(())
    }

    fn perform(&mut self, action: Action, now: Timestamp) -> Result<Option<KindId>, RecordError> {
        match action {
            Action::AddKind(NewKind { kind, namespace, last_error }) => {
                let kind = self.recorder.add_kind(*kind, now)?;
                self.sinks.insert(Scope { kind, namespace }, Progress { received: None, last_error });
                // The status never counts fewer lists than the sinks that were returned.
                self.publish.send_modify(|status| status.unlisted += 1);
                return Ok(Some(kind));
            }
            Action::RemoveKind(kind) => {
                self.sinks.retain(|scope, _| scope.kind != kind);
                self.recorder.remove_kind(kind, now)?;
            }
            Action::Replace(scope, replacement) => self.replace(&scope, replacement, now)?,
            Action::Apply(scope, changes) => self.apply(&scope, changes, now)?,
        }
        Ok(None)
    }

    fn replace(
        &mut self,
        scope: &Scope,
        replacement: Replacement,
        now: Timestamp,
    ) -> Result<(), RecordError> {
        let Replacement { objects, skipped, version, reason } = replacement;
        let (kind, namespace) = (scope.kind, scope.namespace.as_deref());
        if let Some(since) = self.sinks.get(scope).and_then(|sink| sink.received) {
            let reason = reason.unwrap_or_else(|| "watch could not be continued".to_owned());
            self.recorder.watch_lost_since(kind, namespace, &reason, since)?;
        }
        if skipped.is_empty() {
            let namespace = scope.namespace.clone();
            self.recorder.list(List { kind, namespace, version, objects }, now)?;
        } else {
            // Skipped objects exist, so nothing can be recorded as deleted, and the gap does not end.
            self.recorder.watch_lost(kind, namespace, &skipped_reason(&skipped[0]), now)?;
            for object in &objects {
                self.recorder.change(kind, EventType::Modified, object, now)?;
            }
        }
        let is_first = self.received(scope, now).is_none();
        let mut others = self.sinks.iter().filter(|(other, _)| other.kind == kind);
        if is_first && scope.namespace.is_some() && others.all(|(_, sink)| sink.received.is_some()) {
            self.recorder.namespaces_listed(kind, now)?;
        }
        Ok(())
    }

    /// Sets the time of the last list, event or bookmark, and returns the previous one.
    fn received(&mut self, scope: &Scope, now: Timestamp) -> Option<Timestamp> {
        self.sinks.get_mut(scope).and_then(|sink| sink.received.replace(now))
    }

    fn apply(&mut self, scope: &Scope, changes: Changes, now: Timestamp) -> Result<(), RecordError> {
        let kind = scope.kind;
        for change in changes.changes {
            match change {
                Change::Put(event, object) => self.recorder.change(kind, event, &object, now).map(drop)?,
                Change::DeletedKey(key) => self.recorder.delete_key(kind, key, now).map(drop)?,
                Change::Skipped(key) => {
                    let reason = skipped_reason(&key);
                    self.recorder.watch_lost(kind, scope.namespace.as_deref(), &reason, now)?;
                }
            }
        }
        // The version of one namespace is not that of the kind.
        if let Some(version) = changes.version.filter(|_| scope.namespace.is_none()) {
            self.recorder.bookmark(kind, version, now)?;
        }
        self.received(scope, now);
        Ok(())
    }
}

fn skipped_reason(key: &Key) -> String {
    format!("object {key} could not be decoded")
}

impl RecordingSink {
    /// Returns the kind of the objects in the history.
    #[must_use]
    pub fn kind(&self) -> KindId {
        self.scope.kind
    }

    /// Returns the last error, to be set by the error handler of the reflector.
    #[must_use]
    pub fn last_error(&self) -> LastError {
        self.last_error.clone()
    }

    async fn send(&self, action: Action) -> Result<(), BoxError> {
        send(&self.requests, action).await?;
        Ok(())
    }
}

impl LastError {
    /// Sets the error.
    pub fn set(&self, error: impl Into<String>) {
        self.state().text = Some(error.into());
    }

    /// Sets that the server does not allow the objects to be read. Until it does, [`RecordingStatus::denied`] counts the sink, and
    /// [`RecordingStatus::unlisted`] does not.
    pub fn set_denied(&self, error: impl Into<String>) {
        *self.state() = ErrorState { text: Some(error.into()), is_denied: true };
    }

    fn is_denied(&self) -> bool {
        self.state().is_denied
    }

    /// Returns the error, and clears it after a list.
    fn take(&self) -> Option<String> {
        std::mem::take(&mut *self.state()).text
    }

    fn state(&self) -> MutexGuard<'_, ErrorState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Send + Sync + 'static> Sink<Lazy<K>> for RecordingSink {
    async fn replace(&mut self, listing: Listing<Lazy<K>>) -> Result<(), BoxError> {
        let objects = listing.objects.iter().map(|(_, listed)| listed.object().get().raw().clone()).collect();
        let reason = self.last_error.take();
        let replacement = Replacement { objects, skipped: listing.skipped, version: listing.version, reason };
        self.send(Action::Replace(self.scope.clone(), replacement)).await
    }

    async fn apply(&mut self, batch: DeltaBatch<Lazy<K>>) -> Result<(), BoxError> {
        let changes = batch.deltas.into_iter().map(|delta| match delta {
            Delta::Added(_, object) => Change::Put(EventType::Added, object.get().raw().clone()),
            Delta::Updated(_, object) => Change::Put(EventType::Modified, object.get().raw().clone()),
            Delta::Deleted(_, Some(object)) => Change::Put(EventType::Deleted, object.get().raw().clone()),
            Delta::Deleted(key, None) => Change::DeletedKey(key),
            Delta::Skipped(key) => Change::Skipped(key),
        });
        let changes = Changes { changes: changes.collect(), version: batch.version };
        self.send(Action::Apply(self.scope.clone(), changes)).await
    }

    async fn resync(&mut self) -> Result<(), BoxError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::TempFolder;

    #[tokio::test]
    async fn a_recording_that_has_failed_can_be_awaited_and_stopped() {
        let folder = TempFolder::new("kube-informer-recording");
        let mut recording = Recording::start(folder.path(), RecorderOptions::default()).unwrap();
        let failing = tokio::spawn(async { Err(RecordError::Overflow { bytes: 1 }) });
        let replaced = recording.task.replace(failing).unwrap();
        assert!(matches!(recording.failed().await, Err(RecordError::Overflow { bytes: 1 })));
        assert!(matches!(recording.failed().await, Err(RecordError::SyncFailed)));
        assert!(recording.has_failed());
        assert!(matches!(recording.stop().await, Err(RecordError::SyncFailed)));
        replaced.await.unwrap().unwrap();
    }
}
