//! Responses with a `Status`.

use kube_core::Status;
use kube_informer_wire::{StatusExt, parse_retry_after, status_from_body, status_to_json};

pub(crate) fn bodies(data: &[u8]) {
    let status = status_from_body(503, data);
    let _ = (status.retry_after(), status.is_version_too_large_status(), status.is_expired_status());
    assert!(status.code != 0);
    assert!(status.message.len() <= data.len() * 3 + 64, "no message is longer than what was said");
    // Empty metadata is written if it was absent.
    let read = Status { metadata: None, ..status_from_body(503, &status_to_json(&status)) };
    assert_eq!(read, Status { metadata: None, ..status }, "what is written is read");
    let _ = std::str::from_utf8(data).map(parse_retry_after);
}
