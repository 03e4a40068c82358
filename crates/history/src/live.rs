//! The current state of the recorded kinds, in the memory of the recorder.

use crate::{
    active::StoredBytes,
    compression::{Dictionary, EncoderDictionary},
    error::RecordError,
    kind::Kind,
    record::Layout,
};
use bytes::Bytes;
use kube_informer_wire::{Format, Key, KeyMap, Raw, ResourceVersion};
use std::{collections::VecDeque, sync::Arc};

/// A recorded kind and its objects.
#[derive(Debug)]
pub(crate) struct KindState {
    pub(crate) id: u32,
    pub(crate) kind: Arc<Kind>,
    pub(crate) objects: KeyMap<LiveObject>,
    pub(crate) dictionary: Option<KindDictionary>,
    /// The last version of a list or a bookmark; `None` before the first list.
    pub(crate) progress: Option<ResourceVersion>,
    pub(crate) gaps: Vec<OpenGap>,
}

#[derive(Debug)]
pub(crate) struct KindDictionary {
    pub(crate) dictionary: Arc<Dictionary>,
    pub(crate) encoder: EncoderDictionary,
}

/// A gap that has not ended.
#[derive(Clone, Debug)]
pub(crate) struct OpenGap {
    /// Empty for all namespaces.
    pub(crate) namespace: String,
    pub(crate) from: i64,
    pub(crate) reason: String,
}

/// An object that exists.
#[derive(Clone, Debug)]
pub(crate) struct LiveObject {
    pub(crate) id: u32,
    pub(crate) uid: Arc<str>,
    pub(crate) version: Option<ResourceVersion>,
    /// The position of its last version in the segment.
    pub(crate) offset: u64,
    /// The position of the first version of the chain; `None` if it has not been determined yet.
    pub(crate) first: Option<u64>,
    /// The number of versions between the last one and the first one of the chain.
    pub(crate) depth: u32,
    /// The last version; `None` if it was evicted.
    pub(crate) last: Option<StoredBytes>,
}

/// The objects whose last version is in memory, oldest first.
#[derive(Debug, Default)]
pub(crate) struct InMemory {
    order: VecDeque<(u32, Key)>,
    bytes: usize,
}

impl KindState {
    pub(crate) fn new(id: u32, kind: Kind) -> Self {
        Self {
            id,
            kind: Arc::new(kind),
            objects: KeyMap::default(),
            dictionary: None,
            progress: None,
            gaps: Vec::new(),
        }
    }

    /// Uses a dictionary for new objects, unless zstd rejects it.
    pub(crate) fn set_dictionary(&mut self, dictionary: Arc<Dictionary>, level: i32) {
        let encoder = dictionary.encoder(level);
        self.dictionary = encoder.map(|encoder| KindDictionary { dictionary, encoder });
    }

    /// Returns the recorded bytes as an object; `None` if its schema is unknown.
    pub(crate) fn raw(&self, stored: &StoredBytes) -> Option<Raw> {
        raw_of(&self.kind, stored.layout, stored.bytes.clone())
    }

    pub(crate) fn invalid_object(&self) -> RecordError {
        RecordError::InvalidObject { kind: self.kind.to_string() }
    }
}

/// Returns recorded bytes as an object; `None` if it has no known schema.
pub(crate) fn raw_of(kind: &Kind, layout: Layout, bytes: Bytes) -> Option<Raw> {
    let format = match layout {
        Layout::Json => Format::Json,
        Layout::Protobuf => Format::Protobuf(kind.schema()?),
        Layout::ProtobufItem => Format::ProtobufItem(kind.schema()?),
    };
    Some(Raw::new(format, bytes))
}

/// Returns the bytes of an object in a buffer of their own.
pub(crate) fn stored_bytes(raw: &Raw) -> StoredBytes {
    let layout = match raw.format() {
        Format::Json => Layout::Json,
        Format::Protobuf(_) => Layout::Protobuf,
        Format::ProtobufItem(_) => Layout::ProtobufItem,
    };
    StoredBytes { layout, bytes: Bytes::copy_from_slice(raw.bytes()) }
}

impl InMemory {
    /// Adds an object whose last version was stored in memory, in place of `replaced` bytes.
    pub(crate) fn add(&mut self, kind: u32, key: &Key, added: usize, replaced: Option<usize>) {
        self.bytes += added;
        match replaced {
            Some(replaced) => self.bytes -= replaced,
            None => self.order.push_back((kind, key.clone())),
        }
    }

    pub(crate) fn remove(&mut self, bytes: usize) {
        // Its entry in `order` stays until it is the oldest.
        self.bytes -= bytes;
    }

    /// Removes objects from memory until they have at most `limit` bytes.
    pub(crate) fn evict(&mut self, limit: usize, kinds: &mut [KindState]) {
        let objects: usize = kinds.iter().map(|state| state.objects.len()).sum();
        if self.order.len() > 2 * objects + 4_096 {
            self.forget_deleted(kinds);
        }
        while self.bytes > limit {
            let Some((kind, key)) = self.order.pop_front() else { break };
            let object = kinds.iter_mut().find(|state| state.id == kind);
            let object = object.and_then(|state| state.objects.get_mut(&key));
            self.bytes -= object.and_then(|object| object.last.take()).map_or(0, |last| last.bytes.len());
        }
    }

    /// Removes the entries of deleted objects.
    fn forget_deleted(&mut self, kinds: &[KindState]) {
        self.order.clear();
        for state in kinds {
            let in_memory = state.objects.iter().filter(|(_, object)| object.last.is_some());
            self.order.extend(in_memory.map(|(key, _)| (state.id, key.clone())));
        }
    }
}
