//! Decides who may send requests: hosts, origins, the token and the sessions.

use http::{HeaderMap, header, request::Parts};
use kube_devserver::AllowedHosts;
use std::{
    collections::VecDeque,
    fmt,
    hint::black_box,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// The name of the cookie of a session.
const COOKIE: &str = "informer_session";
/// The lifetime of a session.
const LIFETIME: Duration = Duration::from_secs(12 * 3600);
/// The maximum number of sessions; a new one ends the oldest.
const MAX_SESSIONS: usize = 256;
/// The maximum number of wrong tokens in a minute, from all clients.
const MAX_FAILURES: usize = 20;
const MINUTE: Duration = Duration::from_secs(60);

/// Whether cookies are sent over TLS only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    Plain,
    Tls,
}

/// Decides who may send requests.
pub(super) struct Access {
    hosts: AllowedHosts,
    transport: Transport,
    /// Without a token, every client on this machine may read.
    token: Option<String>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    sessions: VecDeque<Session>,
    failures: VecDeque<Instant>,
}

struct Session {
    id: String,
    started: Instant,
}

/// Why a request is refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// The request is for another host, or from another site.
    Forbidden(String),
    /// The request has no valid session.
    NoSession,
    WrongToken,
    TooManyAttempts,
    /// The random numbers of the system cannot be read.
    NoRandomness,
}

impl Access {
    pub(super) fn new(hosts: AllowedHosts, transport: Transport, token: Option<String>) -> Self {
        Self { hosts, transport, token, state: Mutex::default() }
    }

    /// Returns whether users must enter a token.
    pub(super) fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// Checks the host and the site of a request.
    ///
    /// A page of another site, also on another port of this machine, may link to this page but not read from it.
    pub(super) fn check_site(&self, request: &Parts) -> Result<(), Refused> {
        self.hosts.check_host(request).map_err(|error| Refused::Forbidden(error.to_string()))?;
        let text = |name: &str| request.headers.get(name).map(|value| value.to_str().unwrap_or("\u{fffd}"));
        if let Some(origin) = text("origin") {
            let authority = origin.split_once("://").map_or("", |(_, authority)| authority);
            let is_same = text("host").is_some_and(|host| host.eq_ignore_ascii_case(authority));
            if !is_same {
                let origin: String = origin.chars().take(256).collect();
                return Err(Refused::Forbidden(format!("origin {origin:?} is not the origin of this page")));
            }
        }
        let is_navigation = text("sec-fetch-mode") == Some("navigate") && request.method == http::Method::GET;
        match text("sec-fetch-site") {
            None | Some("same-origin" | "none") => Ok(()),
            Some(_) if is_navigation && !request.uri.path().starts_with("/api/") => Ok(()),
            Some(site) => Err(Refused::Forbidden(format!("requests of other sites are refused: {site:?}"))),
        }
    }

    /// Checks that a request has a session, if there is a token.
    pub(super) fn check_session(&self, headers: &HeaderMap) -> Result<(), Refused> {
        if self.token.is_none() {
            return Ok(());
        }
        let mut state = self.lock();
        state.sessions.retain(|session| session.started.elapsed() < LIFETIME);
        let sent = session_of(headers).unwrap_or_default();
        // All sessions are compared, so that the time does not depend on the position.
        let is_known =
            state.sessions.iter().fold(false, |known, session| known | is_equal(&session.id, sent));
        if is_known { Ok(()) } else { Err(Refused::NoSession) }
    }

    /// Starts a session, and returns its cookie.
    pub(super) fn login(&self, token: &str) -> Result<String, Refused> {
        let Some(expected) = &self.token else { return Err(Refused::WrongToken) };
        let mut state = self.lock();
        state.failures.retain(|failure| failure.elapsed() < MINUTE);
        if state.failures.len() >= MAX_FAILURES {
            return Err(Refused::TooManyAttempts);
        }
        if !is_equal(expected, token) {
            state.failures.push_back(Instant::now());
            return Err(Refused::WrongToken);
        }
        let id = random_id()?;
        if state.sessions.len() >= MAX_SESSIONS {
            state.sessions.pop_front();
        }
        state.sessions.push_back(Session { id: id.clone(), started: Instant::now() });
        Ok(self.cookie(&id, LIFETIME))
    }

    /// Ends a session, and returns a cookie that removes it.
    pub(super) fn logout(&self, headers: &HeaderMap) -> String {
        let sent = session_of(headers).unwrap_or_default().to_owned();
        self.lock().sessions.retain(|session| !is_equal(&session.id, &sent));
        self.cookie("", Duration::ZERO)
    }

    fn cookie(&self, id: &str, lifetime: Duration) -> String {
        let secure = match self.transport {
            Transport::Plain => "",
            Transport::Tls => "; Secure",
        };
        format!("{COOKIE}={id}; Path=/; HttpOnly; SameSite=Strict; Max-Age={}{secure}", lifetime.as_secs())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Prints neither the token nor the sessions.
impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").field("transport", &self.transport).finish_non_exhaustive()
    }
}

fn session_of(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|cookies| cookies.split(';'));
    pairs.find_map(|pair| pair.trim().strip_prefix(COOKIE)?.strip_prefix('='))
}

fn random_id() -> Result<String, Refused> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|_| Refused::NoRandomness)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Compares without returning earlier for a different first byte.
fn is_equal(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let differing = one.iter().zip(other).fold(0, |differing, (a, b)| black_box(differing | (a ^ b)));
    one.len() == other.len() && !one.is_empty() && differing == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;

    const HOST: &str = "localhost:8090";

    fn access(token: Option<&str>) -> Access {
        let hosts = AllowedHosts::new([127, 0, 0, 1].into(), [""; 0]);
        Access::new(hosts, Transport::Plain, token.map(str::to_owned))
    }

    fn request(path: &str, headers: &[(&str, &str)]) -> Parts {
        let mut request = Request::get(path).header("host", HOST);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn other_sites_may_link_to_the_page_but_not_read_from_it() {
        let check =
            |path: &str, headers: &[(&str, &str)]| access(None).check_site(&request(path, headers)).is_ok();
        let (api, page) = ("/api/v1/status", "/");
        assert!(check(api, &[]));
        assert!(check(api, &[("sec-fetch-site", "same-origin"), ("origin", "http://localhost:8090")]));
        assert!(check(page, &[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")]));
        for site in ["cross-site", "same-site", "other"] {
            assert!(!check(api, &[("sec-fetch-site", site)]), "{site}");
            assert!(!check(api, &[("sec-fetch-site", site), ("sec-fetch-mode", "navigate")]), "{site}");
            assert!(!check(page, &[("sec-fetch-site", site), ("sec-fetch-mode", "no-cors")]), "{site}");
        }
        // Another port of this machine is another origin.
        for origin in ["http://localhost:3000", "http://evil.example", "null"] {
            assert!(!check(api, &[("origin", origin)]), "{origin}");
        }
        let mut rebound = request(api, &[]);
        rebound.headers.insert("host", "evil.example:8090".parse().unwrap());
        assert!(access(None).check_site(&rebound).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_starts_with_the_token_and_ends() {
        let access = access(Some("correct horse"));
        let with = |cookie: &str| request("/", &[("cookie", cookie)]).headers;
        assert_eq!(access.check_session(&request("/", &[]).headers), Err(Refused::NoSession));
        assert_eq!(access.login("correct hors"), Err(Refused::WrongToken));
        assert_eq!(access.login(""), Err(Refused::WrongToken));
        let cookie = access.login("correct horse").unwrap();
        assert!(cookie.contains("; HttpOnly; SameSite=Strict;") && !cookie.contains("horse"), "{cookie}");
        let pair = format!("other=1; {}", cookie.split(';').next().unwrap());
        assert_eq!(access.check_session(&with(&pair)), Ok(()));
        assert_eq!(access.check_session(&with(&format!("{COOKIE}="))), Err(Refused::NoSession));
        assert_eq!(access.check_session(&with(&format!("{COOKIE}=0"))), Err(Refused::NoSession));
        assert!(access.logout(&with(&pair)).contains("Max-Age=0"));
        assert_eq!(access.check_session(&with(&pair)), Err(Refused::NoSession));
        let expired = access.login("correct horse").unwrap();
        tokio::time::advance(LIFETIME).await;
        assert_eq!(access.check_session(&with(&expired)), Err(Refused::NoSession));
    }

    #[tokio::test(start_paused = true)]
    async fn guessing_is_limited() {
        let access = access(Some("t"));
        for _ in 0..MAX_FAILURES {
            assert_eq!(access.login("x"), Err(Refused::WrongToken));
        }
        assert_eq!(access.login("t"), Err(Refused::TooManyAttempts));
        tokio::time::advance(MINUTE).await;
        assert!(access.login("t").is_ok());
    }

    #[test]
    fn tls_makes_the_cookie_secure_and_debug_hides_the_token() {
        let hosts = AllowedHosts::new([127, 0, 0, 1].into(), [""; 0]);
        let access = Access::new(hosts, Transport::Tls, Some("hunter2".to_owned()));
        assert!(access.login("hunter2").unwrap().ends_with("; Secure"));
        assert!(!format!("{access:?}").contains("hunter2"));
    }
}
