//! The error of a list or a watch.

use crate::{
    boxed::BoxError,
    object::{ItemError, KindError},
};
use kube_core::Status;
use kube_informer_wire::{DecodeError, FrameError, ListError, StatusExt};
use std::{error::Error as StdError, io, time::Duration};

/// The error of a list or a watch.
///
/// Use the methods, such as [`is_expired`](Self::is_expired), to decide how to handle it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server responded with an error.
    #[error("server returned {}: {}", status.code, status.message)]
    Status {
        /// The response of the server.
        status: Box<Status>,
        /// The value of the header `Retry-After`.
        retry_after: Option<Duration>,
    },
    /// The request or the response was not transmitted completely.
    #[error("connection to the server failed")]
    Transport(#[source] BoxError),
    /// The response to a list is not a valid list.
    #[error("list cannot be read")]
    List(#[from] ListError),
    /// The response to a watch cannot be split into frames.
    #[error("watch cannot be read")]
    Frame(#[from] FrameError),
    /// A frame of a watch or its object cannot be decoded.
    #[error("watch event cannot be decoded")]
    Event(#[from] DecodeError),
    /// The object of a watch event is malformed.
    #[error("watch event cannot be decoded")]
    Item(#[source] ItemError),
    /// The object of a watch event has an unexpected kind.
    #[error("watch event skipped")]
    Kind(#[from] KindError),
    /// The pages of a list do not end: the server repeats a continue token, or sends empty pages.
    #[error("list does not end: the server sent {pages} pages in succession without progress")]
    EndlessList {
        /// The number of pages.
        pages: u32,
    },
    /// The server applied another shard selector than the one of the request.
    #[error("server applied the shard selector {applied:?} to a request with {requested:?}")]
    OtherShard {
        /// The selector of the request.
        requested: String,
        /// The selector in `shardInfo` of the list.
        applied: String,
    },
    /// The response is a table, which contains no objects.
    #[error("response is a {kind} ({api_version}), which is not supported")]
    Table {
        /// `Table`.
        kind: String,
        /// `meta.k8s.io/v1` or `meta.k8s.io/v1beta1`.
        api_version: String,
    },
}

impl Error {
    /// Creates the error of a server that responded with this status.
    #[must_use]
    pub fn status(status: Status) -> Self {
        Self::Status { status: Box::new(status), retry_after: None }
    }

    /// Returns the error response of the server; `None` for other errors.
    #[must_use]
    pub fn as_status(&self) -> Option<&Status> {
        match self {
            Self::Status { status, .. } => Some(status),
            _ => None,
        }
    }

    /// Returns true if the requested version has expired: 410 Expired or Gone.
    #[must_use]
    pub fn is_expired(&self) -> bool {
        self.as_status().is_some_and(StatusExt::is_expired_status)
    }

    /// Returns true if the requested version is newer than the server's (`ResourceVersionTooLarge`).
    #[must_use]
    pub fn is_version_too_large(&self) -> bool {
        self.as_status().is_some_and(StatusExt::is_version_too_large_status)
    }

    /// Returns true if the server is throttling requests: 429.
    #[must_use]
    pub fn is_too_many_requests(&self) -> bool {
        self.as_status().is_some_and(StatusExt::is_too_many_requests_status)
    }

    /// Returns true for an internal error of the server: 500.
    #[must_use]
    pub fn is_internal(&self) -> bool {
        self.as_status().is_some_and(StatusExt::is_internal_error_status)
    }

    /// Returns true if the server considers the request invalid: 400 or 422.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        self.as_status().is_some_and(|status| matches!(status.code, 400 | 422))
    }

    /// Returns true if the credentials were rejected: 401.
    #[must_use]
    pub fn is_unauthorized(&self) -> bool {
        self.as_status().is_some_and(StatusExt::is_unauthorized_status)
    }

    /// Returns true if a permission is missing: 403.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        self.as_status().is_some_and(StatusExt::is_forbidden_status)
    }

    /// Returns true if the server does not serve the resource: 404.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.as_status().is_some_and(StatusExt::is_not_found_status)
    }

    /// Returns true if the connection was refused.
    #[must_use]
    pub fn is_connection_refused(&self) -> bool {
        let mut cause: Option<&(dyn StdError + 'static)> = Some(self);
        while let Some(error) = cause {
            let io = error.downcast_ref::<io::Error>();
            if io.is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
                return true;
            }
            cause = error.source();
        }
        false
    }

    /// Returns true if there was no response, or one from a proxy: a failed connection, 502, 503 or 504.
    #[must_use]
    pub fn is_unanswered(&self) -> bool {
        match self {
            Self::Transport(_) => true,
            error => error.as_status().is_some_and(|status| matches!(status.code, 502..=504)),
        }
    }

    /// Returns the name of the error in metrics and logs.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self {
            Self::Status { .. } if self.is_expired() => "expired",
            Self::Status { .. } if self.is_version_too_large() => "version_too_large",
            Self::Status { .. } if self.is_too_many_requests() => "too_many_requests",
            Self::Status { .. } if self.is_internal() => "internal",
            Self::Status { .. } if self.is_unauthorized() => "unauthorized",
            Self::Status { .. } if self.is_forbidden() => "forbidden",
            Self::Status { .. } if self.is_not_found() => "not_found",
            Self::Status { .. } => "status",
            Self::Transport(_) if self.is_connection_refused() => "connection_refused",
            Self::Transport(_) => "transport",
            Self::List(_) | Self::Frame(_) | Self::EndlessList { .. } => "body",
            Self::Event(_) | Self::Item(_) => "event",
            Self::Kind(_) => "kind",
            Self::OtherShard { .. } => "other_shard",
            Self::Table { .. } => "table",
        }
    }

    /// Returns the delay that the server requested before a retry.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { status, retry_after } => {
                (*retry_after).or_else(|| StatusExt::retry_after(&**status))
            }
            _ => None,
        }
    }
}
