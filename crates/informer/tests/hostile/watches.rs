//! Malicious watches and streaming lists.

use crate::{
    case::{check_recovers, one_at_a_time},
    hostile_response::HostileResponse,
    server::{STREAM, Verb},
};

/// Checks the response to a watch after a list, and to a streaming list.
fn check(name: &str, response: HostileResponse, reported: &str) {
    check_recovers(Verb::Watch, name, response.clone(), reported);
    check_recovers(Verb::Stream, name, response, reported);
}

/// Checks a complete event. In a streaming list it is followed by the rest of the list, because only a complete list is applied.
fn check_event(name: &str, event: impl AsRef<[u8]>, reported: &str) {
    check_recovers(Verb::Watch, name, HostileResponse::json(event.as_ref()), reported);
    check_recovers(
        Verb::Stream,
        name,
        HostileResponse::json([event.as_ref(), STREAM.as_bytes()].concat()),
        reported,
    );
}

fn event(kind: &str, object: &str) -> String {
    format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n")
}

#[test]
fn endless_lines_are_aborted() {
    let _guard = one_at_a_time();
    check("a line", HostileResponse::json("{\"type\":\"").then_forever("x"), "longer than 1048576 bytes");
    let object = HostileResponse::json("{\"type\":\"ADDED\",\"object\":{").then_forever("\"a\":[],");
    check("an object", object, "longer than 1048576 bytes");
    let tiny = HostileResponse::json(format!("{{\"type\":\"{}", "x".repeat(300_000))).in_single_bytes();
    check_recovers(Verb::Watch, "a line, byte by byte", tiny, "");
}

#[test]
fn malformed_events_are_reported() {
    let _guard = one_at_a_time();
    for (name, line, reported) in [
        ("no metadata", event("ADDED", "{}"), "name"),
        ("no name", event("MODIFIED", "{\"metadata\":{\"namespace\":\"d\"}}"), "name"),
        ("no object", "{\"type\":\"ADDED\"}\n".to_owned(), "cannot be"),
        ("null", event("DELETED", "null"), "cannot be"),
        (
            "two objects in one",
            event(
                "ADDED",
                r#"{"metadata":{"name":"z","namespace":"d"},"metadata":{"name":"ghost","namespace":"d"}}"#,
            ),
            "d/z",
        ),
        ("a list", event("ADDED", "[]"), "cannot be"),
        ("no type", "{\"object\":{}}\n".to_owned(), "cannot be"),
        ("invalid JSON", "no\n".to_owned(), "malformed watch frame"),
        ("deep", event("ADDED", &format!("{}1{}", "{\"a\":".repeat(2000), "}".repeat(2000))), "no key"),
        ("deep elsewhere", format!("{{\"x\":{}\n", "[".repeat(2000)), "malformed watch frame"),
        ("a bookmark without a version", event("BOOKMARK", "{\"metadata\":{}}"), "cannot be decoded"),
        ("a bookmark without metadata", event("BOOKMARK", "{}"), "cannot be decoded"),
        ("an error that is not a status", event("ERROR", "7"), "7"),
        (
            "a very long error",
            event("ERROR", &format!("{{\"kind\":\"Status\",\"message\":\"{}\"}}", "no ".repeat(300_000))),
            "no no",
        ),
        ("a very long type", event(&"A".repeat(200_000), "{}"), ""),
        (
            "a number out of range",
            event("ADDED", "{\"metadata\":{\"name\":\"a\",\"generation\":1e999}}"),
            "cannot be",
        ),
    ] {
        check_event(name, line, reported);
    }
    check_event(
        "invalid UTF-8",
        b"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"\xff\"}}}\n",
        "UTF-8",
    );
}

#[test]
fn versions_are_opaque() {
    let _guard = one_at_a_time();
    // The next watch starts at this version.
    let line = event("BOOKMARK", "{\"metadata\":{\"resourceVersion\":\"no number\"}}");
    check_event("opaque", line, "");
    let line =
        event("BOOKMARK", &format!("{{\"metadata\":{{\"resourceVersion\":\"{}\"}}}}", "9".repeat(300)));
    check_event("too long", line, "cannot be decoded");
}

#[test]
fn malicious_protobuf_frames_are_errors() {
    let _guard = one_at_a_time();
    for (name, body, reported) in [
        ("four gigabytes", b"\xff\xff\xff\xff".to_vec(), "longer than 1048576 bytes"),
        ("nothing", b"\0\0\0\0".to_vec(), "malformed watch frame"),
        ("invalid protobuf", b"\0\0\0\x03abc".to_vec(), "malformed watch frame"),
        ("JSON", b"{\"type\":\"ADDED\"".to_vec(), "longer than 1048576 bytes"),
    ] {
        check(name, HostileResponse::protobuf(body), reported);
    }
    let slow = [&b"\0\x0f\xff\xff"[..], &[0; 300_000]].concat();
    check_recovers(
        Verb::Watch,
        "a frame, byte by byte",
        HostileResponse::protobuf(slow).in_single_bytes(),
        "",
    );
}
