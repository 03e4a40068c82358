//! The index of a segment: its objects with the times and positions of their versions, its frames, gaps and kinds.
//!
//! The recorder and readers build it from the frames, so that both always agree. It is also stored in a file (`stored_index.rs`), which
//! is only a copy: if it is missing or damaged, the segment is scanned.

use crate::{
    encoding::{Input, Malformed, put_bytes, put_number, put_signed},
    frame::HEAD,
    kind::Kind,
    record::{self, Event, FRAME_BASE, FrameBase, Record, ScopeRecord},
};
use bytes::Bytes;
use kube_informer_wire::{Key, KeyMap, ResourceVersion};
use std::{collections::HashMap, sync::Arc};

/// The index of a segment.
#[derive(Clone, Debug, Default)]
pub(crate) struct SegmentIndex {
    pub(crate) frames: Vec<FrameEntry>,
    pub(crate) kinds: Vec<KindEntry>,
    /// The positions of the dictionaries, by kind.
    pub(crate) dictionaries: HashMap<u32, u64>,
    /// The names of field managers; the first has number 1.
    pub(crate) managers: Vec<Arc<str>>,
    /// By number. An object is absent if its definition is damaged.
    pub(crate) objects: Vec<Option<ObjectEntry>>,
    by_key: HashMap<u32, KeyMap<Vec<u32>>>,
    pub(crate) progress: Vec<ProgressEntry>,
    pub(crate) gaps: Vec<GapEntry>,
    pub(crate) clock_steps: Vec<ClockStep>,
    /// The time of the last record before the first damaged part.
    pub(crate) damaged_since: Option<i64>,
    /// The position after the checkpoint; `None` if its end is damaged.
    pub(crate) checkpoint_end: Option<u64>,
    /// The position after the last frame.
    pub(crate) end: u64,
    pub(crate) last_time: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameEntry {
    pub(crate) offset: u64,
    /// The size of the body.
    pub(crate) length: u32,
    /// The time of its first record.
    pub(crate) time: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KindEntry {
    pub(crate) id: u32,
    pub(crate) time: i64,
    pub(crate) kind: Arc<Kind>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ObjectEntry {
    pub(crate) kind: u32,
    pub(crate) key: Key,
    pub(crate) uid: Arc<str>,
    pub(crate) versions: VersionList,
}

/// The versions of an object in a segment, in a few bytes each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct VersionList {
    /// A part of the stored index, if it has not changed since.
    bytes: Encoded,
    last: Option<VersionEntry>,
}

/// Encoded versions: a part of a stored index until one is added.
#[derive(Clone, Debug)]
enum Encoded {
    Stored(Bytes),
    Own(Vec<u8>),
}

impl PartialEq for Encoded {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Encoded {}

impl Default for Encoded {
    fn default() -> Self {
        Self::Own(Vec::new())
    }
}

impl Encoded {
    fn as_slice(&self) -> &[u8] {
        match self {
            Self::Stored(bytes) => bytes,
            Self::Own(bytes) => bytes,
        }
    }

    fn to_mut(&mut self) -> &mut Vec<u8> {
        if let Self::Stored(bytes) = self {
            *self = Self::Own(bytes.to_vec());
        }
        match self {
            Self::Own(bytes) => bytes,
            Self::Stored(_) => unreachable!("it was copied"),
        }
    }
}

/// The location of one version of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VersionEntry {
    pub(crate) time: i64,
    pub(crate) offset: u64,
    pub(crate) event: Event,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProgressEntry {
    pub(crate) kind: u32,
    pub(crate) time: i64,
    pub(crate) version: ResourceVersion,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GapEntry {
    pub(crate) kind: u32,
    pub(crate) namespace: Arc<str>,
    pub(crate) from: i64,
    /// `None` if it has not ended.
    pub(crate) to: Option<i64>,
    pub(crate) reason: Arc<str>,
}

/// The clock of the recorder was set back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClockStep {
    pub(crate) time: i64,
    pub(crate) clock: i64,
}

/// Returns the two bits of an event.
fn event_bits(event: Event) -> u64 {
    match event {
        Event::Checkpoint => 0,
        Event::Added => 1,
        Event::Modified => 2,
        Event::Deleted => 3,
    }
}

/// Returns the event in the last two bits.
fn event_of(packed: u64) -> Event {
    match packed & 3 {
        0 => Event::Checkpoint,
        1 => Event::Added,
        2 => Event::Modified,
        _ => Event::Deleted,
    }
}

impl VersionList {
    pub(crate) fn push(&mut self, entry: VersionEntry) {
        let (time, offset) = self.last.map_or((0, 0), |last| (last.time, last.offset));
        let bytes = self.bytes.to_mut();
        put_signed(entry.time.wrapping_sub(time), bytes);
        put_number(entry.offset.wrapping_sub(offset) << 2 | event_bits(entry.event), bytes);
        self.last = Some(entry);
    }

    /// Appends the versions to a stored index.
    pub(crate) fn store(&self, out: &mut Vec<u8>) {
        put_bytes(self.bytes.as_slice(), out);
        put_signed(self.last.map_or(i64::MIN, |last| last.time), out);
        put_number(self.last.map_or(0, |last| last.offset << 2 | event_bits(last.event)), out);
    }

    /// Takes the versions from a stored index, of which they stay a part.
    pub(crate) fn take(input: &mut Input<'_>, stored: &Bytes) -> Result<Self, Malformed> {
        let bytes = Encoded::Stored(stored.slice_ref(input.bytes()?));
        let (time, packed) = (input.signed()?, input.number()?);
        let entry = VersionEntry { time, offset: packed >> 2, event: event_of(packed) };
        Ok(Self { bytes, last: Some(entry).filter(|_| time != i64::MIN) })
    }

    pub(crate) fn last(&self) -> Option<VersionEntry> {
        self.last
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = VersionEntry> {
        let mut input = Input::new(self.bytes.as_slice());
        let (mut time, mut offset) = (0_i64, 0_u64);
        std::iter::from_fn(move || {
            if input.is_empty() {
                return None;
            }
            time = time.wrapping_add(input.signed().ok()?);
            let packed = input.number().ok()?;
            offset = offset.wrapping_add(packed >> 2);
            Some(VersionEntry { time, offset, event: event_of(packed) })
        })
    }

    /// Returns the last version at or before `time`.
    pub(crate) fn at(&self, time: i64) -> Option<VersionEntry> {
        match self.last {
            Some(last) if last.time <= time => Some(last),
            _ => self.iter().take_while(|entry| entry.time <= time).last(),
        }
    }

    /// Returns the version before the one at `offset`.
    pub(crate) fn before(&self, offset: u64) -> Option<VersionEntry> {
        self.iter().take_while(|entry| entry.offset < offset).last()
    }
}

impl SegmentIndex {
    /// Creates the index of a segment without frames.
    pub(crate) fn new(data_start: u64, started: i64) -> Self {
        Self { end: data_start, last_time: started, ..Self::default() }
    }

    /// Adds a frame.
    ///
    /// # Errors
    /// If a record is malformed. The records before it have been added.
    pub(crate) fn apply(&mut self, offset: u64, body: &[u8]) -> Result<(), Malformed> {
        let base = FrameBase::read(body)?;
        let length = u32::try_from(body.len()).map_err(|_| Malformed)?;
        self.frames.push(FrameEntry { offset, length, time: base.time });
        self.end = offset + HEAD as u64 + u64::from(length);
        let body_offset = offset + HEAD as u64;
        let mut input = Input::at(body, FRAME_BASE);
        while !input.is_empty() {
            let position = body_offset + input.position() as u64;
            let record = record::read(&mut input, base, body_offset)?;
            self.add(&record, position);
        }
        Ok(())
    }

    /// Adds a damaged part, at whose end the next valid frame starts.
    pub(crate) fn add_damage(&mut self) {
        self.damaged_since.get_or_insert(self.last_time);
    }

    fn add(&mut self, record: &Record<'_>, position: u64) {
        match record {
            Record::Kind { id, time, kind } => {
                self.kinds.push(KindEntry { id: *id, time: *time, kind: Arc::new((**kind).clone()) });
            }
            Record::Dictionary { kind, .. } => {
                self.dictionaries.insert(*kind, position);
            }
            Record::Object { id, kind, key, uid } => {
                let versions = VersionList::default();
                let entry = ObjectEntry { kind: *kind, key: key.clone(), uid: (*uid).into(), versions };
                if is_possible_number(*id, position) {
                    self.add_object(*id, entry);
                }
            }
            Record::Manager { id, name } => {
                if let Some(index) = (*id as usize).checked_sub(1)
                    && is_possible_number(*id, position)
                {
                    self.managers.resize((index + 1).max(self.managers.len()), "".into());
                    self.managers[index] = (*name).into();
                }
            }
            Record::Change(change) => {
                self.last_time = self.last_time.max(change.head.time);
                let object = self.objects.get_mut(change.head.object as usize).and_then(Option::as_mut);
                if let Some(object) = object {
                    let (time, event) = (change.head.time, change.head.event);
                    object.versions.push(VersionEntry { time, offset: position, event });
                }
            }
            Record::Progress { kind, time, version } => {
                self.last_time = self.last_time.max(*time);
                self.progress.push(ProgressEntry { kind: *kind, time: *time, version: version.clone() });
            }
            Record::GapStarted { scope, reason } => self.gaps.push(GapEntry {
                kind: scope.kind,
                namespace: scope.namespace.into(),
                from: scope.time,
                to: None,
                reason: (*reason).into(),
            }),
            Record::GapEnded { scope } => {
                self.last_time = self.last_time.max(scope.time);
                self.end_gap(*scope);
            }
            Record::ClockStepped { time, clock } => {
                self.clock_steps.push(ClockStep { time: *time, clock: *clock });
            }
            Record::CheckpointEnded => self.checkpoint_end = Some(position),
        }
    }

    /// Adds an object whose number is larger than those of the objects with the same key.
    pub(crate) fn add_object(&mut self, id: u32, entry: ObjectEntry) {
        let index = id as usize;
        if self.objects.len() <= index {
            self.objects.resize(index + 1, None);
        }
        self.by_key.entry(entry.kind).or_default().entry(entry.key.clone()).or_default().push(id);
        self.objects[index] = Some(entry);
    }

    /// Ends the gaps of a kind in a namespace, or in all namespaces.
    fn end_gap(&mut self, scope: ScopeRecord<'_>) {
        for gap in &mut self.gaps {
            let is_covered = scope.namespace.is_empty() || *gap.namespace == *scope.namespace;
            if gap.kind == scope.kind && is_covered && gap.to.is_none() {
                gap.to = Some(scope.time);
            }
        }
    }

    /// Returns the objects with this key, in the order in which they were created. Each has its own uid.
    pub(crate) fn with_key(&self, kind: u32, key: &Key) -> impl Iterator<Item = (u32, &ObjectEntry)> {
        let ids = self.by_key.get(&kind).and_then(|keys| keys.get(key)).map_or(&[][..], Vec::as_slice);
        ids.iter().filter_map(|id| Some((*id, self.object(*id)?)))
    }

    pub(crate) fn object(&self, id: u32) -> Option<&ObjectEntry> {
        self.objects.get(id as usize)?.as_ref()
    }

    /// Returns the definition of a kind at a time; the first one if there is none before it.
    pub(crate) fn kind(&self, id: u32, time: i64) -> Option<&Arc<Kind>> {
        let mut entries = self.kinds.iter().filter(|entry| entry.id == id);
        let first = entries.clone().next();
        entries.rfind(|entry| entry.time <= time).or(first).map(|entry| &entry.kind)
    }

    /// Returns the frame that contains a position.
    pub(crate) fn frame_at(&self, position: u64) -> Option<FrameEntry> {
        let after = self.frames.partition_point(|frame| frame.offset <= position);
        let frame = *self.frames.get(after.checked_sub(1)?)?;
        (position < frame.offset + HEAD as u64 + u64::from(frame.length)).then_some(frame)
    }

    pub(crate) fn manager(&self, id: u32) -> Option<&Arc<str>> {
        self.managers.get((id as usize).checked_sub(1)?).filter(|name| !name.is_empty())
    }
}

/// The minimum size of the record of an object or a field manager.
const MIN_RECORD: u64 = 4;

/// Returns whether a record before `position` can define this number. Numbers are consecutive, apart from those in damaged parts, so
/// that a larger one is damaged; it must not determine how much memory is allocated.
pub(crate) fn is_possible_number(id: u32, position: u64) -> bool {
    u64::from(id) <= position / MIN_RECORD
}
