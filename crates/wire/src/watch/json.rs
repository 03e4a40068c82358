//! Decodes one frame of a watch in JSON.

use super::{
    bookmark::Bookmark,
    decode::DecodeError,
    event::{EventType, WatchEvent},
};
use crate::{
    decode::redacted,
    json::Scanner,
    object::{Format, Identity, ManagedFields, ObjectError, Raw, decode_json_object, decode_object},
    status::status_from_body,
};
use bytes::Bytes;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;

impl<K: DeserializeOwned> WatchEvent<K> {
    /// Decodes one frame in JSON. An error event with an object that is not a status has it as the message.
    ///
    /// # Errors
    /// [`DecodeError`]; the watch can continue after [`DecodeError::Object`].
    pub fn decode(frame: &[u8]) -> Result<Self, DecodeError> {
        decode(frame, ManagedFields::Keep)
    }
}

/// Decodes a frame and its object.
pub(super) fn decode<K: DeserializeOwned>(
    frame: &[u8],
    managed_fields: ManagedFields,
) -> Result<WatchEvent<K>, DecodeError> {
    read(frame, |object| decode_json_object(object, managed_fields))
}

/// Splits a frame without decoding its object.
///
/// If a frame starts as usual, the rest is the object. It may turn out to be malformed when
/// it is decoded, or to have trailing data.
pub(super) fn split(frame: &Bytes) -> Result<WatchEvent<Raw>, DecodeError> {
    read(frame, |object| Ok(Raw::new(Format::Json, frame.slice_ref(object))))
}

fn read<'a, T>(
    frame: &'a [u8],
    object: impl Fn(&'a [u8]) -> Result<T, ObjectError>,
) -> Result<WatchEvent<T>, DecodeError> {
    if let Some(event) = split_usual(frame)
        && let Ok(event) = event.try_map(&object)
    {
        return Ok(event);
    }
    // The object may have trailing data. This is slow, and rarely needed.
    split_any(frame)?.try_map(object)
}

/// Splits a frame of `type` and `object` in this order, without reading the object; `None` for any other.
fn split_usual(frame: &[u8]) -> Option<WatchEvent<&[u8]>> {
    let mut scanner = Scanner::new(frame);
    scanner.enter(b'{').ok()?;
    scanner.next_key().ok()?.filter(|key| key.is("type"))?;
    let event = EventType::parse(&scanner.string().ok()??)?;
    scanner.next_key().ok()?.filter(|key| key.is("object"))?;
    let object = frame[scanner.position()..].strip_suffix(b"}")?;
    if object.first() != Some(&b'{') || object.last() != Some(&b'}') {
        return None;
    }
    match event {
        EventType::Added => Some(WatchEvent::Added(object)),
        EventType::Modified => Some(WatchEvent::Modified(object)),
        EventType::Deleted => Some(WatchEvent::Deleted(object)),
        EventType::Bookmark | EventType::Error => None,
    }
}

/// Splits any frame.
fn split_any(frame: &[u8]) -> Result<WatchEvent<&[u8]>, DecodeError> {
    #[derive(Deserialize)]
    struct Parts<'a> {
        r#type: String,
        #[serde(borrow)]
        object: &'a RawValue,
    }
    let Parts { r#type, object } =
        serde_json::from_slice(frame).map_err(|error| DecodeError::Frame(redacted(error)))?;
    let object = object.get().as_bytes();
    let Some(event) = EventType::parse(&r#type) else {
        let version = Identity::of_json(object).and_then(|identity| identity.version());
        return Ok(WatchEvent::Unknown { kind: r#type, version });
    };
    match event {
        EventType::Added => Ok(WatchEvent::Added(object)),
        EventType::Modified => Ok(WatchEvent::Modified(object)),
        EventType::Deleted => Ok(WatchEvent::Deleted(object)),
        EventType::Error => Ok(WatchEvent::Error(status_from_body(500, object).boxed())),
        EventType::Bookmark => decode_object(object)
            .map(Bookmark::into_event)
            .map_err(|cause| DecodeError::Object { event, cause }),
    }
}
