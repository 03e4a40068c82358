//! The kinds of statuses.

use super::StatusExt;
use kube_core::{
    Status,
    response::{StatusCause, StatusDetails, reason},
};
use std::time::Duration;

const TOO_LARGE: &str = "ResourceVersionTooLarge";
const TOO_LARGE_TEXT: &str = "Too large resource version";

fn status(code: u16, reason: &str) -> Status {
    Status::failure("no", reason).with_code(code)
}

fn with_cause(status: Status, reason: &str, message: &str) -> Status {
    let cause = StatusCause { reason: reason.into(), message: message.into(), field: String::new() };
    let details = StatusDetails { causes: vec![cause], ..no_details() };
    status.with_details(details)
}

fn no_details() -> StatusDetails {
    let text = String::new;
    StatusDetails {
        name: text(),
        group: text(),
        kind: text(),
        uid: text(),
        causes: Vec::new(),
        retry_after_seconds: 0,
    }
}

#[test]
fn a_known_reason_has_precedence_over_the_code() {
    type Check = fn(&Status) -> bool;
    let table: [(Check, u16, &str); 12] = [
        (Status::is_bad_request_status, 400, reason::BAD_REQUEST),
        (Status::is_unauthorized_status, 401, reason::UNAUTHORIZED),
        (Status::is_forbidden_status, 403, reason::FORBIDDEN),
        (Status::is_not_found_status, 404, reason::NOT_FOUND),
        (Status::is_method_not_allowed_status, 405, reason::METHOD_NOT_ALLOWED),
        (Status::is_not_acceptable_status, 406, reason::NOT_ACCEPTABLE),
        (Status::is_conflict_status, 409, reason::CONFLICT),
        (Status::is_expired_status, 410, reason::GONE),
        (Status::is_invalid_status, 422, reason::INVALID),
        (Status::is_internal_error_status, 500, reason::INTERNAL_ERROR),
        (Status::is_service_unavailable_status, 503, reason::SERVICE_UNAVAILABLE),
        (Status::is_timeout_status, 504, reason::TIMEOUT),
    ];
    for (check, code, reason) in table {
        assert!(check(&status(0, reason)), "{reason}");
        assert!(check(&status(code, "")), "{code} without a reason");
        assert!(check(&status(code, "MadeUp")), "{code} with an unknown reason");
        assert!(!check(&status(code, reason::ALREADY_EXISTS)), "{code} with another reason");
        assert!(!check(&status(418, "")), "{reason}");
    }
}

// R3 R29
#[test]
fn expired_and_gone_are_the_same() {
    for expired in [status(410, reason::EXPIRED), status(0, reason::EXPIRED), status(410, reason::GONE)] {
        assert!(expired.is_expired_status(), "{expired:?}");
    }
}

#[test]
fn a_reason_that_shares_its_code_is_required() {
    assert!(status(409, reason::ALREADY_EXISTS).is_already_exists_status());
    assert!(!status(409, "").is_already_exists_status());
    assert!(status(500, reason::SERVER_TIMEOUT).is_server_timeout_status());
    assert!(!status(500, reason::SERVER_TIMEOUT).is_internal_error_status());
}

// R4
#[test]
fn a_version_too_large_has_three_forms() {
    let text = "Timeout: Too large resource version: 9, current: 3";
    for status in [
        with_cause(status(504, reason::TIMEOUT), TOO_LARGE, ""),
        with_cause(status(0, ""), TOO_LARGE, ""),
        with_cause(status(504, reason::TIMEOUT), "", TOO_LARGE_TEXT),
        Status::failure(text, reason::TIMEOUT),
        Status::failure(text, "").with_code(504),
    ] {
        assert!(status.is_version_too_large_status(), "{status:?}");
    }
    for other in [
        with_cause(status(504, reason::TIMEOUT), "", text),
        with_cause(status(500, ""), "", TOO_LARGE_TEXT),
        Status::failure(text, reason::INTERNAL_ERROR),
        status(504, reason::TIMEOUT),
    ] {
        assert!(!other.is_version_too_large_status(), "{other:?}");
    }
}

// R30 R31 R47
#[test]
fn too_many_requests_requires_only_the_code() {
    assert!(status(429, reason::INTERNAL_ERROR).is_too_many_requests_status());
    assert!(status(0, reason::TOO_MANY_REQUESTS).is_too_many_requests_status());
    assert!(!status(503, "").is_too_many_requests_status());
}

#[test]
fn returns_the_time_to_wait() {
    let wait = |status: Status, seconds| {
        let details = StatusDetails { retry_after_seconds: seconds, ..no_details() };
        status.with_details(details).retry_after()
    };
    assert_eq!(wait(status(429, ""), 7), Some(Duration::from_secs(7)));
    assert_eq!(wait(status(429, ""), 0), None);
    assert_eq!(status(429, "").retry_after(), None);
    assert_eq!(wait(status(500, reason::SERVER_TIMEOUT), 0), Some(Duration::ZERO));
    assert_eq!(status(500, reason::SERVER_TIMEOUT).retry_after(), None);
}
