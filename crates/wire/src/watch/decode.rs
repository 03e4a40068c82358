//! Why a frame could not be read, and what becomes of the object in one.

use super::event::{EventType, WatchEvent};
use crate::{object::ObjectError, protobuf::ProtobufError};

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
