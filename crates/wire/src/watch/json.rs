//! Takes a frame of JSON apart without reading the object in it.

use super::{
    decode::DecodeError,
    event::{EventType, WatchEvent},
};
use crate::object::{Format, Raw};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

/// Takes a frame apart, and leaves its object as it came.
///
/// A frame that begins as the API server writes it is not looked at any further, so that an object may turn out to be
/// malformed when it is decoded, or followed by what does not belong to it.
pub(super) fn split(frame: &Bytes) -> Result<WatchEvent<Raw>, DecodeError> {
    let (event, object) = match split_usual(frame) {
        Some(split) => split,
        None => match split_other(frame)? {
            Some(split) => split,
            None => return decode_whole(frame),
        },
    };
    let raw = Raw::new(Format::Json, frame.slice_ref(object));
    match event {
        EventType::Added => Ok(WatchEvent::Added(raw)),
        EventType::Modified => Ok(WatchEvent::Modified(raw)),
        EventType::Deleted => Ok(WatchEvent::Deleted(raw)),
        EventType::Bookmark | EventType::Error => decode_whole(frame),
    }
}

fn split_usual(frame: &[u8]) -> Option<(EventType, &[u8])> {
    let rest = frame.strip_prefix(b"{\"type\":\"")?;
    let (name, rest) = rest.split_at(rest.iter().position(|byte| *byte == b'"')?);
    let object = rest.strip_prefix(b"\",\"object\":")?.strip_suffix(b"}")?;
    let is_object = object.first() == Some(&b'{') && object.last() == Some(&b'}');
    let event = EventType::named(std::str::from_utf8(name).ok()?)?;
    is_object.then_some((event, object))
}

fn split_other(frame: &[u8]) -> Result<Option<(EventType, &[u8])>, DecodeError> {
    #[derive(Deserialize)]
    struct Parts<'a> {
        r#type: String,
        #[serde(borrow)]
        object: &'a RawValue,
    }
    let Parts { r#type, object } = serde_json::from_slice(frame).map_err(DecodeError::Frame)?;
    Ok(EventType::named(&r#type).map(|event| (event, object.get().as_bytes())))
}

/// Reads an event that has no object of the kind that is watched.
fn decode_whole(frame: &[u8]) -> Result<WatchEvent<Raw>, DecodeError> {
    /// Nothing is decoded into it: the events that hold objects do not come here.
    #[derive(Deserialize)]
    struct NoObject {}
    let event = WatchEvent::<NoObject>::decode(frame)?;
    event.try_map(|NoObject {}| Ok(Raw::new(Format::Json, Bytes::new())))
}
