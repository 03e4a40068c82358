//! A status as the body of a response.

use crate::{
    decode::decode_protobuf,
    protobuf::{Envelope, MAGIC, Reader, ValueRef},
};
use kube_core::{
    Status,
    response::{StatusCause, StatusDetails, StatusSummary, reason},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::time::Duration;

/// The maximum length of a message taken from the body.
const MAX_MESSAGE: usize = 2048;

/// The maximum length of the message of a status.
const MAX_STATUS_MESSAGE: usize = 32 << 10;

/// Reads the status from the body of an error response, in JSON or protobuf.
///
/// If the body is not a status, as from proxies and load balancers, the result has the code of the response, the reason
/// for that code, and the beginning of the body as its message. Parts of a status that cannot be decoded are ignored.
#[must_use]
pub fn status_from_body(code: u16, body: &[u8]) -> Status {
    let mut status = parse(body).unwrap_or_else(|| {
        let reason = reason_of(code);
        Status::failure(&message(code, body), reason)
    });
    if status.code == 0 {
        status.code = code;
    }
    if status.message.len() > MAX_STATUS_MESSAGE {
        let end = (0..=MAX_STATUS_MESSAGE).rev().find(|end| status.message.is_char_boundary(*end));
        status.message.truncate(end.unwrap_or_default());
        status.message.push('…');
        status.message.shrink_to_fit();
    }
    status
}

/// Encodes a status as the API server does, with `kind` and `apiVersion`.
#[must_use]
pub fn status_to_json(status: &Status) -> Vec<u8> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Object<'a> {
        kind: &'a str,
        api_version: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        metadata: Option<NoMetadata>,
        #[serde(flatten)]
        status: &'a Status,
    }
    /// The API server always writes metadata.
    #[derive(Serialize)]
    struct NoMetadata {}

    let metadata = status.metadata.is_none().then_some(NoMetadata {});
    let object = Object { kind: "Status", api_version: "v1", metadata, status };
    serde_json::to_vec(&object).expect("a status consists of strings and numbers")
}

/// Parses a `Retry-After` header in seconds; Kubernetes does not use the form with a date.
#[must_use]
pub fn parse_retry_after(header: &str) -> Option<Duration> {
    header.trim().parse().ok().map(Duration::from_secs)
}

fn parse(body: &[u8]) -> Option<Status> {
    if body.starts_with(&MAGIC) {
        return parse_protobuf(body);
    }
    // All fields of a status are optional, so that only the kind identifies it.
    #[derive(Deserialize)]
    struct Kind {
        kind: String,
    }
    let Kind { kind } = serde_json::from_slice(body).ok()?;
    if kind != "Status" {
        return None;
    }
    let status: Status = serde_json::from_slice(body).ok().or_else(|| parse_parts(body))?;
    Some(Status { status: status.status.or(Some(StatusSummary::Failure)), ..status })
}

fn parse_protobuf(body: &[u8]) -> Option<Status> {
    let envelope = Envelope::open(Reader::new(body)).ok()?;
    let schema = envelope.types.schema().ok().filter(|schema| schema.kind() == "Status")?;
    let json: Value = decode_protobuf(ValueRef::of_object(schema, envelope.object).with_types()).ok()?;
    // Errors are rare, so that there is one parser for both encodings.
    parse(&serde_json::to_vec(&json).ok()?)
}

/// Reads the parts of a status that can be decoded.
fn parse_parts(body: &[u8]) -> Option<Status> {
    let status: Value = serde_json::from_slice(body).ok()?;
    let details = &status["details"];
    let causes = details["causes"].as_array().map_or(&[][..], Vec::as_slice);
    let details = details.is_object().then(|| StatusDetails {
        name: part(&details["name"]),
        group: part(&details["group"]),
        kind: part(&details["kind"]),
        uid: part(&details["uid"]),
        causes: causes.iter().filter_map(|cause| StatusCause::deserialize(cause).ok()).collect(),
        retry_after_seconds: part(&details["retryAfterSeconds"]),
    });
    Some(Status {
        status: part(&status["status"]),
        code: part(&status["code"]),
        message: part(&status["message"]),
        metadata: None,
        reason: part(&status["reason"]),
        details,
    })
}

fn part<T: DeserializeOwned + Default>(value: &Value) -> T {
    T::deserialize(value).unwrap_or_default()
}

fn message(code: u16, body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(MAX_MESSAGE)]);
    match text.trim() {
        "" => format!("the server responded with {code} and an empty body"),
        // The last character may be cut.
        text if body.len() > MAX_MESSAGE => {
            format!("{}…", text.trim_end_matches(char::REPLACEMENT_CHARACTER))
        }
        text => text.to_owned(),
    }
}

fn reason_of(code: u16) -> &'static str {
    match code {
        400 => reason::BAD_REQUEST,
        401 => reason::UNAUTHORIZED,
        403 => reason::FORBIDDEN,
        404 => reason::NOT_FOUND,
        405 => reason::METHOD_NOT_ALLOWED,
        406 => reason::NOT_ACCEPTABLE,
        409 => reason::CONFLICT,
        410 => reason::GONE,
        413 => reason::REQUEST_ENTITY_TOO_LARGE,
        415 => reason::UNSUPPORTED_MEDIA_TYPE,
        422 => reason::INVALID,
        429 => reason::TOO_MANY_REQUESTS,
        503 => reason::SERVICE_UNAVAILABLE,
        504 => reason::TIMEOUT,
        500.. => reason::INTERNAL_ERROR,
        _ => reason::UNKNOWN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::StatusExt;
    use proptest::prelude::*;

    #[test]
    fn reads_a_status() {
        let body = br#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"gone",
            "reason":"Expired","code":410,"details":{"retryAfterSeconds":3}}"#;
        let status = status_from_body(500, body);
        assert_eq!((status.code, status.message.as_str()), (410, "gone"));
        assert!(status.is_expired_status());
        assert_eq!(status.retry_after(), Some(Duration::from_secs(3)));
    }

    #[test]
    fn a_status_without_a_code_has_that_of_the_response() {
        let status = status_from_body(404, br#"{"kind":"Status"}"#);
        assert!(status.is_not_found_status() && status.is_failure());
    }

    #[test]
    fn a_status_keeps_the_parts_that_can_be_decoded() {
        for odd in [
            r#""details":{"causes":null,"retryAfterSeconds":3}"#,
            r#""details":{"causes":[7,{"reason":"A"}],"name":null,"retryAfterSeconds":3}"#,
            r#""metadata":7,"details":{"retryAfterSeconds":3}"#,
            r#""status":"Perhaps","details":{"retryAfterSeconds":3}"#,
        ] {
            let body = format!(r#"{{"kind":"Status","code":410,"reason":"Expired","message":"old",{odd}}}"#);
            let status = status_from_body(500, body.as_bytes());
            assert_eq!((status.code, status.message.as_str()), (410, "old"), "{odd}");
            assert!(status.is_expired_status() && status.is_failure(), "{odd}");
            assert_eq!(status.retry_after(), Some(Duration::from_secs(3)), "{odd}");
        }
        for odd in [r#""details":{"retryAfterSeconds":-1}"#, r#""details":[]"#, r#""details":"soon""#] {
            let body = format!(r#"{{"kind":"Status","code":410,"reason":"Expired",{odd}}}"#);
            let status = status_from_body(500, body.as_bytes());
            assert_eq!((status.code, status.retry_after()), (410, None), "{odd}");
        }
        let status =
            status_from_body(503, br#"{"kind":"Status","code":99999,"reason":null,"message":"later"}"#);
        assert_eq!((status.code, status.message.as_str()), (503, "later"));
        assert!(status.is_service_unavailable_status());
    }

    #[test]
    fn keeps_the_causes_that_can_be_decoded() {
        let body =
            br#"{"kind":"Status","details":{"uid":null,"causes":[{},{"reason":"ResourceVersionTooLarge"}]}}"#;
        assert!(status_from_body(504, body).is_version_too_large_status());
    }

    #[test]
    fn another_body_becomes_the_message() {
        let table: [(u16, &[u8], &str); 5] = [
            (503, b"<html>upstream</html>\n", "<html>upstream</html>"),
            (500, b"{\"kind\":\"Pod\"}", "{\"kind\":\"Pod\"}"),
            (500, b"{\"kind\":\"Status\"", "{\"kind\":\"Status\""),
            (502, b"", "the server responded with 502 and an empty body"),
            (500, b"k8s\x00\xff", "k8s\0\u{fffd}"),
        ];
        for (code, body, message) in table {
            let status = status_from_body(code, body);
            assert_eq!((status.code, status.message.as_str()), (code, message));
            assert!(status.is_failure());
        }
        assert!(status_from_body(502, b"").is_internal_error_status());
        assert!(status_from_body(410, b"").is_expired_status());
    }

    #[test]
    fn a_long_body_is_truncated() {
        let status = status_from_body(500, format!("x{}", "ä".repeat(MAX_MESSAGE)).as_bytes());
        assert!(status.message.len() <= MAX_MESSAGE + '…'.len_utf8() && status.message.ends_with("ä…"));
    }

    #[test]
    fn a_long_message_is_truncated() {
        let body =
            format!(r#"{{"kind":"Status","message":"x{}","code":410}}"#, "ä".repeat(MAX_STATUS_MESSAGE));
        let status = status_from_body(500, body.as_bytes());
        assert!(
            status.message.len() <= MAX_STATUS_MESSAGE + '…'.len_utf8() && status.message.ends_with("ä…")
        );
        assert!(status.is_expired_status());
    }

    #[test]
    fn encodes_a_status_with_its_kind() {
        let json = status_to_json(&Status::failure("gone", reason::EXPIRED).with_code(410));
        let expected = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","code":410,"message":"gone","reason":"Expired"}"#;
        assert_eq!(String::from_utf8(json).unwrap(), expected);
    }

    #[test]
    fn parses_a_retry_after_in_seconds() {
        assert_eq!(parse_retry_after(" 12 "), Some(Duration::from_secs(12)));
        for text in ["", "-1", "1.5", "Wed, 21 Oct 2026 07:28:00 GMT"] {
            assert_eq!(parse_retry_after(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn reads_its_own_output(code: u16, message in "\\PC{0,20}", reason in "[A-Z][a-z]{0,8}") {
            let status = Status::failure(&message, &reason).with_code(code.max(1));
            let read = status_from_body(999, &status_to_json(&status));
            prop_assert_eq!(Status { metadata: None, ..read }, status);
        }

        #[test]
        fn any_body_is_a_status(code: u16, body: Vec<u8>) {
            prop_assert_eq!(status_from_body(code, &body).code, code);
        }
    }
}
