//! The checks before a request is processed: the token, and faults.

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

/// Whether faults can be injected over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Control {
    /// They can be injected.
    Open,
    /// They cannot; the path is unknown.
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

    /// Returns whether the server has been stopped.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }

    /// Returns whether connections are refused, and counts the fault if there is one.
    pub(crate) fn refuses_connections(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst) || self.faults.refuses_connection()
    }
}

impl Token {
    pub(crate) fn new(word: &str) -> Self {
        Self(word.into())
    }

    /// Returns true if every client would have this token, also one that sends none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.trim().is_empty()
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Refuses a request whose `Authorization` header does not carry the token.
    pub(crate) fn check(&self, header: Option<&[u8]>) -> Result<(), ErrorResponse> {
        let said = header.and_then(bearer);
        match said.is_some_and(|said| !self.is_empty() && is_equal(said, self.0.as_bytes())) {
            true => Ok(()),
            false => Err(ErrorResponse::unauthorized()),
        }
    }
}

/// Returns the token of an `Authorization` header; the name of the scheme is in any case.
pub(crate) fn bearer(header: &[u8]) -> Option<&[u8]> {
    const SCHEME: &[u8] = b"Bearer ";
    let (scheme, token) = header.split_at_checked(SCHEME.len())?;
    scheme.eq_ignore_ascii_case(SCHEME).then_some(token)
}

/// Compares in a time that depends only on the lengths, so that the token cannot be guessed byte by byte.
fn is_equal(said: &[u8], meant: &[u8]) -> bool {
    let differs =
        said.iter().zip(meant).fold(0, |differs, (said, meant)| black_box(differs | (said ^ meant)));
    said.len() == meant.len() && differs == 0
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
    fn an_empty_token_opens_for_nobody() {
        for empty in ["", "  "] {
            let token = Token::new(empty);
            assert!(token.is_empty());
            for header in [None, Some("Bearer ".as_bytes()), Some(b"Bearer   "), Some(b"")] {
                assert_eq!(token.check(header).unwrap_err().status().code, 401, "{header:?}");
            }
        }
    }
}
