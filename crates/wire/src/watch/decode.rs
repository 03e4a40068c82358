//! Errors of frames, and conversions of the objects in events.

use super::event::{EventType, WatchEvent};
use crate::{object::ObjectError, protobuf::ProtobufError};

/// A watch frame that cannot be decoded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The frame is malformed JSON: the watch must be restarted.
    #[error("malformed watch frame")]
    Frame(#[source] serde_json::Error),
    /// The frame is malformed protobuf: the watch must be restarted.
    #[error("malformed watch frame")]
    Protobuf(#[source] ProtobufError),
    /// The object of the event cannot be decoded; the watch can continue.
    #[error("{event} event cannot be decoded")]
    Object {
        /// The type of the event.
        event: EventType,
        /// The error in the object.
        #[source]
        cause: ObjectError,
    },
}

impl DecodeError {
    /// Returns the error in the object; `None` if the frame is malformed.
    #[must_use]
    pub fn object(&self) -> Option<&ObjectError> {
        match self {
            Self::Frame(_) | Self::Protobuf(_) => None,
            Self::Object { cause, .. } => Some(cause),
        }
    }
}

impl<T> WatchEvent<T> {
    /// Converts the object of the event.
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

    /// Converts the object of the event with a function that can fail.
    ///
    /// # Errors
    /// [`DecodeError::Object`] with the error of `decode`.
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
