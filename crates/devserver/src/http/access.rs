//! Decides whether a request may come from a web page, by its `Host`, `Origin` and `Content-Type`.

use crate::verb::ErrorResponse;
use http::{Method, header, request::Parts};
use kube_core::response::reason;
use std::{net::IpAddr, sync::Arc};

/// The host names for which a server without a token accepts requests.
///
/// A web page in the user's browser can send requests to a server on loopback. It cannot forge the headers
/// `Host` and `Origin`, which contain the name of its site, and it cannot send a JSON body with this content
/// type without the permission of the server. A server with a token does not check these headers, because a
/// page does not know the token.
#[derive(Clone, Debug)]
pub struct AllowedHosts {
    address: IpAddr,
    names: Arc<[String]>,
}

impl AllowedHosts {
    /// Allows loopback names, `address`, and these names.
    pub fn new<N: AsRef<str>>(address: IpAddr, names: impl IntoIterator<Item = N>) -> Self {
        let names = names.into_iter().map(|name| host_name(name.as_ref()).to_ascii_lowercase()).collect();
        Self { address, names }
    }

    /// Checks the headers of a request.
    ///
    /// # Errors
    /// Returns 403 if the request is for or from another host, and 415 if it is from a browser and has a body
    /// without a content type.
    pub(crate) fn check(&self, request: &Parts, body: RequestBody) -> Result<(), ErrorResponse> {
        self.check_host(request)?;
        let text = |name| request.headers.get(name).map(|value| value.to_str().unwrap_or("\u{fffd}"));
        let is_read = matches!(request.method, Method::GET | Method::HEAD | Method::OPTIONS);
        // Browsers send at least one of these with every write; kubectl sends bodies without a content type.
        let is_browser = ["origin", "sec-fetch-site"].iter().any(|name| request.headers.contains_key(*name));
        let has_type = request.headers.contains_key(header::CONTENT_TYPE);
        if is_browser && !is_read && body == RequestBody::Present && !has_type {
            return Err(unsupported("the body of the request has no Content-Type header"));
        }
        let media = text(header::CONTENT_TYPE).and_then(|media| media.split(';').next()).unwrap_or_default();
        if is_control(request) && body == RequestBody::Present && !media.trim().eq_ignore_ascii_case(JSON) {
            return Err(unsupported(&format!("the Content-Type must be {JSON}, not {media:?}")));
        }
        Ok(())
    }

    /// Checks the headers `Host` and `Origin` of a request.
    ///
    /// # Errors
    /// Returns [`HostError`] if the request has no host, or is for or from a host that is not allowed.
    pub fn check_host(&self, request: &Parts) -> Result<(), HostError> {
        let text = |name| request.headers.get(name).map(|value| value.to_str().unwrap_or("\u{fffd}"));
        let host = request.uri.authority().map(http::uri::Authority::as_str).or_else(|| text(header::HOST));
        match host {
            None => return Err(HostError::Missing),
            Some(host) if !self.allows(host) => return Err(forbidden("host", host)),
            Some(_) => {}
        }
        match text(header::ORIGIN) {
            Some(origin) if !self.allows(origin.split_once("://").map_or("", |(_, host)| host)) => {
                Err(forbidden("origin", origin))
            }
            _ => Ok(()),
        }
    }

    fn allows(&self, authority: &str) -> bool {
        if authority.contains('@') {
            return false;
        }
        let name = host_name(authority).to_ascii_lowercase();
        match name.parse::<IpAddr>() {
            Ok(address) => address.is_loopback() || address == self.address,
            Err(_) => name == "localhost" || name.ends_with(".localhost") || self.names.contains(&name),
        }
    }
}

/// Reports a request for or from a host that is not allowed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// The request has no host.
    #[error("missing required Host header")]
    Missing,
    /// The host or origin is not allowed.
    #[error(
        "{header} {value:?} is not allowed: this server has no token and accepts loopback names only; \
         allow the host explicitly, or set a token"
    )]
    NotAllowed {
        /// The header: `host` or `origin`.
        header: &'static str,
        /// Its value.
        value: String,
    },
}

impl From<HostError> for ErrorResponse {
    fn from(error: HostError) -> Self {
        match error {
            HostError::Missing => Self::bad_request(&error.to_string()),
            HostError::NotAllowed { .. } => Self::new(403, reason::FORBIDDEN, &error.to_string()),
        }
    }
}

/// The presence of a body in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestBody {
    Present,
    Absent,
}

const JSON: &str = "application/json";

fn is_control(request: &Parts) -> bool {
    request.uri.path().starts_with("/devserver/")
}

/// Returns the name in `name:port`, without the brackets of an IPv6 address and without a final dot.
fn host_name(authority: &str) -> &str {
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        // Several colons without brackets are an IPv6 address without a port.
        None if authority.matches(':').count() == 1 => authority.split(':').next().unwrap_or_default(),
        None => authority,
    };
    host.strip_suffix('.').unwrap_or(host)
}

fn forbidden(header: &'static str, value: &str) -> HostError {
    HostError::NotAllowed { header, value: value.chars().take(256).collect() }
}

fn unsupported(message: &str) -> ErrorResponse {
    ErrorResponse::new(415, reason::UNSUPPORTED_MEDIA_TYPE, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;

    const NONE: &str = "";

    struct Sent {
        method: Method,
        path: &'static str,
        host: &'static str,
        origin: &'static str,
        media: &'static str,
        body: RequestBody,
    }

    const READ: Sent = Sent {
        method: Method::GET,
        path: "/api/v1/pods",
        host: "localhost:6443",
        origin: NONE,
        media: NONE,
        body: RequestBody::Absent,
    };

    fn code(sent: &Sent) -> u16 {
        let mut request = Request::builder().method(&sent.method).uri(sent.path);
        for (name, value) in [("host", sent.host), ("origin", sent.origin), ("content-type", sent.media)] {
            if value != NONE {
                request = request.header(name, value);
            }
        }
        let hosts = AllowedHosts::new("127.0.0.2".parse().unwrap(), ["Dev.Example."]);
        let (parts, ()) = request.body(()).unwrap().into_parts();
        hosts.check(&parts, sent.body).map_or_else(|refusal| refusal.status().code, |()| 200)
    }

    #[test]
    fn loopback_names_are_allowed() {
        for host in [
            "localhost",
            "LOCALHOST:1",
            "localhost.",
            "a.localhost:80",
            "127.0.0.1:6443",
            "127.9.9.9",
            "[::1]:6443",
            "[::1]",
            "127.0.0.2:1",
            "dev.example:6443",
            "DEV.example.",
        ] {
            assert_eq!(code(&Sent { host, ..READ }), 200, "{host}");
        }
    }

    #[test]
    fn a_name_that_an_attacker_can_resolve_to_loopback_is_refused() {
        for host in [
            "evil.example",
            "evil.example:6443",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "evillocalhost",
            "dev.example.evil",
            "0x7f.1",
            "10.0.0.1:6443",
            "[::2]:1",
            "localhost:80@evil.example",
            ":6443",
        ] {
            assert_eq!(code(&Sent { host, ..READ }), 403, "{host}");
        }
        assert_eq!(code(&Sent { host: NONE, ..READ }), 400);
    }

    #[test]
    fn a_page_of_another_site_is_refused() {
        for origin in ["http://evil.example", "https://evil.example:6443", "null", "file://", "localhost"] {
            let sent = Sent { method: Method::POST, path: "/devserver/cut", origin, ..READ };
            assert_eq!(code(&sent), 403, "{origin}");
        }
        for origin in ["http://localhost:3000", "https://127.0.0.1", "http://dev.example"] {
            assert_eq!(code(&Sent { origin, ..READ }), 200, "{origin}");
        }
    }

    #[test]
    fn a_body_of_a_browser_needs_a_content_type_and_a_fault_needs_json() {
        let write = Sent { method: Method::POST, body: RequestBody::Present, ..READ };
        assert_eq!(code(&write), 200, "kubectl sends bodies without a content type");
        let page = Sent {
            method: Method::POST,
            body: RequestBody::Present,
            origin: "http://localhost:3000",
            ..READ
        };
        assert_eq!(code(&page), 415);
        assert_eq!(code(&Sent { media: "application/json", ..page }), 200);
        let fault =
            Sent { method: Method::POST, body: RequestBody::Present, path: "/devserver/faults", ..READ };
        for (media, expected) in [(NONE, 415), ("text/plain", 415), ("application/json; charset=utf-8", 200)]
        {
            let fault = Sent { media, method: Method::POST, ..fault };
            assert_eq!(code(&fault), expected, "{media:?}");
        }
        assert_eq!(code(&Sent { method: Method::DELETE, ..READ }), 200, "no body needs no content type");
    }

    #[test]
    fn the_authority_of_a_request_line_precedes_the_header() {
        assert_eq!(code(&Sent { path: "http://evil.example/api", ..READ }), 403);
        assert_eq!(code(&Sent { path: "http://127.0.0.1:1/api", host: "evil.example", ..READ }), 200);
    }
}
