//! Classifies errors by how the cursor reacts to them.

use crate::source::Error;
use std::time::Duration;

/// A failure of a request or of an open watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Failure {
    /// The server no longer has the requested version.
    Expired,
    /// The server does not have the requested version yet.
    VersionTooLarge,
    /// The server returned 429, with `Retry-After` if it was set.
    Throttled(Option<Duration>),
    /// The connection was refused.
    Refused,
    /// There was no response, or one from a proxy, with `Retry-After` if it was set.
    Unavailable(Option<Duration>),
    /// The server returned an internal error, with `Retry-After` if it was set.
    Internal(Option<Duration>),
    /// The server considers the request invalid: 400 or 422.
    Invalid,
    /// Any other error, with `Retry-After` if it was set.
    Other(Option<Duration>),
}

/// The maximum `Retry-After` that is respected.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(600);

impl Failure {
    pub(in super::super) fn of(error: &Error) -> Self {
        if error.is_expired() {
            Self::Expired
        } else if error.is_version_too_large() {
            Self::VersionTooLarge
        } else if error.is_too_many_requests() {
            Self::Throttled(error.retry_after())
        } else if error.is_connection_refused() {
            Self::Refused
        } else if error.is_unanswered() {
            Self::Unavailable(error.retry_after())
        } else if error.is_internal() {
            Self::Internal(error.retry_after())
        } else if error.is_invalid() {
            Self::Invalid
        } else {
            Self::Other(error.retry_after())
        }
    }

    pub(super) fn is_version_unavailable(self) -> bool {
        matches!(self, Self::Expired | Self::VersionTooLarge)
    }

    /// Returns the minimum delay before a retry: the server's `Retry-After`, up to [`MAX_RETRY_AFTER`].
    pub(super) fn min_delay(self) -> Duration {
        match self {
            Self::Throttled(wait) | Self::Unavailable(wait) | Self::Internal(wait) | Self::Other(wait) => {
                wait.unwrap_or_default().min(MAX_RETRY_AFTER)
            }
            Self::Expired | Self::VersionTooLarge | Self::Refused | Self::Invalid => Duration::ZERO,
        }
    }

    /// Returns whether the server asks to send the same request again later: 429, or 5xx with `Retry-After`.
    pub(super) fn is_deferred(self) -> bool {
        match self {
            Self::Throttled(_) => true,
            Self::Unavailable(wait) | Self::Internal(wait) => wait.is_some(),
            Self::Expired | Self::VersionTooLarge | Self::Refused | Self::Invalid | Self::Other(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_respected_up_to_a_limit() {
        for (asked, delay) in [(0, 0), (30, 30), (600, 600), (601, 600), (u64::MAX, 600)] {
            let asked = Some(Duration::from_secs(asked));
            for failure in [Failure::Throttled(asked), Failure::Unavailable(asked), Failure::Other(asked)] {
                assert_eq!(failure.min_delay(), Duration::from_secs(delay));
            }
        }
    }
}
