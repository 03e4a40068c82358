//! Test fixtures: a reference model of a state, temporary folders and deterministic batches.

use kube_informer_saved::{
    Batch, Encoding, Enqueue, Header, Layout, Object, Options, Payload, Restored, SavedState,
};
use kube_informer_wire::{ContentHash, ResourceVersion};
use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    time::Duration,
};
use testkit::{Random, TempFolder};

/// A reference model of a saved state: uid, version and bytes by key, and the version to resume from.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) objects: BTreeMap<String, (String, u64, Vec<u8>)>,
    pub(crate) version: Option<u64>,
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}:", self.version)?;
        self.objects
            .iter()
            .try_for_each(|(key, (_, version, bytes))| write!(f, " {key}@{version} ({} bytes)", bytes.len()))
    }
}

impl State {
    pub(crate) fn of(restored: &Restored) -> Self {
        let objects = restored.objects().iter().map(|object| {
            let version = object.version.to_number().unwrap();
            assert_eq!(object.content, ContentHash::from_number(version));
            (object.key.to_string(), (object.uid.to_string(), version, object.payload.bytes().to_vec()))
        });
        let state = Self {
            objects: objects.collect(),
            version: restored.version().map(|version| version.to_number().unwrap()),
        };
        assert_eq!(state.objects.len(), restored.objects().len(), "keys are unique");
        state
    }

    pub(crate) fn put(&mut self, key: &str, version: u64, bytes: Vec<u8>) {
        self.objects.insert(key.to_owned(), (format!("uid-of-{key}"), version, bytes));
    }

    /// Returns the state after the first `batches` batches that [`batch`] creates.
    pub(crate) fn after(batches: u64) -> Self {
        let mut state = Self::default();
        (0..batches).for_each(|number| {
            step(number, &mut state, &mut Batch::new());
        });
        state
    }
}

pub(crate) fn object(key: &str, version: u64, bytes: &[u8]) -> Object {
    Object {
        key: key.parse().unwrap(),
        uid: format!("uid-of-{key}").into(),
        version: ResourceVersion::number(version),
        content: ContentHash::from_number(version),
        payload: Payload::new(Layout::Json, Encoding::PLAIN, bytes.to_vec().into()),
    }
}

/// Creates the batch with this number, which is always the same.
pub(crate) fn batch(number: u64) -> Batch {
    let mut batch = Batch::new();
    step(number, &mut State::default(), &mut batch);
    batch
}

fn step(number: u64, state: &mut State, batch: &mut Batch) {
    let mut random = Random::from_state(number + 1);
    for _ in 0..1 + random.index(4) {
        let key = format!("web/pod-{}", random.index(20));
        if random.index(4) == 0 {
            state.objects.remove(&key);
            batch.delete(key.parse().unwrap());
        } else {
            let bytes =
                format!("{{\"number\":{number},\"noise\":{}}}", random.next_u64()).repeat(random.index(8));
            state.put(&key, number, bytes.clone().into_bytes());
            batch.put(object(&key, number, bytes.as_bytes()));
        }
    }
    state.version = Some(number);
    batch.version(ResourceVersion::number(number));
}

/// A temporary folder with a saved state.
pub(crate) struct Folder(TempFolder);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(TempFolder::new("saved-test"))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.path().join("state")
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.state()).unwrap()
    }

    /// Restores the state from a file with these bytes.
    pub(crate) fn open_with(&self, bytes: &[u8]) -> Result<Restored, kube_informer_saved::OpenError> {
        std::fs::write(self.state(), bytes).unwrap();
        SavedState::open(self.path(), &header(), options()).map(|(_, restored)| restored)
    }
}

pub(crate) fn header() -> Header {
    Header::new("", "v1", "pods").cluster("5f1e")
}

/// Options with which data is only written when a test flushes it.
pub(crate) fn options() -> Options {
    Options::default().flush_interval(Duration::from_secs(3600))
}

pub(crate) fn open(folder: &Folder) -> (SavedState, Restored) {
    SavedState::open(folder.path(), &header(), options()).unwrap()
}

pub(crate) fn reopened(folder: &Folder) -> State {
    State::of(&open(folder).1)
}

/// Saves the batch with this number and flushes it.
pub(crate) fn save(saved: &SavedState, number: u64) {
    assert_eq!(saved.append(batch(number)), Enqueue::Queued);
    saved.flush().unwrap();
}
