//! Reads one frame of a watch in JSON.

use super::{
    bookmark::Bookmark,
    decode::DecodeError,
    event::{EventType, WatchEvent},
};
use crate::{
    object::{Format, Identity, ManagedFields, ObjectError, Raw, decode_json, decode_object},
    status::status_from_body,
};
use bytes::Bytes;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;

impl<K: DeserializeOwned> WatchEvent<K> {
    /// Reads one frame.
    ///
    /// An error event always can be read: what is no status becomes the message of one.
    ///
    /// # Errors
    /// [`DecodeError::Frame`] or [`DecodeError::Object`]; the watch can go on after the latter.
    pub fn decode(frame: &[u8]) -> Result<Self, DecodeError> {
        decode(frame, ManagedFields::Keep)
    }
}

/// Reads a frame, and decodes its object.
pub(super) fn decode<K: DeserializeOwned>(
    frame: &[u8],
    managed_fields: ManagedFields,
) -> Result<WatchEvent<K>, DecodeError> {
    read(frame, |object| decode_json(object, managed_fields))
}

/// Takes a frame apart, and leaves its object as it came.
///
/// A frame that begins as the API server writes it is not looked at any further, so that an object may turn out to be
/// malformed when it is decoded, or followed by what does not belong to it.
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
    // The object may have been taken for more than it is. The way that finds out is slow, and is not gone often.
    split_other(frame)?.try_map(object)
}

fn split_usual(frame: &[u8]) -> Option<WatchEvent<&[u8]>> {
    let rest = frame.strip_prefix(b"{\"type\":\"")?;
    let (name, rest) = rest.split_at(rest.iter().position(|byte| *byte == b'"')?);
    let object = rest.strip_prefix(b"\",\"object\":")?.strip_suffix(b"}")?;
    let is_object = object.first() == Some(&b'{') && object.last() == Some(&b'}');
    let event = EventType::named(std::str::from_utf8(name).ok()?)?;
    match event {
        EventType::Added if is_object => Some(WatchEvent::Added(object)),
        EventType::Modified if is_object => Some(WatchEvent::Modified(object)),
        EventType::Deleted if is_object => Some(WatchEvent::Deleted(object)),
        _ => None,
    }
}

fn split_other(frame: &[u8]) -> Result<WatchEvent<&[u8]>, DecodeError> {
    #[derive(Deserialize)]
    struct Parts<'a> {
        r#type: String,
        #[serde(borrow)]
        object: &'a RawValue,
    }
    let Parts { r#type, object } = serde_json::from_slice(frame).map_err(DecodeError::Frame)?;
    let object = object.get().as_bytes();
    let Some(event) = EventType::named(&r#type) else {
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
