//! Why a list or a watch failed, and the questions one asks of that.

use crate::{
    boxed::BoxError,
    object::{ItemError, KindError},
};
use kube_core::Status;
use kube_informer_wire::{DecodeError, FrameError, ListError, StatusExt};
use std::{error::Error as StdError, io, time::Duration};

/// Why a list or a watch failed.
///
/// Nobody matches on it to decide what to do next: the methods answer that.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server said no.
    #[error("server returned {}: {}", status.code, status.message)]
    Status {
        /// What it said.
        status: Box<Status>,
        /// How long it asked to wait, in its answer's headers.
        retry_after: Option<Duration>,
    },
    /// The request did not get through, or the answer did not.
    #[error("connection to the server failed")]
    Transport(#[source] BoxError),
    /// The body of a list is no list.
    #[error("list cannot be read")]
    List(#[from] ListError),
    /// The body of a watch is no sequence of frames.
    #[error("watch cannot be read")]
    Frame(#[from] FrameError),
    /// A frame of a watch, or the object in it, cannot be decoded.
    #[error("watch event cannot be decoded")]
    Event(#[from] DecodeError),
    /// The object of a watch event is not even well-formed.
    #[error("watch event cannot be decoded")]
    Item(#[source] ItemError),
    /// The object of a watch event is of another kind.
    #[error("watch event is left out")]
    Kind(#[from] KindError),
    /// The server returned with a table, which holds no objects.
    #[error("server returned with a {kind} of {api_version}, which holds no objects")]
    Table {
        /// `Table`.
        kind: String,
        /// `meta.k8s.io/v1` or `meta.k8s.io/v1beta1`.
        api_version: String,
    },
}

impl Error {
    /// An answer of the server that is an error.
    #[must_use]
    pub fn status(status: Status) -> Self {
        Self::Status { status: Box::new(status), retry_after: None }
    }

    /// What the server said, if it said something.
    #[must_use]
    pub fn as_status(&self) -> Option<&Status> {
        match self {
            Self::Status { status, .. } => Some(status),
            _ => None,
        }
    }

    /// Whether the version asked for is forgotten: 410 Expired or Gone.
    #[must_use]
    pub fn is_expired(&self) -> bool {
        self.as_status().is_some_and(StatusExt::is_expired_status)
    }

    /// Whether the version asked for has not come yet where it was asked.
    #[must_use]
    pub fn is_version_too_large(&self) -> bool {
        self.as_status().is_some_and(StatusExt::is_version_too_large_status)
    }

    /// Whether the server asks for patience: 429.
    #[must_use]
    pub fn is_too_many_requests(&self) -> bool {
        self.as_status().is_some_and(StatusExt::is_too_many_requests_status)
    }

    /// Whether the server has trouble of its own: 500.
    #[must_use]
    pub fn is_internal(&self) -> bool {
        self.as_status().is_some_and(StatusExt::is_internal_error_status)
    }

    /// Whether the credentials are not accepted: 401.
    #[must_use]
    pub fn is_unauthorized(&self) -> bool {
        self.as_status().is_some_and(StatusExt::is_unauthorized_status)
    }

    /// Whether the right is missing: 403.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        self.as_status().is_some_and(StatusExt::is_forbidden_status)
    }

    /// Whether the server does not know the resource: 404.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.as_status().is_some_and(StatusExt::is_not_found_status)
    }

    /// Whether nobody listens where the server should be.
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

    /// Whether the server did not answer, or a proxy did in its place: a connection that failed, 502, 503 or 504.
    #[must_use]
    pub fn is_unanswered(&self) -> bool {
        match self {
            Self::Transport(_) => true,
            error => error.as_status().is_some_and(|status| matches!(status.code, 502..=504)),
        }
    }

    /// A word for what it is, as metrics and logs call it.
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
            Self::List(_) | Self::Frame(_) => "body",
            Self::Event(_) | Self::Item(_) => "event",
            Self::Kind(_) => "kind",
            Self::Table { .. } => "table",
        }
    }

    /// How long the server asks to wait.
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
