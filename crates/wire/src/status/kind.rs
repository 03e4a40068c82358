//! Classifies a status by the rules of client-go.

use kube_core::{Status, response::reason};
use std::time::Duration;

/// Classifies a [`Status`] by its reason, or by its code if the reason is unknown.
///
/// The methods of `Status` itself, such as `is_forbidden`, ignore the code; hence the suffix of these.
pub trait StatusExt {
    /// Whether the requested version is no longer available (410): reasons `Expired` and `Gone`.
    fn is_expired_status(&self) -> bool;

    /// Whether the requested version is not available yet, in any of the three forms that servers use.
    fn is_version_too_large_status(&self) -> bool;

    /// Whether there are too many requests (429), with any reason.
    fn is_too_many_requests_status(&self) -> bool;

    /// Whether the request is malformed (400).
    fn is_bad_request_status(&self) -> bool;

    /// Whether the client is not authenticated (401).
    fn is_unauthorized_status(&self) -> bool;

    /// Whether the client is not authorized (403).
    fn is_forbidden_status(&self) -> bool;

    /// Whether the object or resource does not exist (404).
    fn is_not_found_status(&self) -> bool;

    /// Whether the resource does not support the verb (405).
    fn is_method_not_allowed_status(&self) -> bool;

    /// Whether the server supports none of the accepted formats (406).
    fn is_not_acceptable_status(&self) -> bool;

    /// Whether an object of this name already exists (409 with this reason).
    fn is_already_exists_status(&self) -> bool;

    /// Whether the object was changed concurrently (409).
    fn is_conflict_status(&self) -> bool;

    /// Whether the object or the options are invalid (422).
    fn is_invalid_status(&self) -> bool;

    /// Whether the server had an internal error (500).
    fn is_internal_error_status(&self) -> bool;

    /// Whether the server timed out, and the request can be retried (500 with this reason).
    fn is_server_timeout_status(&self) -> bool;

    /// Whether the server is unavailable (503).
    fn is_service_unavailable_status(&self) -> bool;

    /// Whether the request timed out (504).
    fn is_timeout_status(&self) -> bool;

    /// Returns how long to wait before a retry.
    ///
    /// `None` and zero differ: after a server timeout the request can be retried at once.
    fn retry_after(&self) -> Option<Duration>;
}

/// The reason of the cause for a version that is too large.
const TOO_LARGE: &str = "ResourceVersionTooLarge";
/// The message of servers before 1.18.6.
const TOO_LARGE_TEXT: &str = "Too large resource version";

impl StatusExt for Status {
    fn is_expired_status(&self) -> bool {
        self.reason == reason::EXPIRED || has_reason_or_code(self, reason::GONE, 410)
    }

    fn is_version_too_large_status(&self) -> bool {
        let causes = self.details.as_ref().map_or(&[][..], |details| &details.causes);
        causes.iter().any(|cause| cause.reason == TOO_LARGE)
            || self.is_timeout_status()
                && (self.message.contains(TOO_LARGE_TEXT)
                    || causes.iter().any(|cause| cause.message == TOO_LARGE_TEXT))
    }

    fn is_too_many_requests_status(&self) -> bool {
        self.code == 429 || self.reason == reason::TOO_MANY_REQUESTS
    }

    fn is_bad_request_status(&self) -> bool {
        has_reason_or_code(self, reason::BAD_REQUEST, 400)
    }

    fn is_unauthorized_status(&self) -> bool {
        has_reason_or_code(self, reason::UNAUTHORIZED, 401)
    }

    fn is_forbidden_status(&self) -> bool {
        has_reason_or_code(self, reason::FORBIDDEN, 403)
    }

    fn is_not_found_status(&self) -> bool {
        has_reason_or_code(self, reason::NOT_FOUND, 404)
    }

    fn is_method_not_allowed_status(&self) -> bool {
        has_reason_or_code(self, reason::METHOD_NOT_ALLOWED, 405)
    }

    fn is_not_acceptable_status(&self) -> bool {
        has_reason_or_code(self, reason::NOT_ACCEPTABLE, 406)
    }

    fn is_already_exists_status(&self) -> bool {
        self.reason == reason::ALREADY_EXISTS
    }

    fn is_conflict_status(&self) -> bool {
        has_reason_or_code(self, reason::CONFLICT, 409)
    }

    fn is_invalid_status(&self) -> bool {
        has_reason_or_code(self, reason::INVALID, 422)
    }

    fn is_internal_error_status(&self) -> bool {
        has_reason_or_code(self, reason::INTERNAL_ERROR, 500)
    }

    fn is_server_timeout_status(&self) -> bool {
        self.reason == reason::SERVER_TIMEOUT
    }

    fn is_service_unavailable_status(&self) -> bool {
        has_reason_or_code(self, reason::SERVICE_UNAVAILABLE, 503)
    }

    fn is_timeout_status(&self) -> bool {
        has_reason_or_code(self, reason::TIMEOUT, 504)
    }

    fn retry_after(&self) -> Option<Duration> {
        let seconds = self.details.as_ref()?.retry_after_seconds;
        (seconds > 0 || self.is_server_timeout_status()).then(|| Duration::from_secs(seconds.into()))
    }
}

fn has_reason_or_code(status: &Status, reason: &str, code: u16) -> bool {
    status.reason == reason || (status.code == code && !reason::is_known(&status.reason))
}
