//! Decodes one frame of a watch in protobuf.

use super::{
    bookmark::Bookmark,
    decode::DecodeError,
    event::{EventType, WatchEvent},
};
use crate::{
    object::{Format, ManagedFields, ObjectError, Raw},
    protobuf::{Envelope, ProtobufError, Reader, Tag, Wire},
    status::status_from_body,
};
use bytes::Bytes;

/// Splits a frame without decoding its object.
pub(super) fn split(frame: &Bytes) -> Result<WatchEvent<Raw>, DecodeError> {
    let (kind, object) = read(frame).map_err(DecodeError::Protobuf)?;
    let event = EventType::parse(kind);
    if event == Some(EventType::Error) {
        return Ok(WatchEvent::Error(status_from_body(500, object.rest()).boxed()));
    }
    let envelope = Envelope::open(object).map_err(DecodeError::Protobuf)?;
    let schema = envelope.types.schema().map_err(DecodeError::Protobuf)?;
    let raw = Raw::new(Format::Protobuf(schema), frame.slice_ref(envelope.object.rest()));
    Ok(match event {
        Some(EventType::Added) => WatchEvent::Added(raw),
        Some(EventType::Modified) => WatchEvent::Modified(raw),
        Some(EventType::Deleted) => WatchEvent::Deleted(raw),
        Some(event @ (EventType::Bookmark | EventType::Error)) => {
            let failed = |cause: ObjectError| DecodeError::Object { event, cause };
            raw.decode::<Bookmark>(ManagedFields::Drop).map_err(failed)?.into_event()
        }
        None => {
            let version = raw.identity().and_then(|identity| identity.version());
            WatchEvent::Unknown { kind: kind.to_owned(), version }
        }
    })
}

/// Returns the type of an event, and its object in an envelope.
fn read(frame: &[u8]) -> Result<(&str, Reader<'_>), ProtobufError> {
    let mut kind = "";
    let mut object = Reader::new(&[]);
    let mut reader = Reader::new(frame);
    while let Some(tag) = reader.tag()? {
        match tag {
            Tag { number: 1, wire: Wire::Length } => kind = reader.text()?,
            Tag { number: 2, wire: Wire::Length } => {
                let raw = reader.message()?.find(1, Wire::Length)?;
                object = raw.map(|mut raw| raw.message()).transpose()?.unwrap_or(object);
            }
            Tag { wire, .. } => reader.skip(wire)?,
        }
    }
    Ok((kind, object))
}
