//! Requests to which no fault applies.

/// Marks a request to which no fault applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exemption {
    /// A client that is not disturbed; its requests are logged.
    Client,
    /// The server itself; its requests are not logged.
    Server,
}
