//! Questions to a status, answered by the rules of Kubernetes' own client.

use kube_core::{Status, response::reason};
use std::time::Duration;

/// What a [`Status`] says.
///
/// A status says something if its reason does, or if it gives no reason that is known and its code does. The methods
/// of the same purpose on `Status` itself do not look at the code, and would win over ours; hence the names.
pub trait StatusExt {
    /// The version asked for is no longer there (410): reasons `Expired` and `Gone`.
    fn says_expired(&self) -> bool;

    /// The version asked for is not there yet, in any of the three ways in which servers have said so.
    fn says_version_too_large(&self) -> bool;

    /// The server wants to be asked less often (429), whatever reason it gives.
    fn says_too_many_requests(&self) -> bool;

    /// The request is not understood (400).
    fn says_bad_request(&self) -> bool;

    /// The server does not know who asks (401).
    fn says_unauthorized(&self) -> bool;

    /// Whoever asks may not (403).
    fn says_forbidden(&self) -> bool;

    /// There is no such object, or no such resource (404).
    fn says_not_found(&self) -> bool;

    /// The resource does not do what was asked (405).
    fn says_method_not_allowed(&self) -> bool;

    /// The server speaks none of the formats that were offered (406).
    fn says_not_acceptable(&self) -> bool;

    /// An object of this name is there already (409 with this reason).
    fn says_already_exists(&self) -> bool;

    /// The object has changed meanwhile (409).
    fn says_conflict(&self) -> bool;

    /// The request is understood and breaks a rule (422).
    fn says_invalid(&self) -> bool;

    /// The server failed (500).
    fn says_internal_error(&self) -> bool;

    /// The server asks to try again, for it took too long (500 with this reason).
    fn says_server_timeout(&self) -> bool;

    /// The server cannot answer at present (503).
    fn says_service_unavailable(&self) -> bool;

    /// The request took too long (504).
    fn says_timeout(&self) -> bool;

    /// How long the server asks to wait before the next try.
    ///
    /// Nothing and no time at all differ: a server that timed out asks for another try even if it names no seconds.
    fn retry_after(&self) -> Option<Duration>;
}

/// The cause by which a server says that a version is too large.
const TOO_LARGE: &str = "ResourceVersionTooLarge";
/// The text by which servers older than 1.18.6 say it.
const TOO_LARGE_TEXT: &str = "Too large resource version";

impl StatusExt for Status {
    fn says_expired(&self) -> bool {
        self.reason == reason::EXPIRED || says(self, reason::GONE, 410)
    }

    fn says_version_too_large(&self) -> bool {
        let causes = self.details.as_ref().map_or(&[][..], |details| &details.causes);
        causes.iter().any(|cause| cause.reason == TOO_LARGE)
            || self.says_timeout()
                && (self.message.contains(TOO_LARGE_TEXT)
                    || causes.iter().any(|cause| cause.message == TOO_LARGE_TEXT))
    }

    fn says_too_many_requests(&self) -> bool {
        self.code == 429 || self.reason == reason::TOO_MANY_REQUESTS
    }

    fn says_bad_request(&self) -> bool {
        says(self, reason::BAD_REQUEST, 400)
    }

    fn says_unauthorized(&self) -> bool {
        says(self, reason::UNAUTHORIZED, 401)
    }

    fn says_forbidden(&self) -> bool {
        says(self, reason::FORBIDDEN, 403)
    }

    fn says_not_found(&self) -> bool {
        says(self, reason::NOT_FOUND, 404)
    }

    fn says_method_not_allowed(&self) -> bool {
        says(self, reason::METHOD_NOT_ALLOWED, 405)
    }

    fn says_not_acceptable(&self) -> bool {
        says(self, reason::NOT_ACCEPTABLE, 406)
    }

    fn says_already_exists(&self) -> bool {
        self.reason == reason::ALREADY_EXISTS
    }

    fn says_conflict(&self) -> bool {
        says(self, reason::CONFLICT, 409)
    }

    fn says_invalid(&self) -> bool {
        says(self, reason::INVALID, 422)
    }

    fn says_internal_error(&self) -> bool {
        says(self, reason::INTERNAL_ERROR, 500)
    }

    fn says_server_timeout(&self) -> bool {
        self.reason == reason::SERVER_TIMEOUT
    }

    fn says_service_unavailable(&self) -> bool {
        says(self, reason::SERVICE_UNAVAILABLE, 503)
    }

    fn says_timeout(&self) -> bool {
        says(self, reason::TIMEOUT, 504)
    }

    fn retry_after(&self) -> Option<Duration> {
        let seconds = self.details.as_ref()?.retry_after_seconds;
        (seconds > 0 || self.says_server_timeout()).then(|| Duration::from_secs(seconds.into()))
    }
}

fn says(status: &Status, reason: &str, code: u16) -> bool {
    status.reason == reason || (status.code == code && !reason::is_known(&status.reason))
}
