//! Errors of patches that cannot be applied.

/// Reports a patch that cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PatchError {
    /// It is not a valid patch of its type: 400.
    #[error("{0}")]
    Malformed(String),
    /// It does not match the object: 422.
    #[error("{0}")]
    Unprocessable(String),
    /// It exceeds a limit: 413.
    #[error("{0}")]
    TooLarge(String),
    /// The resource does not support patches of its type: 415.
    #[error("the body of the request was in an unknown format - accepted media types include: {ACCEPTED}")]
    Unsupported,
}

/// The content types of patches that custom resources support.
const ACCEPTED: &str = "application/json-patch+json, application/merge-patch+json";

impl PatchError {
    /// Returns the status code of the response.
    pub(crate) fn code(&self) -> u16 {
        match self {
            Self::Malformed(_) => 400,
            Self::Unprocessable(_) => 422,
            Self::TooLarge(_) => 413,
            Self::Unsupported => 415,
        }
    }
}
