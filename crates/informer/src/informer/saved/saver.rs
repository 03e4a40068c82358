//! Hands what happens to a cache on to be saved, state by state.

use super::{cluster::Cluster, dictionaries::Dictionaries, moment::Moment, program::Form};
use crate::{
    compact::Packed,
    controller::{Event, Tell},
    object::Object,
    store::{Entry, Snapshot},
};
use bytes::Bytes;
use kube_core::Resource;
use kube_informer_saved::{self as saved, Batch, Encoding, Enqueue, Payload, SavedState, WriterStatus};
use kube_informer_wire::{Key, ResourceVersion};
use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Saves what one source says.
///
/// What is handed on are states that the server had: changes wait until nothing is left in the queue of what had arrived, because what
/// is popped before that may be ahead of its version. And they wait for those followers that are told differences alone: who was
/// not told of a change when the process ended would not be told of it by the next either.
pub(in super::super) struct Saver<K> {
    part: Part,
    form: Form,
    cluster: Arc<Cluster>,
    /// The cluster that what was restored is of, where that is known.
    restored_cluster: Option<String>,
    state: Mutex<State<K>>,
}

/// What of a cache is saved, and where.
pub(super) struct Part {
    /// The namespace that the source speaks of; nothing for all.
    pub(super) namespace: Option<String>,
    pub(super) folder: PathBuf,
}

struct State<K> {
    /// Gone once it is closed.
    saved: Option<SavedState>,
    /// How it went until then.
    last: WriterStatus,
    stage: Stage,
    /// Whether there is a whole state.
    has_state: bool,
    /// Whether something is missing there, or as it was before.
    has_gaps: bool,
    /// Where the log was when the cache was last at its version, if it still is.
    settled_at: Option<u64>,
    /// What has happened since the last state that was handed on.
    pending: Batch,
    version: Option<ResourceVersion>,
    /// States that some follower has not handled yet, and where the log was then.
    waiting: VecDeque<(u64, Work<K>)>,
    /// How many bytes those hold.
    held: usize,
    dictionaries: Dictionaries,
    uid: Option<String>,
}

/// What follows what is saved.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The whole state.
    Whole,
    /// What changes.
    Changes,
    /// Nothing: an object came without bytes, or somebody left for whom the rest is kept back.
    Nothing,
}

enum Work<K> {
    Whole { snapshot: Arc<Snapshot<K>>, version: ResourceVersion, has_gaps: bool },
    Changes(Batch),
}

/// What is attached to a file, by number.
pub(super) const FORM: u32 = 1;
pub(super) const CLUSTER: u32 = 2;
/// Attached where a watch from the version would not make the state whole: something could not be read.
pub(super) const GAPS: u32 = 3;
/// The encoding of what was packed without a dictionary; others are numbers of dictionaries.
pub(super) const LOOSE: u32 = 1;

/// So many bytes may wait to become a state. Beyond that, the whole state is saved when it is one.
const MOST_WAITING: usize = 64 << 20;

/// What a saver goes on from.
pub(super) struct Beginning {
    pub(super) saved: SavedState,
    pub(super) dictionaries: Dictionaries,
    /// The version that was restored, if a state was.
    pub(super) version: Option<ResourceVersion>,
    pub(super) cluster: Option<String>,
    pub(super) has_gaps: bool,
    /// Whether what is attached to the file is true of this program.
    pub(super) is_current: bool,
}

impl<K: Send + Sync + 'static> Saver<K> {
    pub(super) fn new(part: Part, form: Form, cluster: Arc<Cluster>, begin: Beginning) -> Self {
        let has_state = begin.version.is_some();
        let mut pending = Batch::new();
        if has_state && !begin.is_current {
            pending.attach(FORM, form.to_string().into());
        }
        let state = State {
            saved: Some(begin.saved),
            last: WriterStatus::default(),
            stage: if has_state { Stage::Changes } else { Stage::Whole },
            has_state,
            has_gaps: begin.has_gaps,
            settled_at: None,
            pending,
            version: begin.version,
            waiting: VecDeque::new(),
            held: 0,
            dictionaries: begin.dictionaries,
            uid: begin.cluster.clone(),
        };
        Self { part, form, cluster, restored_cluster: begin.cluster, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How saving goes.
    pub(in super::super) fn status(&self) -> WriterStatus {
        let state = self.state();
        state.saved.as_ref().map_or_else(|| state.last.clone(), SavedState::status)
    }

    /// Where it is saved.
    pub(super) fn folder(&self) -> &Path {
        &self.part.folder
    }

    /// Finds out which cluster this is. If it is not the one that the restored state is of, says what both are.
    pub(in super::super) async fn identify(&self) -> Result<(), (String, String)> {
        let uid = self.cluster.uid().await.map(str::to_owned);
        match (&self.restored_cluster, uid) {
            (Some(saved), Some(found)) if *saved != found => return Err((saved.clone(), found)),
            (None, Some(found)) => {
                let mut state = self.state();
                if state.stage == Stage::Changes {
                    state.pending.attach(CLUSTER, found.clone().into());
                }
                state.uid = Some(found);
            }
            (Some(_), None) => {
                tracing::warn!("which cluster it is may not be read; taken for the one that was saved")
            }
            (Some(_) | None, _) => {}
        }
        Ok(())
    }

    /// Nothing more is to be saved.
    pub(in super::super) fn ends(&self) {
        self.state().end();
    }

    /// What was restored is of no use: the next whole state takes its place, which is of this cluster.
    pub(in super::super) fn start_over(&self, cluster: String) {
        let mut state = self.state();
        (state.stage, state.has_state, state.uid) = (Stage::Whole, false, Some(cluster));
    }

    /// Hands on what has been handled, writes what waits, and gives the folder back. It blocks.
    ///
    /// If the whole state is missing there, because it could not be written when it came, it is tried once more, with what the cache
    /// holds in the end.
    pub(in super::super) fn close(&self, snapshot: Arc<Snapshot<K>>, handled: u64) {
        let mut state = self.state();
        self.release(&mut state, handled);
        let settled = state.settled(handled).map(|version| (version, state.has_gaps));
        let whole = settled.map(|settled| self.whole(&state, snapshot, settled));
        let is_missing = state.stage == Stage::Whole;
        if let Some(saved) = state.saved.take() {
            state.last = saved.status();
            drop(state);
            // A failure shows in the status, and was told of.
            let _ = saved.flush();
            if let Some(whole) = whole.filter(|_| is_missing || saved.status().needs_snapshot) {
                let _ = (saved.replace(whole), saved.flush());
            }
            let last = saved.status();
            drop(saved);
            self.state().last = last;
        }
    }

    /// Hands on states that have been handled.
    fn release(&self, state: &mut State<K>, handled: u64) {
        while state.waiting.front().is_some_and(|(position, _)| *position <= handled) {
            let Some((_, work)) = state.waiting.pop_front() else { return };
            let Some(saved) = &state.saved else { return };
            let taken = match work {
                Work::Changes(batch) => {
                    state.held = state.held.saturating_sub(batch.size());
                    saved.append(batch)
                }
                Work::Whole { snapshot, version, has_gaps } => {
                    saved.replace(self.whole(state, snapshot, (version, has_gaps)))
                }
            };
            match taken {
                Enqueue::Queued => {}
                Enqueue::NeedsSnapshot => return state.forget(),
                Enqueue::Stopped => state.stage = Stage::Nothing,
            }
        }
    }

    /// All objects of the source, which are looked at when they are written, and what is to be known of them.
    fn whole(
        &self,
        state: &State<K>,
        snapshot: Arc<Snapshot<K>>,
        (version, has_gaps): (ResourceVersion, bool),
    ) -> saved::Snapshot {
        let (namespace, known) = (self.part.namespace.clone(), state.dictionaries.clone());
        let entries = std::iter::once_with(move || snapshot.shared_entries()).flatten();
        let objects = entries.filter_map(move |entry| {
            let is_meant = namespace.is_none() || entry.key().namespace() == namespace.as_deref();
            let object = is_meant.then(|| entry.shared())?;
            Some(saved_object(entry.key().clone(), object.bytes()?, &known))
        });
        let whole = saved::Snapshot::new(objects).version(version);
        let whole = whole.attach(FORM, self.form.to_string().into());
        let uid = state.uid.clone();
        let whole = uid.into_iter().fold(whole, |whole, uid| whole.attach(CLUSTER, uid.into()));
        let whole = if has_gaps { whole.attach(GAPS, Bytes::new()) } else { whole };
        let dictionaries = state.dictionaries.iter();
        dictionaries.fold(whole, |whole, (number, one)| whole.attach(number, one.content.clone()))
    }
}

impl<K: Resource + Send + Sync + 'static> Saver<K> {
    /// Takes note of what is told, and hands it on.
    pub(in super::super) fn noting<'s, T: Tell<K>>(&'s self, told: &'s mut T) -> Noting<'s, K, T> {
        let mut state = self.state();
        // Until it is said where that leads.
        state.settled_at = None;
        Noting { state, told }
    }

    /// What was noted is in the cache.
    pub(in super::super) fn applied(&self, moment: Moment<K>) {
        let mut state = self.state();
        state.has_state |= moment.is_whole;
        let is_settled = moment.is_complete && moment.version.is_some();
        state.settled_at = is_settled.then_some(moment.position);
        if let (true, true, Some(version)) = (moment.is_complete, state.has_state, moment.version)
            && state.stage != Stage::Nothing
            && (state.version.as_ref() != Some(&version)
                || state.has_gaps != moment.has_gaps
                || !state.pending.is_empty()
                || state.stage == Stage::Whole)
        {
            let mut batch = std::mem::take(&mut state.pending);
            match (std::mem::replace(&mut state.has_gaps, moment.has_gaps), moment.has_gaps) {
                (false, true) => _ = batch.attach(GAPS, Bytes::new()),
                (true, false) => _ = batch.detach(GAPS),
                (false, false) | (true, true) => {}
            }
            state.version = Some(version.clone());
            let work = match state.stage {
                Stage::Whole => Work::Whole { snapshot: moment.snapshot, version, has_gaps: moment.has_gaps },
                Stage::Changes | Stage::Nothing => {
                    batch.version(version);
                    state.held += batch.size();
                    Work::Changes(batch)
                }
            };
            state.stage = Stage::Changes;
            state.waiting.push_back((moment.position, work));
        }
        self.release(&mut state, moment.handled);
        if state.held + state.pending.size() > MOST_WAITING {
            state.forget();
        }
    }
}

impl<K> State<K> {
    /// The version of the cache, if it is at one that may be saved, and all that led to it has been handled.
    fn settled(&self, handled: u64) -> Option<ResourceVersion> {
        let is_settled = self.settled_at.is_some_and(|position| position <= handled);
        let may_be = is_settled && self.has_state && self.stage != Stage::Nothing;
        self.version.clone().filter(|_| may_be)
    }

    /// Nothing more is saved, and nothing is kept for it.
    fn end(&mut self) {
        self.forget();
        self.stage = Stage::Nothing;
    }

    /// What waits is too much, or has no place to go: the whole state is next.
    fn forget(&mut self) {
        (self.stage, self.pending, self.held) = (Stage::Whole, Batch::new(), 0);
        self.waiting.clear();
    }

    /// The object is like this.
    fn put(&mut self, key: Key, object: &Object<K>)
    where
        K: Send + Sync + 'static,
    {
        let Some(packed) = object.bytes() else {
            tracing::error!(%key, "object came without bytes; saving ends");
            return self.end();
        };
        self.know(packed);
        if self.stage == Stage::Changes {
            let object = saved_object(key, packed, &self.dictionaries);
            self.pending.put(object);
        }
    }

    /// Sees to it that the dictionary of an object is saved before the object is.
    fn know(&mut self, packed: &Packed<K>) {
        let Some(dictionary) = packed.dictionary() else { return };
        if self.dictionaries.number_of(dictionary).is_some() {
            return;
        }
        let number = self.dictionaries.add(dictionary);
        if self.stage == Stage::Changes {
            self.pending.attach(number, dictionary.content.clone());
            // The file may have older states that are packed with what is gone: the whole one takes its place.
            if self.dictionaries.drop_unused() {
                self.forget();
            }
        }
    }
}

/// Hands on what is told, and notes what of it is to be saved.
pub(in super::super) struct Noting<'s, K, T> {
    state: MutexGuard<'s, State<K>>,
    told: &'s mut T,
}

impl<K: Resource + Send + Sync + 'static, T: Tell<K>> Tell<K> for Noting<'_, K, T> {
    fn change(&mut self, event: Event<K>) {
        match (&event, event.object().key()) {
            (Event::Added { object, .. } | Event::Updated { new: object, .. }, Ok(key)) => {
                self.state.put(key, object);
            }
            (Event::Deleted { old, .. }, _) if self.state.stage == Stage::Changes => {
                if let Ok(key) = old.key() {
                    self.state.pending.delete(key);
                }
            }
            (Event::Deleted { .. } | Event::Added { .. } | Event::Updated { .. }, _) => {}
        }
        self.told.change(event);
    }

    fn again(&mut self, event: Event<K>) {
        // What is kept in the smaller since may need a dictionary that is not known.
        if let Some(packed) = event.object().bytes() {
            self.state.know(packed);
        }
        self.told.again(event);
    }

    fn initial(&mut self, entries: Vec<Arc<Entry<K>>>) {
        entries.iter().for_each(|entry| self.state.put(entry.key().clone(), &entry.shared()));
        self.told.initial(entries);
    }
}

/// An object as it is saved; without a dictionary if its own is not known.
fn saved_object<K: Send + Sync + 'static>(
    key: Key,
    packed: &Packed<K>,
    dictionaries: &Dictionaries,
) -> saved::Object {
    let (uid, version) = packed.uid_and_version().unwrap_or_default();
    let known = packed.dictionary().filter(|_| packed.is_apart());
    let number = known.map(|dictionary| dictionaries.number_of(dictionary));
    let layout = packed.format().into();
    let payload = match number {
        None if packed.is_apart() => Payload::new(layout, Encoding(LOOSE), Bytes::from_owner(packed.clone())),
        Some(Some(number)) => Payload::new(layout, Encoding(number), Bytes::from_owner(packed.clone())),
        None | Some(None) => Payload::new(layout, Encoding(LOOSE), packed.compressed_alone().into()),
    };
    saved::Object { key, uid: uid.into(), version: version.parse().unwrap_or(ResourceVersion::ANY), payload }
}
