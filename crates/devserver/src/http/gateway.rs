//! The checks before a request is processed: the token and the faults.

use crate::fault::Faults;
use crate::http::log::RequestLog;
use crate::verb::{Cluster, ErrorResponse};
use std::{
    hint::black_box,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// The state that requests share.
#[derive(Debug)]
pub(crate) struct Gateway {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) faults: Faults,
    pub(crate) control: Control,
    /// The log of requests.
    pub(crate) log: RequestLog,
    is_closed: AtomicBool,
}

/// Controls whether faults can be injected over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Control {
    /// Faults can be injected.
    Open,
    /// Faults cannot be injected; the path is unknown.
    Closed,
}

/// The bearer token.
#[derive(Clone)]
pub(crate) struct Token(Arc<str>);

impl Gateway {
    pub(crate) fn new(cluster: Arc<Cluster>, faults: Faults, control: Control) -> Self {
        Self { cluster, faults, control, log: RequestLog::default(), is_closed: AtomicBool::new(false) }
    }

    /// Stops responding, and closes all connections.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        self.cluster.store.cut_off();
    }

    /// Returns true if the server has been stopped.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }

    /// Returns true if connections are refused, and counts the fault.
    pub(crate) fn refuses_connections(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst) || self.faults.refuses_connection()
    }
}

impl Token {
    pub(crate) fn new(word: &str) -> Self {
        Self(word.into())
    }

    /// Returns true if a request without a token would match this one.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.trim().is_empty()
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Refuses a request without the token in its `Authorization` header.
    pub(crate) fn check(&self, header: Option<&[u8]>) -> Result<(), ErrorResponse> {
        let sent = header.and_then(bearer);
        match sent.is_some_and(|sent| !self.is_empty() && is_equal(sent, self.0.as_bytes())) {
            true => Ok(()),
            false => Err(ErrorResponse::unauthorized()),
        }
    }
}

/// Returns the token of an `Authorization` header. The name of the scheme is case-insensitive.
pub(crate) fn bearer(header: &[u8]) -> Option<&[u8]> {
    const SCHEME: &[u8] = b"Bearer ";
    let (scheme, token) = header.split_at_checked(SCHEME.len())?;
    scheme.eq_ignore_ascii_case(SCHEME).then_some(token)
}

/// Compares in a time that depends only on the lengths, so that a client cannot determine the token from
/// response times.
fn is_equal(sent: &[u8], expected: &[u8]) -> bool {
    let differs =
        sent.iter().zip(expected).fold(0, |differs, (sent, expected)| black_box(differs | (sent ^ expected)));
    sent.len() == expected.len() && differs == 0
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::Token;

    #[test]
    fn only_the_complete_token_is_accepted() {
        let token = Token::new("secret");
        assert!(token.check(Some(b"Bearer secret")).is_ok());
        assert!(token.check(Some(b"bearer secret")).is_ok());
        let wrong: [Option<&[u8]>; 6] = [
            None,
            Some(b""),
            Some(b"Bearer "),
            Some(b"Bearer secre"),
            Some(b"Bearer secrets"),
            Some(b"secret"),
        ];
        for header in wrong {
            assert_eq!(token.check(header).unwrap_err().status().code, 401, "{header:?}");
        }
        assert!(!format!("{token:?}").contains("secret"));
    }

    #[test]
    fn an_empty_token_is_never_accepted() {
        for empty in ["", "  "] {
            let token = Token::new(empty);
            assert!(token.is_empty());
            for header in [None, Some("Bearer ".as_bytes()), Some(b"Bearer   "), Some(b"")] {
                assert_eq!(token.check(header).unwrap_err().status().code, 401, "{header:?}");
            }
        }
    }
}
