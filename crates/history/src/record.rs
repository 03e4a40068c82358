//! The records of a frame.

use crate::{
    encoding::{Input, Malformed, put_bytes, put_number, put_signed, put_version},
    kind::Kind,
};
use jiff::Timestamp;
use kube_informer_wire::{Key, ResourceVersion};

/// The type of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// The state of the object at the start of the history, or of the part of it that is retained.
    Checkpoint,
    /// The object was created.
    Added,
    /// The object was modified.
    Modified,
    /// The object was deleted.
    Deleted,
}

/// The source of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// An event of a watch.
    Watch,
    /// A list: the change happened at some time since the start of the gap before it.
    List,
}

/// The values that the records of a frame are relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameBase {
    /// Microseconds since 1970.
    pub(crate) time: i64,
    pub(crate) version: u64,
}

/// The size of an encoded [`FrameBase`].
pub(crate) const FRAME_BASE: usize = 16;

/// A decoded record.
#[derive(Debug, PartialEq)]
pub(crate) enum Record<'a> {
    Kind {
        id: u32,
        time: i64,
        kind: Box<Kind>,
    },
    Dictionary {
        kind: u32,
        content: &'a [u8],
    },
    Object {
        id: u32,
        kind: u32,
        key: Key,
        uid: &'a str,
    },
    Manager {
        id: u32,
        name: &'a str,
    },
    Change(ChangeRecord<'a>),
    Progress {
        kind: u32,
        time: i64,
        version: ResourceVersion,
    },
    GapStarted {
        scope: ScopeRecord<'a>,
        reason: &'a str,
    },
    GapEnded {
        scope: ScopeRecord<'a>,
    },
    ClockStepped {
        time: i64,
        clock: i64,
    },
    /// All records before this one are the checkpoint of the segment.
    CheckpointEnded,
}

/// The objects that a list or a watch covers, at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScopeRecord<'a> {
    pub(crate) kind: u32,
    /// Empty for all namespaces.
    pub(crate) namespace: &'a str,
    pub(crate) time: i64,
}

/// One change of one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChangeHead {
    pub(crate) time: i64,
    pub(crate) object: u32,
    pub(crate) event: Event,
    pub(crate) source: Source,
    /// Zero if unknown.
    pub(crate) manager: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ChangeRecord<'a> {
    pub(crate) head: ChangeHead,
    pub(crate) version: Option<ResourceVersion>,
    /// `None` for a deletion that was found by a list.
    pub(crate) body: Option<Body<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Body<'a> {
    pub(crate) layout: Layout,
    pub(crate) reference: Reference,
    pub(crate) compressed: &'a [u8],
}

/// The encoding of an object before compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    Json,
    Protobuf,
    ProtobufItem,
}

/// The bytes that an object is compressed against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reference {
    None,
    /// The dictionary of its kind in this segment.
    Dictionary,
    /// The object of the record at this position of the segment.
    Record(u64),
}

/// Converts a time of a record.
pub(crate) fn timestamp(microseconds: i64) -> Timestamp {
    let limit = if microseconds < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_microsecond(microseconds).unwrap_or(limit)
}

const KIND: u8 = 1;
const DICTIONARY: u8 = 2;
const OBJECT: u8 = 3;
const MANAGER: u8 = 4;
const PROGRESS: u8 = 5;
const GAP_STARTED: u8 = 6;
const GAP_ENDED: u8 = 7;
const CLOCK_STEPPED: u8 = 8;
const CHECKPOINT_ENDED: u8 = 9;
/// Changes have the remaining bits of the first byte for themselves.
const CHANGE: u8 = 0x80;
const FROM_LIST: u8 = 0x40;

impl FrameBase {
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.time.to_le_bytes());
        out.extend_from_slice(&self.version.to_le_bytes());
    }

    pub(crate) fn read(body: &[u8]) -> Result<Self, Malformed> {
        let mut input = Input::new(body);
        let mut next = || input.take(8)?.try_into().map_err(|_| Malformed);
        Ok(Self { time: i64::from_le_bytes(next()?), version: u64::from_le_bytes(next()?) })
    }
}

/// Appends a record that starts at `position` of the segment.
pub(crate) fn write(record: &Record<'_>, base: FrameBase, position: u64, out: &mut Vec<u8>) {
    let time = |time: i64, out: &mut Vec<u8>| put_signed(time.wrapping_sub(base.time), out);
    let scope = |scope: &ScopeRecord<'_>, out: &mut Vec<u8>| {
        put_number(scope.kind.into(), out);
        put_bytes(scope.namespace.as_bytes(), out);
        time(scope.time, out);
    };
    match record {
        Record::Kind { id, time: at, kind } => {
            out.push(KIND);
            put_number((*id).into(), out);
            time(*at, out);
            put_bytes(&serde_json::to_vec(kind).expect("a kind is valid JSON"), out);
        }
        Record::Dictionary { kind, content } => {
            out.push(DICTIONARY);
            put_number((*kind).into(), out);
            put_bytes(content, out);
        }
        Record::Object { id, kind, key, uid } => {
            out.push(OBJECT);
            put_number((*id).into(), out);
            put_number((*kind).into(), out);
            put_bytes(key.as_str().as_bytes(), out);
            put_bytes(uid.as_bytes(), out);
        }
        Record::Manager { id, name } => {
            out.push(MANAGER);
            put_number((*id).into(), out);
            put_bytes(name.as_bytes(), out);
        }
        Record::Change(change) => write_change(change, base, position, out),
        Record::Progress { kind, time: at, version } => {
            out.push(PROGRESS);
            put_number((*kind).into(), out);
            time(*at, out);
            put_version(Some(version), base.version, out);
        }
        Record::GapStarted { scope: of, reason } => {
            out.push(GAP_STARTED);
            scope(of, out);
            put_bytes(reason.as_bytes(), out);
        }
        Record::GapEnded { scope: of } => {
            out.push(GAP_ENDED);
            scope(of, out);
        }
        Record::ClockStepped { time: at, clock } => {
            out.push(CLOCK_STEPPED);
            time(*at, out);
            time(*clock, out);
        }
        Record::CheckpointEnded => out.push(CHECKPOINT_ENDED),
    }
}

/// The first byte has the event (2 bits), the layout (2 bits, 3 for no body) and the reference (2 bits).
fn write_change(change: &ChangeRecord<'_>, base: FrameBase, position: u64, out: &mut Vec<u8>) {
    let ChangeRecord { head, version, body } = change;
    let event = match head.event {
        Event::Checkpoint => 0,
        Event::Added => 1,
        Event::Modified => 2,
        Event::Deleted => 3,
    };
    let layout = match body.map(|body| body.layout) {
        Some(Layout::Json) => 0,
        Some(Layout::Protobuf) => 1,
        Some(Layout::ProtobufItem) => 2,
        None => 3,
    };
    let reference = match body.map(|body| body.reference) {
        None | Some(Reference::None) => 0,
        Some(Reference::Dictionary) => 1,
        Some(Reference::Record(_)) => 2,
    };
    let source = match head.source {
        Source::Watch => 0,
        Source::List => FROM_LIST,
    };
    out.push(CHANGE | source | event | layout << 2 | reference << 4);
    put_signed(head.time.wrapping_sub(base.time), out);
    put_number(head.object.into(), out);
    put_version(version.as_ref(), base.version, out);
    put_number(head.manager.into(), out);
    if let Some(body) = body {
        if let Reference::Record(offset) = body.reference {
            put_number(position - offset, out);
        }
        put_bytes(body.compressed, out);
    }
}

/// Reads the record at the position of `input` in the body of a frame.
pub(crate) fn read<'a>(
    input: &mut Input<'a>,
    base: FrameBase,
    body_offset: u64,
) -> Result<Record<'a>, Malformed> {
    let position = body_offset + input.position() as u64;
    let time = |input: &mut Input<'a>| Ok(base.time.wrapping_add(input.signed()?));
    let scope = |input: &mut Input<'a>| {
        Ok(ScopeRecord { kind: input.number_u32()?, namespace: input.text()?, time: time(input)? })
    };
    Ok(match input.byte()? {
        KIND => {
            let id = input.number_u32()?;
            let time = time(input)?;
            let kind = serde_json::from_slice(input.bytes()?).map_err(|_| Malformed)?;
            Record::Kind { id, time, kind }
        }
        DICTIONARY => Record::Dictionary { kind: input.number_u32()?, content: input.bytes()? },
        OBJECT => Record::Object {
            id: input.number_u32()?,
            kind: input.number_u32()?,
            key: input.key()?,
            uid: input.text()?,
        },
        MANAGER => Record::Manager { id: input.number_u32()?, name: input.text()? },
        PROGRESS => Record::Progress {
            kind: input.number_u32()?,
            time: time(input)?,
            version: input.version(base.version)?.ok_or(Malformed)?,
        },
        GAP_STARTED => Record::GapStarted { scope: scope(input)?, reason: input.text()? },
        GAP_ENDED => Record::GapEnded { scope: scope(input)? },
        CHECKPOINT_ENDED => Record::CheckpointEnded,
        CLOCK_STEPPED => Record::ClockStepped { time: time(input)?, clock: time(input)? },
        tag if tag & CHANGE != 0 => Record::Change(read_change(input, tag, base, position)?),
        _ => return Err(Malformed),
    })
}

fn read_change<'a>(
    input: &mut Input<'a>,
    tag: u8,
    base: FrameBase,
    position: u64,
) -> Result<ChangeRecord<'a>, Malformed> {
    let event = match tag & 3 {
        0 => Event::Checkpoint,
        1 => Event::Added,
        2 => Event::Modified,
        _ => Event::Deleted,
    };
    let layout = match tag >> 2 & 3 {
        0 => Some(Layout::Json),
        1 => Some(Layout::Protobuf),
        2 => Some(Layout::ProtobufItem),
        _ => None,
    };
    let source = if tag & FROM_LIST == 0 { Source::Watch } else { Source::List };
    let time = base.time.wrapping_add(input.signed()?);
    let object = input.number_u32()?;
    let version = input.version(base.version)?;
    let manager = input.number_u32()?;
    let body = match layout {
        None => None,
        Some(layout) => {
            let reference = match tag >> 4 & 3 {
                0 => Reference::None,
                1 => Reference::Dictionary,
                2 => Reference::Record(position.checked_sub(input.number()?.max(1)).ok_or(Malformed)?),
                _ => return Err(Malformed),
            };
            Some(Body { layout, reference, compressed: input.bytes()? })
        }
    };
    Ok(ChangeRecord { head: ChangeHead { time, object, event, source, manager }, version, body })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn records_are_read_as_they_were_written() {
        let base = FrameBase { time: 1_700_000_000_000_000, version: 5_000 };
        let scope = ScopeRecord { kind: 3, namespace: "web", time: base.time + 9 };
        let kind = Kind::new("apps", "v1", "Deployment", "deployments");
        let mut records = vec![
            Record::Kind { id: 3, time: base.time, kind: Box::new(kind) },
            Record::Dictionary { kind: 3, content: b"content" },
            Record::Object { id: 300, kind: 3, key: "web/a".parse().unwrap(), uid: "u" },
            Record::Manager { id: 1, name: "kubelet" },
            Record::Progress { kind: 3, time: base.time - 1, version: ResourceVersion::number(4_999) },
            Record::GapStarted { scope, reason: "watch closed" },
            Record::GapEnded { scope },
            Record::ClockStepped { time: base.time, clock: base.time - 1_000_000 },
            Record::CheckpointEnded,
        ];
        for event in [Event::Checkpoint, Event::Added, Event::Modified, Event::Deleted] {
            for source in [Source::Watch, Source::List] {
                let head = ChangeHead { time: base.time + 7, object: 300, event, source, manager: 1 };
                let version = Some(ResourceVersion::number(6_000));
                records.push(Record::Change(ChangeRecord { head, version: version.clone(), body: None }));
                for layout in [Layout::Json, Layout::Protobuf, Layout::ProtobufItem] {
                    for reference in [Reference::None, Reference::Dictionary, Reference::Record(20)] {
                        let body = Some(Body { layout, reference, compressed: b"xyz" });
                        records.push(Record::Change(ChangeRecord { head, version: version.clone(), body }));
                    }
                }
            }
        }
        let mut bytes = Vec::new();
        for record in &records {
            let position = 100 + bytes.len() as u64;
            write(record, base, position, &mut bytes);
        }
        let mut input = Input::new(&bytes);
        for record in &records {
            assert_eq!(&read(&mut input, base, 100).unwrap(), record);
        }
        assert!(input.is_empty());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>, time: i64, version: u64) {
            let mut input = Input::new(&bytes);
            while !input.is_empty() && read(&mut input, FrameBase { time, version }, 0).is_ok() {}
        }
    }
}
