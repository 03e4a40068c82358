//! What statuses say.

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
fn a_known_reason_decides_and_else_the_code_does() {
    type Question = fn(&Status) -> bool;
    let table: [(Question, u16, &str); 12] = [
        (Status::says_bad_request, 400, reason::BAD_REQUEST),
        (Status::says_unauthorized, 401, reason::UNAUTHORIZED),
        (Status::says_forbidden, 403, reason::FORBIDDEN),
        (Status::says_not_found, 404, reason::NOT_FOUND),
        (Status::says_method_not_allowed, 405, reason::METHOD_NOT_ALLOWED),
        (Status::says_not_acceptable, 406, reason::NOT_ACCEPTABLE),
        (Status::says_conflict, 409, reason::CONFLICT),
        (Status::says_expired, 410, reason::GONE),
        (Status::says_invalid, 422, reason::INVALID),
        (Status::says_internal_error, 500, reason::INTERNAL_ERROR),
        (Status::says_service_unavailable, 503, reason::SERVICE_UNAVAILABLE),
        (Status::says_timeout, 504, reason::TIMEOUT),
    ];
    for (question, code, reason) in table {
        assert!(question(&status(0, reason)), "{reason}");
        assert!(question(&status(code, "")), "{code} without a reason");
        assert!(question(&status(code, "MadeUp")), "{code} with an unknown reason");
        assert!(!question(&status(code, reason::ALREADY_EXISTS)), "{code} with another reason");
        assert!(!question(&status(418, "")), "{reason}");
    }
}

// R3 R29
#[test]
fn expired_and_gone_are_one_thing() {
    for expired in [status(410, reason::EXPIRED), status(0, reason::EXPIRED), status(410, reason::GONE)] {
        assert!(expired.says_expired(), "{expired:?}");
    }
}

#[test]
fn a_reason_that_shares_its_code_needs_to_be_given() {
    assert!(status(409, reason::ALREADY_EXISTS).says_already_exists());
    assert!(!status(409, "").says_already_exists());
    assert!(status(500, reason::SERVER_TIMEOUT).says_server_timeout());
    assert!(!status(500, reason::SERVER_TIMEOUT).says_internal_error());
}

// R4
#[test]
fn a_version_too_large_is_told_in_three_ways() {
    let text = "Timeout: Too large resource version: 9, current: 3";
    for told in [
        with_cause(status(504, reason::TIMEOUT), TOO_LARGE, ""),
        with_cause(status(0, ""), TOO_LARGE, ""),
        with_cause(status(504, reason::TIMEOUT), "", TOO_LARGE_TEXT),
        Status::failure(text, reason::TIMEOUT),
        Status::failure(text, "").with_code(504),
    ] {
        assert!(told.says_version_too_large(), "{told:?}");
    }
    for other in [
        with_cause(status(504, reason::TIMEOUT), "", text),
        with_cause(status(500, ""), "", TOO_LARGE_TEXT),
        Status::failure(text, reason::INTERNAL_ERROR),
        status(504, reason::TIMEOUT),
    ] {
        assert!(!other.says_version_too_large(), "{other:?}");
    }
}

// R30 R31 R47
#[test]
fn too_many_requests_needs_the_code_alone() {
    assert!(status(429, reason::INTERNAL_ERROR).says_too_many_requests());
    assert!(status(0, reason::TOO_MANY_REQUESTS).says_too_many_requests());
    assert!(!status(503, "").says_too_many_requests());
}

#[test]
fn says_how_long_to_wait_if_it_does() {
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
