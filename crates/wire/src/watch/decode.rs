//! Reads one frame of a watch in one pass.

use super::{
    bookmark::Bookmark,
    event::{EventType, WatchEvent},
};
use crate::{
    object::{Format, ObjectError, Raw, decode_tracked},
    protobuf::ProtobufError,
    status::status_from_body,
};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, DeserializeSeed, Error as _, IgnoredAny, MapAccess, Visitor},
};
use serde_json::value::RawValue;
use std::{borrow::Cow, fmt, marker::PhantomData};

/// Why a frame could not be turned into an event.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The frame is no event at all: the stream cannot be trusted, and the watch is to be begun again.
    #[error("watch frame cannot be read")]
    Frame(#[source] serde_json::Error),
    /// The same, of a frame in protobuf.
    #[error("watch frame cannot be read")]
    Protobuf(#[source] ProtobufError),
    /// The frame is an event whose object is not what was expected: the watch itself is sound, and can go on.
    #[error("{event} event cannot be decoded")]
    Object {
        /// The type of the event.
        event: EventType,
        /// Which object, and what is wrong with it.
        #[source]
        cause: ObjectError,
    },
}

impl DecodeError {
    /// The object that could not be decoded, if the frame itself could be read.
    #[must_use]
    pub fn object(&self) -> Option<&ObjectError> {
        match self {
            Self::Frame(_) | Self::Protobuf(_) => None,
            Self::Object { cause, .. } => Some(cause),
        }
    }
}

impl<K: DeserializeOwned> WatchEvent<K> {
    /// Reads one frame.
    ///
    /// The object is decoded where it stands if the type comes before it, as the API server writes it, and is set aside
    /// otherwise. An error event always can be read: what is no status becomes the message of one.
    ///
    /// # Errors
    /// [`DecodeError::Frame`] or [`DecodeError::Object`]; the watch can go on after the latter.
    pub fn decode(frame: &[u8]) -> Result<Self, DecodeError> {
        // Once for the whole frame is cheaper than once for each string in it.
        let Ok(text) = std::str::from_utf8(frame) else { return decode_again(frame) };
        let mut deserializer = serde_json::Deserializer::from_str(text);
        match deserializer.deserialize_map(FrameVisitor(PhantomData)) {
            Ok(event) if deserializer.end().is_ok() => Ok(event),
            Ok(_) | Err(_) => decode_again(frame),
        }
    }
}

impl<T> WatchEvent<T> {
    /// The same event with what `change` makes of its object.
    pub fn map<K>(self, change: impl FnOnce(T) -> K) -> WatchEvent<K> {
        match self {
            Self::Added(object) => WatchEvent::Added(change(object)),
            Self::Modified(object) => WatchEvent::Modified(change(object)),
            Self::Deleted(object) => WatchEvent::Deleted(change(object)),
            Self::Bookmark { version, initial_events_end } => {
                WatchEvent::Bookmark { version, initial_events_end }
            }
            Self::Error(status) => WatchEvent::Error(status),
            Self::Unknown { kind, version } => WatchEvent::Unknown { kind, version },
        }
    }

    /// The same event with its object decoded by `decode`.
    ///
    /// # Errors
    /// [`DecodeError::Object`], with what `decode` said.
    pub fn try_map<K>(
        self,
        decode: impl FnOnce(T) -> Result<K, ObjectError>,
    ) -> Result<WatchEvent<K>, DecodeError> {
        let failed = |event| move |cause| DecodeError::Object { event, cause };
        match self {
            Self::Added(object) => decode(object).map(WatchEvent::Added).map_err(failed(EventType::Added)),
            Self::Modified(object) => {
                decode(object).map(WatchEvent::Modified).map_err(failed(EventType::Modified))
            }
            Self::Deleted(object) => {
                decode(object).map(WatchEvent::Deleted).map_err(failed(EventType::Deleted))
            }
            Self::Bookmark { version, initial_events_end } => {
                Ok(WatchEvent::Bookmark { version, initial_events_end })
            }
            Self::Error(status) => Ok(WatchEvent::Error(status)),
            Self::Unknown { kind, version } => Ok(WatchEvent::Unknown { kind, version }),
        }
    }
}

/// Finds out what was wrong with a frame: its object, or the frame itself.
fn decode_again<K: DeserializeOwned>(frame: &[u8]) -> Result<WatchEvent<K>, DecodeError> {
    #[derive(Deserialize)]
    struct Frame<'a> {
        #[serde(borrow)]
        r#type: Kind<'a>,
        #[serde(borrow)]
        object: &'a RawValue,
    }
    let Frame { r#type, object } = serde_json::from_slice(frame).map_err(DecodeError::Frame)?;
    let json = object.get().as_bytes();
    let Kind::Known(event) = r#type else {
        return ObjectSeed::new(&r#type).deserialize(object).map_err(DecodeError::Frame);
    };
    let decoded = match event {
        EventType::Added => decode_tracked(json).map(WatchEvent::Added),
        EventType::Modified => decode_tracked(json).map(WatchEvent::Modified),
        EventType::Deleted => decode_tracked(json).map(WatchEvent::Deleted),
        EventType::Bookmark => decode_tracked(json).map(Bookmark::into_event),
        EventType::Error => Ok(error_event(json)),
    };
    decoded.map_err(|cause| DecodeError::Object { event, cause })
}

fn error_event<K>(json: &[u8]) -> WatchEvent<K> {
    WatchEvent::Error(status_from_body(500, json).boxed())
}

/// The type of an event as a frame names it.
enum Kind<'a> {
    Known(EventType),
    Other(Cow<'a, str>),
}

impl<'de: 'a, 'a> Deserialize<'de> for Kind<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
        let Text(text) = Text::deserialize(deserializer)?;
        Ok(EventType::named(&text).map_or(Self::Other(text), Self::Known))
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Field {
    Type,
    Object,
    #[serde(other)]
    Other,
}

struct FrameVisitor<K>(PhantomData<K>);

impl<'de, K: DeserializeOwned> Visitor<'de> for FrameVisitor<K> {
    type Value = WatchEvent<K>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a watch event")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<WatchEvent<K>, A::Error> {
        let (mut kind, mut event, mut set_aside) = (None::<Kind<'de>>, None, None::<&RawValue>);
        while let Some(field) = map.next_key()? {
            match (field, &kind) {
                (Field::Type, Some(_)) => return Err(A::Error::duplicate_field("type")),
                (Field::Type, None) => kind = Some(map.next_value()?),
                (Field::Object, _) if event.is_some() || set_aside.is_some() => {
                    return Err(A::Error::duplicate_field("object"));
                }
                (Field::Object, Some(kind)) => event = Some(map.next_value_seed(ObjectSeed::new(kind))?),
                (Field::Object, None) => set_aside = Some(map.next_value()?),
                (Field::Other, _) => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        match (kind, event, set_aside) {
            (None, ..) => Err(A::Error::missing_field("type")),
            (Some(_), Some(event), _) => Ok(event),
            (Some(kind), None, Some(object)) => {
                ObjectSeed::new(&kind).deserialize(object).map_err(A::Error::custom)
            }
            (Some(_), None, None) => Err(A::Error::missing_field("object")),
        }
    }
}

/// Decodes the object of an event whose type is known.
struct ObjectSeed<'k, 'a, K>(&'k Kind<'a>, PhantomData<K>);

impl<'k, 'a, K> ObjectSeed<'k, 'a, K> {
    fn new(kind: &'k Kind<'a>) -> Self {
        Self(kind, PhantomData)
    }
}

impl<'de, K: DeserializeOwned> DeserializeSeed<'de> for ObjectSeed<'_, '_, K> {
    type Value = WatchEvent<K>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<WatchEvent<K>, D::Error> {
        match self.0 {
            Kind::Known(EventType::Added) => K::deserialize(deserializer).map(WatchEvent::Added),
            Kind::Known(EventType::Modified) => K::deserialize(deserializer).map(WatchEvent::Modified),
            Kind::Known(EventType::Deleted) => K::deserialize(deserializer).map(WatchEvent::Deleted),
            Kind::Known(EventType::Bookmark) => Bookmark::deserialize(deserializer).map(Bookmark::into_event),
            Kind::Known(EventType::Error) => {
                let object = <&RawValue>::deserialize(deserializer)?;
                Ok(error_event(object.get().as_bytes()))
            }
            Kind::Other(kind) => {
                let object = <&RawValue>::deserialize(deserializer)?;
                let raw = Raw::new(Format::Json, bytes::Bytes::copy_from_slice(object.get().as_bytes()));
                let version = raw.identity().and_then(|identity| identity.version());
                Ok(WatchEvent::Unknown { kind: kind.clone().into_owned(), version })
            }
        }
    }
}
