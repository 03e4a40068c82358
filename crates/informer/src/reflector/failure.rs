//! What kind of failure something is, as far as it decides what to do next.

use crate::source::Error;
use std::time::Duration;

/// The kinds of failure that are treated differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The version asked for is forgotten.
    Expired,
    /// The version asked for has not come yet.
    TooLarge,
    /// The server asks for patience, for so long if it says so.
    Throttled(Option<Duration>),
    /// Nobody listens.
    Refused,
    /// Nobody answers, or somebody before the server does in its place; some say how long to wait.
    Away(Option<Duration>),
    /// The server has trouble of its own.
    Internal,
    /// Anything else; some servers say how long to wait all the same.
    Other(Option<Duration>),
}

/// No server is waited for longer than this at its word: what asks for more is mistaken, or means harm.
const LONGEST: Duration = Duration::from_secs(600);

impl Failure {
    pub(crate) fn of(error: &Error) -> Self {
        if error.is_expired() {
            Self::Expired
        } else if error.is_version_too_large() {
            Self::TooLarge
        } else if error.is_too_many_requests() {
            Self::Throttled(error.retry_after())
        } else if error.is_connection_refused() {
            Self::Refused
        } else if error.is_unanswered() {
            Self::Away(error.retry_after())
        } else if error.is_internal() {
            Self::Internal
        } else {
            Self::Other(error.retry_after())
        }
    }

    /// How long the server asks to wait at least, up to [`LONGEST`].
    pub(crate) fn least_wait(self) -> Duration {
        match self {
            Self::Throttled(wait) | Self::Away(wait) | Self::Other(wait) => {
                wait.unwrap_or_default().min(LONGEST)
            }
            Self::Expired | Self::TooLarge | Self::Refused | Self::Internal => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_taken_at_its_word_up_to_a_limit() {
        for (asked, wait) in [(0, 0), (30, 30), (600, 600), (601, 600), (u64::MAX, 600)] {
            let asked = Some(Duration::from_secs(asked));
            for failure in [Failure::Throttled(asked), Failure::Away(asked), Failure::Other(asked)] {
                assert_eq!(failure.least_wait(), Duration::from_secs(wait));
            }
        }
    }
}
