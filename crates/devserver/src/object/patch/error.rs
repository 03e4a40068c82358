//! Why a patch does not apply.

/// A patch that does not apply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PatchError {
    /// It is no patch of its kind: 400.
    #[error("{0}")]
    Malformed(String),
    /// It does not fit the object: 422.
    #[error("{0}")]
    Unprocessable(String),
    /// It asks for too much: 413.
    #[error("{0}")]
    TooLarge(String),
    /// The resource does not take patches of its kind: 415.
    #[error("the body of the request was in an unknown format - accepted media types include: {ACCEPTED}")]
    Unsupported,
}

/// What custom resources can be patched with.
const ACCEPTED: &str = "application/json-patch+json, application/merge-patch+json";

impl PatchError {
    /// The code of the answer.
    pub(crate) fn code(&self) -> u16 {
        match self {
            Self::Malformed(_) => 400,
            Self::Unprocessable(_) => 422,
            Self::TooLarge(_) => 413,
            Self::Unsupported => 415,
        }
    }
}
