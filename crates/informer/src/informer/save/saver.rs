//! Saves the changes of a cache.

use super::{cluster::Cluster, dictionaries::Dictionaries, format_id::FormatId, interface::AppliedState};
use crate::{
    cache::{Entry, EventSink, Snapshot},
    event::Event,
    object::{Object, encoded::EncodedObject},
};
use bytes::Bytes;
use kube_informer_saved::{self as saved, Batch, Encoding, Enqueue, Payload, SavedState, WriterStatus};
use kube_informer_wire::{Key, ResourceVersion};
use std::{
    collections::VecDeque,
    mem,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Saves the changes of one source.
///
/// A batch of changes is written after all subscribers with [`Replay::Differences`](crate::subscription::Replay::Differences)
/// have handled it, because the next process delivers only unsaved changes to them.
pub(in super::super) struct Saver<K> {
    folder: SourceFolder,
    format: FormatId,
    cluster: Arc<Cluster>,
    /// The uid of the cluster of the restored state, if it was saved.
    restored_cluster: Option<String>,
    state: Mutex<State<K>>,
}

/// The folder of one source.
pub(super) struct SourceFolder {
    /// `None` for all namespaces.
    pub(super) namespace: Option<String>,
    pub(super) path: PathBuf,
}

struct State<K> {
    /// `None` after `close`.
    saved: Option<SavedState>,
    /// The last status before `close`.
    last_status: WriterStatus,
    next: NextWrite,
    /// True after the first full list or a restore.
    has_state: bool,
    /// True if objects are missing or outdated in the saved state.
    has_gaps: bool,
    /// The position of the log at the newest state with a version.
    settled_at: Option<u64>,
    /// The changes since the newest state.
    pending: Batch,
    version: Option<ResourceVersion>,
    /// States that not all subscribers have handled, with their positions in the log.
    waiting: VecDeque<(u64, Write<K>)>,
    /// The total size of the waiting batches.
    waiting_bytes: usize,
    dictionaries: Dictionaries,
    cluster_uid: Option<String>,
}

/// The next write.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NextWrite {
    /// The full state.
    Snapshot,
    /// The changes since the last write.
    Changes,
    /// Saving has ended: an object was received without bytes, or a subscriber with `Replay::Differences` was removed before it
    /// had handled all changes.
    Ended,
}

enum Write<K> {
    Snapshot { snapshot: Arc<Snapshot<K>>, version: ResourceVersion, has_gaps: bool },
    Changes(Batch),
}

/// The numbers of the attachments of a file.
pub(super) const FORMAT: u32 = 1;
pub(super) const CLUSTER: u32 = 2;
/// Present if a watch from the saved version would not complete the state.
pub(super) const GAPS: u32 = 3;
/// The encoding of objects that are compressed without a dictionary. Other encodings are numbers of dictionaries.
pub(super) const NO_DICTIONARY: u32 = 1;

/// The maximum number of bytes that wait to be written. Beyond that, the full state is written instead.
const MAX_WAITING_BYTES: usize = 64 << 20;

/// The state that a saver continues from.
pub(super) struct SaverInit {
    pub(super) saved: SavedState,
    pub(super) dictionaries: Dictionaries,
    /// The version of the restored state.
    pub(super) version: Option<ResourceVersion>,
    pub(super) cluster: Option<String>,
    pub(super) has_gaps: bool,
    /// True if this program wrote the file.
    pub(super) is_same_program: bool,
}

impl SaverInit {
    /// Returns the state without restored objects.
    pub(super) fn empty(saved: SavedState) -> Self {
        Self {
            saved,
            dictionaries: [].into_iter().collect(),
            version: None,
            cluster: None,
            has_gaps: false,
            is_same_program: false,
        }
    }
}

/// The uids of the restored cluster and the watched cluster, which differ.
pub(super) struct OtherCluster {
    pub(super) saved: String,
    pub(super) found: String,
}

impl<K: Send + Sync + 'static> Saver<K> {
    pub(super) fn new(
        folder: SourceFolder,
        format: FormatId,
        cluster: Arc<Cluster>,
        init: SaverInit,
    ) -> Self {
        let has_state = init.version.is_some();
        let mut pending = Batch::new();
        if has_state && !init.is_same_program {
            pending.attach(FORMAT, format.to_string().into());
        }
        let state = State {
            saved: Some(init.saved),
            last_status: WriterStatus::default(),
            next: if has_state { NextWrite::Changes } else { NextWrite::Snapshot },
            has_state,
            has_gaps: init.has_gaps,
            settled_at: None,
            pending,
            version: init.version,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            dictionaries: init.dictionaries,
            cluster_uid: init.cluster.clone(),
        };
        Self { folder, format, cluster, restored_cluster: init.cluster, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn status(&self) -> WriterStatus {
        let state = self.state();
        state.saved.as_ref().map_or_else(|| state.last_status.clone(), SavedState::status)
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder.path
    }

    /// Waits until the request for the uid of the cluster fails again.
    pub(super) async fn cluster_failed(&self) {
        self.cluster.failed().await;
    }

    /// Returns the error of the last request for the uid of the cluster.
    pub(super) fn cluster_error(&self) -> Option<String> {
        self.cluster.error()
    }

    /// Requests the uid of the cluster, and compares it with that of the restored state.
    pub(super) async fn identify(&self) -> Result<(), OtherCluster> {
        let uid = self.cluster.uid().await.map(str::to_owned);
        match (&self.restored_cluster, uid) {
            (Some(saved), Some(found)) if *saved != found => {
                return Err(OtherCluster { saved: saved.clone(), found });
            }
            (None, Some(found)) => {
                let mut state = self.state();
                if state.next == NextWrite::Changes {
                    state.pending.attach(CLUSTER, found.clone().into());
                }
                state.cluster_uid = Some(found);
            }
            (Some(_), None) => {
                tracing::warn!(
                    "no permission to read the uid of the cluster; assuming that it is the saved cluster"
                );
            }
            (Some(_), Some(_)) | (None, None) => {}
        }
        Ok(())
    }

    /// Stops saving.
    pub(in super::super) fn end(&self) {
        self.state().end();
    }

    /// Discards the restored state: the next full list of this cluster replaces it.
    pub(super) fn start_over(&self, cluster: String) {
        let mut state = self.state();
        state.next = NextWrite::Snapshot;
        state.has_state = false;
        state.cluster_uid = Some(cluster);
    }

    /// Writes the states that were handled, and closes the folder. Blocks.
    ///
    /// If the full state could not be written before, this tries again with `snapshot`.
    pub(in super::super) fn close(&self, snapshot: Arc<Snapshot<K>>, handled: u64) {
        let mut state = self.state();
        self.release(&mut state, handled);
        let full = state.settled_version(handled).map(|version| {
            let has_gaps = state.has_gaps;
            self.full_state(&state, snapshot, version, has_gaps)
        });
        let is_missing = state.next == NextWrite::Snapshot;
        if let Some(saved) = state.saved.take() {
            state.last_status = saved.status();
            drop(state);
            // Failures are reported by the writer, and are in the status.
            let _ = saved.flush();
            if let Some(full) = full.filter(|_| is_missing || saved.status().needs_snapshot) {
                let _ = saved.replace(full);
                let _ = saved.flush();
            }
            let last_status = saved.status();
            drop(saved);
            self.state().last_status = last_status;
        }
    }

    /// Writes the states that were handled.
    fn release(&self, state: &mut State<K>, handled: u64) {
        while state.waiting.front().is_some_and(|(position, _)| *position <= handled) {
            let Some((_, write)) = state.waiting.pop_front() else { return };
            let Some(saved) = &state.saved else { return };
            let result = match write {
                Write::Changes(batch) => {
                    state.waiting_bytes = state.waiting_bytes.saturating_sub(batch.size());
                    saved.append(batch)
                }
                Write::Snapshot { snapshot, version, has_gaps } => {
                    saved.replace(self.full_state(state, snapshot, version, has_gaps))
                }
            };
            match result {
                Enqueue::Queued => {}
                Enqueue::NeedsSnapshot => return state.discard_waiting(),
                Enqueue::Stopped => state.next = NextWrite::Ended,
            }
        }
    }

    /// Returns all objects of the source, as an iterator that reads them when they are written.
    fn full_state(
        &self,
        state: &State<K>,
        snapshot: Arc<Snapshot<K>>,
        version: ResourceVersion,
        has_gaps: bool,
    ) -> saved::Snapshot {
        let namespace = self.folder.namespace.clone();
        let dictionaries = state.dictionaries.clone();
        let entries = std::iter::once_with(move || snapshot.shared_entries()).flatten();
        let objects = entries.filter_map(move |entry| {
            if namespace.is_some() && entry.key().namespace() != namespace.as_deref() {
                return None;
            }
            Some(saved_object(entry.key().clone(), entry.shared().as_encoded()?, &dictionaries))
        });
        let mut full = saved::Snapshot::new(objects).version(version);
        full = full.attach(FORMAT, self.format.to_string().into());
        if let Some(uid) = &state.cluster_uid {
            full = full.attach(CLUSTER, uid.clone().into());
        }
        if has_gaps {
            full = full.attach(GAPS, Bytes::new());
        }
        for (number, dictionary) in state.dictionaries.iter() {
            full = full.attach(number, dictionary.content.clone());
        }
        full
    }

    /// Records the events of a change, and forwards them to `events`.
    pub(in super::super) fn record(
        &self,
        events: &mut dyn EventSink<K>,
        change: impl FnOnce(&mut dyn EventSink<K>),
    ) {
        let mut state = self.state();
        state.settled_at = None;
        change(&mut Recorder { state, events });
    }

    /// Records that the recorded events have been applied.
    pub(in super::super) fn applied(&self, applied: AppliedState<K>) {
        let mut state = self.state();
        state.has_state |= applied.is_list;
        state.settled_at = applied.version.is_some().then_some(applied.position);
        if let Some(version) = applied.version
            && state.has_state
            && state.next != NextWrite::Ended
            && (state.version.as_ref() != Some(&version)
                || state.has_gaps != applied.has_gaps
                || !state.pending.is_empty()
                || state.next == NextWrite::Snapshot)
        {
            let mut batch = mem::take(&mut state.pending);
            match (mem::replace(&mut state.has_gaps, applied.has_gaps), applied.has_gaps) {
                (false, true) => _ = batch.attach(GAPS, Bytes::new()),
                (true, false) => _ = batch.detach(GAPS),
                (false, false) | (true, true) => {}
            }
            state.version = Some(version.clone());
            let write = if state.next == NextWrite::Snapshot {
                Write::Snapshot { snapshot: applied.snapshot, version, has_gaps: applied.has_gaps }
            } else {
                batch.version(version);
                state.waiting_bytes += batch.size();
                Write::Changes(batch)
            };
            state.next = NextWrite::Changes;
            state.waiting.push_back((applied.position, write));
        }
        self.release(&mut state, applied.handled);
        if state.waiting_bytes + state.pending.size() > MAX_WAITING_BYTES {
            state.discard_waiting();
        }
    }
}

impl<K> State<K> {
    /// Returns the version of the cache, if it can be saved and subscribers have handled all changes up to it.
    fn settled_version(&self, handled: u64) -> Option<ResourceVersion> {
        let is_handled = self.settled_at.is_some_and(|position| position <= handled);
        let can_save = is_handled && self.has_state && self.next != NextWrite::Ended;
        self.version.clone().filter(|_| can_save)
    }

    fn end(&mut self) {
        self.discard_waiting();
        self.next = NextWrite::Ended;
    }

    /// Discards the waiting changes. The full state is written next.
    fn discard_waiting(&mut self) {
        self.next = NextWrite::Snapshot;
        self.pending = Batch::new();
        self.waiting_bytes = 0;
        self.waiting.clear();
    }

    fn put(&mut self, key: Key, object: &Object<K>)
    where
        K: Send + Sync + 'static,
    {
        let Some(encoded) = object.as_encoded() else {
            tracing::error!(%key, "object received without bytes; the cache is no longer saved");
            return self.end();
        };
        self.add_dictionary(encoded);
        if self.next == NextWrite::Changes {
            let object = saved_object(key, encoded, &self.dictionaries);
            self.pending.put(object);
        }
    }

    /// Saves the dictionary of an object, if it is new. Call this before the object is saved.
    fn add_dictionary(&mut self, encoded: &EncodedObject<K>) {
        let Some(dictionary) = encoded.dictionary() else { return };
        if self.dictionaries.number_of(dictionary).is_some() {
            return;
        }
        let number = self.dictionaries.add(dictionary);
        if self.next == NextWrite::Changes {
            self.pending.attach(number, dictionary.content.clone());
            // Objects in the file may use a dictionary that was dropped, so the file is replaced.
            if self.dictionaries.drop_unused() {
                self.discard_waiting();
            }
        }
    }
}

/// Records events for a [`Saver`], and forwards them.
struct Recorder<'s, K> {
    state: MutexGuard<'s, State<K>>,
    events: &'s mut dyn EventSink<K>,
}

impl<K: Send + Sync + 'static> EventSink<K> for Recorder<'_, K> {
    fn changed(&mut self, event: Event<K>) {
        match &event {
            Event::Added { key, object, .. } | Event::Updated { key, new: object, .. } => {
                self.state.put(key.clone(), object);
            }
            Event::Deleted { key, .. } | Event::Released { key, .. }
                if self.state.next == NextWrite::Changes =>
            {
                self.state.pending.delete(key.clone());
            }
            Event::Deleted { .. } | Event::Released { .. } => {}
        }
        self.events.changed(event);
    }

    fn resynced(&mut self, entry: &Entry<K>) {
        // The object may be compressed with a new dictionary.
        if let Some(encoded) = entry.stored().as_encoded() {
            self.state.add_dictionary(encoded);
        }
        self.events.resynced(entry);
    }

    fn initial_list(&mut self, entries: Vec<Arc<Entry<K>>>) {
        for entry in &entries {
            self.state.put(entry.key().clone(), &entry.shared());
        }
        self.events.initial_list(entries);
    }
}

/// Returns the saved form of an object. If its dictionary is not saved, it is compressed again without a dictionary.
fn saved_object<K: Send + Sync + 'static>(
    key: Key,
    encoded: &EncodedObject<K>,
    dictionaries: &Dictionaries,
) -> saved::Object {
    let (uid, version) = encoded.uid_and_version().unwrap_or_default();
    let encoding = match encoded.dictionary() {
        _ if !encoded.has_own_block() => None,
        _ if !encoded.is_compressed() => Some(Encoding::PLAIN.0),
        None => Some(NO_DICTIONARY),
        Some(dictionary) => dictionaries.number_of(dictionary),
    };
    let layout = encoded.format().into();
    let payload = match encoding {
        Some(encoding) => Payload::new(layout, Encoding(encoding), Bytes::from_owner(encoded.clone())),
        None => Payload::new(layout, Encoding(NO_DICTIONARY), encoded.compress_without_dictionary().into()),
    };
    saved::Object {
        key,
        uid: uid.into(),
        version: version.parse().unwrap_or(ResourceVersion::ANY),
        content: encoded.known_content(),
        payload,
    }
}
