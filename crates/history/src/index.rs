//! The index of a segment: its objects with the times and positions of their versions, its frames, gaps and kinds.
//!
//! The recorder and readers build it from the frames, so that both always agree. For a completed segment it is also stored in a
//! file, which is only a copy: if it is missing or damaged, the segment is scanned.

use crate::{
    encoding::{Input, Malformed, put_bytes, put_number, put_signed, put_version},
    frame::HEAD,
    kind::Kind,
    record::{self, Event, FRAME_BASE, FrameBase, Record, ScopeRecord},
};
use bytes::Bytes;
use kube_informer_wire::{Key, KeyMap, ResourceVersion};
use std::{collections::HashMap, sync::Arc};
use twox_hash::XxHash3_64;

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
    pub(crate) changes: u64,
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
#[derive(Clone, Debug, PartialEq, Eq)]
enum Encoded {
    Stored(Bytes),
    Own(Vec<u8>),
}

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
    fn push(&mut self, entry: VersionEntry) {
        let (time, offset) = self.last.map_or((0, 0), |last| (last.time, last.offset));
        let bytes = self.bytes.to_mut();
        put_signed(entry.time.wrapping_sub(time), bytes);
        put_number(entry.offset.wrapping_sub(offset) << 2 | event_bits(entry.event), bytes);
        self.last = Some(entry);
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
                self.add_object(*id, entry);
            }
            Record::Manager { id, name } => {
                let index = (*id as usize).saturating_sub(1).min(self.managers.len() + MAX_MISSING);
                self.managers.resize((index + 1).max(self.managers.len()), "".into());
                self.managers[index] = (*name).into();
            }
            Record::Change(change) => {
                self.last_time = self.last_time.max(change.head.time);
                let object = self.objects.get_mut(change.head.object as usize).and_then(Option::as_mut);
                if let Some(object) = object {
                    let (time, event) = (change.head.time, change.head.event);
                    object.versions.push(VersionEntry { time, offset: position, event });
                    self.changes += u64::from(event != Event::Checkpoint);
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

    fn add_object(&mut self, id: u32, entry: ObjectEntry) {
        let index = id as usize;
        // Numbers are consecutive, apart from those in damaged parts.
        if index > self.objects.len() + MAX_MISSING {
            return;
        }
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

/// The maximum number of consecutive numbers that are lost in one damaged part.
const MAX_MISSING: usize = 10_000_000;

const MAGIC: &[u8; 8] = b"KHISTIX2";

impl SegmentIndex {
    /// Encodes the index of the segment with this seed, to be stored.
    pub(crate) fn encode(&self, seed: u64) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        put_number(self.end, &mut out);
        put_signed(self.last_time, &mut out);
        put_number(self.changes, &mut out);
        put_number(self.checkpoint_end.unwrap_or_default(), &mut out);
        put_signed(self.damaged_since.unwrap_or(i64::MIN), &mut out);
        put_list(&self.frames, &mut out, |frame, out| {
            put_number(frame.offset, out);
            put_number(frame.length.into(), out);
            put_signed(frame.time, out);
        });
        put_list(&self.kinds, &mut out, |entry, out| {
            put_number(entry.id.into(), out);
            put_signed(entry.time, out);
            put_bytes(&serde_json::to_vec(&*entry.kind).expect("a kind is valid JSON"), out);
        });
        put_list(&self.dictionaries, &mut out, |(kind, offset), out| {
            put_number((*kind).into(), out);
            put_number(*offset, out);
        });
        put_list(&self.managers, &mut out, |name, out| put_bytes(name.as_bytes(), out));
        put_list(&self.progress, &mut out, |entry, out| {
            put_number(entry.kind.into(), out);
            put_signed(entry.time, out);
            put_version(Some(&entry.version), 0, out);
        });
        put_list(&self.gaps, &mut out, |gap, out| {
            put_number(gap.kind.into(), out);
            put_bytes(gap.namespace.as_bytes(), out);
            put_signed(gap.from, out);
            put_signed(gap.to.unwrap_or(i64::MIN), out);
            put_bytes(gap.reason.as_bytes(), out);
        });
        put_list(&self.clock_steps, &mut out, |step, out| {
            put_signed(step.time, out);
            put_signed(step.clock, out);
        });
        put_list(&self.objects, &mut out, |object, out| match object {
            None => put_number(0, out),
            Some(object) => {
                put_number(u64::from(object.kind) + 1, out);
                put_bytes(object.key.as_str().as_bytes(), out);
                put_bytes(object.uid.as_bytes(), out);
                put_bytes(object.versions.bytes.as_slice(), out);
                let last = object.versions.last;
                put_signed(last.map_or(i64::MIN, |last| last.time), out);
                put_number(last.map_or(0, |last| last.offset << 2 | event_bits(last.event)), out);
            }
        });
        let checksum = XxHash3_64::oneshot_with_seed(seed, &out);
        out.extend_from_slice(&checksum.to_le_bytes());
        out
    }

    /// Decodes the stored index of the segment with this seed.
    pub(crate) fn decode(stored: &Bytes, seed: u64) -> Result<Self, Malformed> {
        let (body, checksum) = stored.split_last_chunk::<8>().ok_or(Malformed)?;
        if XxHash3_64::oneshot_with_seed(seed, body) != u64::from_le_bytes(*checksum) {
            return Err(Malformed);
        }
        let mut input = Input::new(body);
        if input.take(MAGIC.len())? != MAGIC {
            return Err(Malformed);
        }
        let optional = |time: i64| (time != i64::MIN).then_some(time);
        let mut index = Self {
            end: input.number()?,
            last_time: input.signed()?,
            changes: input.number()?,
            checkpoint_end: Some(input.number()?).filter(|end| *end > 0),
            damaged_since: optional(input.signed()?),
            ..Self::default()
        };
        index.frames = take_list(&mut input, |input| {
            Ok(FrameEntry { offset: input.number()?, length: input.number_u32()?, time: input.signed()? })
        })?;
        index.kinds = take_list(&mut input, |input| {
            let (id, time) = (input.number_u32()?, input.signed()?);
            let kind = serde_json::from_slice(input.bytes()?).map_err(|_| Malformed)?;
            Ok(KindEntry { id, time, kind: Arc::new(kind) })
        })?;
        let dictionaries = take_list(&mut input, |input| Ok((input.number_u32()?, input.number()?)))?;
        index.dictionaries = dictionaries.into_iter().collect();
        index.managers = take_list(&mut input, |input| Ok(input.text()?.into()))?;
        index.progress = take_list(&mut input, |input| {
            let (kind, time) = (input.number_u32()?, input.signed()?);
            Ok(ProgressEntry { kind, time, version: input.version(0)?.ok_or(Malformed)? })
        })?;
        index.gaps = take_list(&mut input, |input| {
            let (kind, namespace) = (input.number_u32()?, input.text()?.into());
            let (from, to) = (input.signed()?, optional(input.signed()?));
            Ok(GapEntry { kind, namespace, from, to, reason: input.text()?.into() })
        })?;
        index.clock_steps =
            take_list(&mut input, |input| Ok(ClockStep { time: input.signed()?, clock: input.signed()? }))?;
        let objects = take_list(&mut input, |input| take_object(input, stored))?;
        for (id, object) in (0..).zip(objects) {
            match object {
                Some(object) => index.add_object(id, object),
                None => index.objects.push(None),
            }
        }
        Ok(index)
    }
}

/// Takes an object, whose versions stay a part of the stored index.
fn take_object(input: &mut Input<'_>, stored: &Bytes) -> Result<Option<ObjectEntry>, Malformed> {
    let Some(kind) = input.number_u32()?.checked_sub(1) else { return Ok(None) };
    let (key, uid) = (input.key()?, input.text()?.into());
    let bytes = Encoded::Stored(stored.slice_ref(input.bytes()?));
    let (time, packed) = (input.signed()?, input.number()?);
    let entry = VersionEntry { time, offset: packed >> 2, event: event_of(packed) };
    let versions = VersionList { bytes, last: Some(entry).filter(|_| time != i64::MIN) };
    Ok(Some(ObjectEntry { kind, key, uid, versions }))
}

fn put_list<I: IntoIterator<IntoIter: ExactSizeIterator>>(
    list: I,
    out: &mut Vec<u8>,
    put: impl Fn(I::Item, &mut Vec<u8>),
) {
    let items = list.into_iter();
    put_number(items.len() as u64, out);
    items.for_each(|item| put(item, out));
}

fn take_list<'a, T>(
    input: &mut Input<'a>,
    take: impl Fn(&mut Input<'a>) -> Result<T, Malformed>,
) -> Result<Vec<T>, Malformed> {
    let count = input.number()?;
    let mut list = Vec::new();
    for _ in 0..count {
        list.push(take(input)?);
    }
    Ok(list)
}
