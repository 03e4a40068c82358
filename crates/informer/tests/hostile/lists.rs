//! Malicious lists.

use crate::{
    case::{MAX_OBJECT_SIZE, check_recovers, one_at_a_time},
    hostile_response::HostileResponse,
    server::Verb,
};

fn check(name: &str, response: HostileResponse, reported: &str) {
    check_recovers(Verb::List, name, response, reported);
}

/// Checks a response that is not specific to lists, also as the response to a streaming list.
fn check_both(name: &str, response: HostileResponse, reported: &str) {
    check(name, response.clone(), reported);
    check_recovers(Verb::Stream, name, response, reported);
}

/// Checks a body that ends with an error: a list fails, and a streaming list ends.
fn check_broken(name: &str, response: HostileResponse) {
    check(name, response.clone(), "connection to the server failed");
    check_recovers(Verb::Stream, name, response, "streaming list ended before it was complete");
}

/// Returns a list of the objects of the server plus this item.
fn list(item: &str) -> String {
    let [a, b] = ["a", "b"].map(|name| format!(r#"{{"metadata":{{"name":"{name}","namespace":"d"}}}}"#));
    format!(r#"{{"kind":"ConfigMapList","metadata":{{"resourceVersion":"5"}},"items":[{a},{b},{item}]}}"#)
}

const OPEN: &str = r#"{"metadata":{"resourceVersion":"5"},"items":["#;

#[test]
fn endless_lists_are_aborted() {
    let _guard = one_at_a_time();
    let name = HostileResponse::json(format!(r#"{OPEN}{{"metadata":{{"name":""#)).then_forever("x");
    check("a name", name, "longer than 1048576 bytes");
    check("spaces", HostileResponse::json(OPEN).then_forever(" "), "longer than 1048576 bytes");
    check(
        "a field of the list",
        HostileResponse::json("{\"kind\":\"").then_forever("x"),
        "longer than 1048576 bytes",
    );
    check(
        "members",
        HostileResponse::json(format!("{OPEN}{{")).then_forever("\"a\":1,"),
        "longer than 1048576 bytes",
    );
    let brackets = HostileResponse::json(OPEN).then_forever("[");
    check("brackets", brackets, "list item is not an object");
}

#[test]
fn endless_http_responses_are_aborted() {
    let _guard = one_at_a_time();
    let header = HostileResponse::raw("HTTP/1.1 200 OK\r\nx: ", "").then_forever("y");
    check_both("a header", header, "connection to the server failed");
    let headers = HostileResponse::raw("HTTP/1.1 200 OK\r\n", "").then_forever("x: y\r\n");
    check_both("headers", headers, "connection to the server failed");
    let error = "HTTP/1.1 500 Internal Server Error\r\ncontent-type: application/json\r\n\r\n";
    let message = HostileResponse::raw(error, "{\"kind\":\"Status\",\"message\":\"").then_forever("no ");
    check_both("an error status", message, "server returned 500");
    let status = format!("{{\"kind\":\"Status\",\"message\":\"{}\"}}", "no ".repeat(300_000));
    check_both("a long error status", HostileResponse::raw(error, status), "server returned 500");
}

#[test]
fn malformed_http_is_an_error() {
    let _guard = one_at_a_time();
    check_both("nothing", HostileResponse::raw("", ""), "connection to the server failed");
    check_both(
        "noise",
        HostileResponse::raw("\0\x16\x03\x01 no http\r\n\r\n", ""),
        "connection to the server failed",
    );
    let chunks = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    check_broken("a chunk size that overflows", HostileResponse::raw(chunks, "fffffffffffffffff\r\nx"));
    check_broken("a chunk without a size", HostileResponse::raw(chunks, "no\r\nx"));
    let short = "HTTP/1.1 200 OK\r\ncontent-length: 1000000000000\r\n\r\n";
    check_broken("shorter than content-length", HostileResponse::raw(short, OPEN));
    let two = "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n";
    check_both("two lengths", HostileResponse::raw(two, OPEN), "connection to the server failed");
}

#[test]
fn compressed_responses_are_rejected() {
    let _guard = one_at_a_time();
    // A gzip stream of zeros that expands a thousandfold.
    let bomb = [&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3][..], &[0; 1000]].concat();
    for coding in ["gzip", "GZIP", "br", "zstd, gzip", "\u{1b}[2J"] {
        let head = format!("HTTP/1.1 200 OK\r\ncontent-encoding: {coding}\r\n\r\n");
        let reported =
            if coding.is_ascii() && !coding.starts_with('\u{1b}') { "which was not requested" } else { "" };
        check_both(coding, HostileResponse::raw(head, bomb.clone()), reported);
    }
}

#[test]
fn a_body_that_is_not_a_list_is_an_error() {
    let _guard = one_at_a_time();
    check("html", HostileResponse::json("<html>502</html>"), "list cannot be read");
    check("nothing", HostileResponse::json(""), "list cannot be read");
    check("half a list", HostileResponse::json(&list("{}")[..80]), "list cannot be read");
    check("deep", HostileResponse::json("[".repeat(100_000)), "nested deeper than");
    check(
        "a version that is a number",
        HostileResponse::json("{\"metadata\":{\"resourceVersion\":5},\"items\":[]}"),
        "list cannot be read",
    );
    let long = format!("{{\"metadata\":{{\"resourceVersion\":\"{}\"}},\"items\":[]}}", "9".repeat(300));
    check("a version that is too long", HostileResponse::json(long), "invalid resourceVersion of the list");
    check("no items", HostileResponse::json("{\"kind\":\"ConfigMapList\"}"), "list cannot be read");
    check("a number too large", HostileResponse::json(format!("{}1e999", list("{}"))), "list cannot be read");
}

#[test]
fn items_that_are_not_objects_are_skipped() {
    let _guard = one_at_a_time();
    let named = r#"{"metadata":{"name":"z","namespace":"d","resourceVersion":"1"}"#;
    for (name, item, reported) in [
        ("no metadata", "{}".to_owned(), "name"),
        ("no name", r#"{"metadata":{"namespace":"d"}}"#.to_owned(), "name"),
        ("a name that is a number", r#"{"metadata":{"name":7}}"#.to_owned(), "metadata.name"),
        ("a name with a slash", r#"{"metadata":{"name":"a/b","namespace":"d"}}"#.to_owned(), "name"),
        ("two objects in one", format!(r#"{named},"metadata":{{"name":"ghost","namespace":"d"}}}}"#), "d/z"),
        ("two names", named.replace("}", r#","uid":"1","name":"ghost"}}"#), "d/z"),
        (
            "two names without a uid",
            r#"{"metadata":{"namespace":"d","name":"z","name":"ghost"}}"#.into(),
            "d/z",
        ),
        ("two namespaces", r#"{"metadata":{"namespace":"d","name":"z","namespace":"ghost"}}"#.into(), "d/z"),
        ("deep", format!("{}1{}", "{\"a\":".repeat(120), "}".repeat(120)), "name"),
        ("a number out of range", format!("{named},\"immutable\":1e999}}"), "d/z"),
        (
            "a very long name",
            format!(r#"{{"metadata":{{"name":"{}"}},"data":7}}"#, "x".repeat(500_000)),
            "object xxx",
        ),
        (
            "a very long kind",
            format!(r#"{{"kind":"{}","metadata":{{"name":"z"}}}}"#, "x".repeat(500_000)),
            "",
        ),
        ("a very long key", format!("{named},\"data\":{{\"{}\":7}}}}", "x".repeat(500_000)), "d/z"),
        ("invalid base64", format!("{named},\"binaryData\":{{\"k\":\"***\"}}}}"), "binaryData"),
    ] {
        check(name, HostileResponse::json(list(&item)), reported);
    }
    let mut text = list(r#"{"metadata":{"name":"XX","namespace":"d"}}"#).into_bytes();
    let position = text.windows(2).position(|two| two == b"XX").unwrap();
    text[position..position + 2].copy_from_slice(&[0xff, 0xfe]);
    check("invalid UTF-8", HostileResponse::json(text), "UTF-8");
}

#[test]
fn objects_larger_than_the_limit_are_rejected() {
    let _guard = one_at_a_time();
    let large = |length: usize| {
        let value = "x".repeat(length);
        list(&format!(
            r#"{{"metadata":{{"name":"z","namespace":"d","resourceVersion":"1"}},"data":{{"k":"{value}"}}}}"#
        ))
    };
    check("too large", HostileResponse::json(large(MAX_OBJECT_SIZE)), "longer than 1048576 bytes");
    let malformed = large(MAX_OBJECT_SIZE - 1000).replace("\"k\":\"x", "\"k\":7,\"x");
    check("large, and malformed", HostileResponse::json(malformed), "cannot be decoded");
}

#[test]
fn malicious_protobuf_lengths_are_errors() {
    let _guard = one_at_a_time();
    let list = |rest: &[u8]| [b"k8s\0\x0a\x13\x0a\x02v1\x12\x0dConfigMapList", rest].concat();
    for (name, body, reported) in [
        (
            "an item of four gigabytes",
            list(b"\x12\xff\xff\xff\xff\x0f\x12\xff\xff\xff\xff\x0e"),
            "longer than 1048576 bytes",
        ),
        ("a length of 64 bits", list(b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "list cannot be read"),
        ("a number without end", list(&[0xff; 40]), "list cannot be read"),
        ("half of it", list(b"\x12\x20\x0a"), "list cannot be read"),
        ("no magic", b"k9s\0".to_vec(), "list cannot be read"),
    ] {
        check(name, HostileResponse::protobuf(body), reported);
    }
    let slow = list(&[&b"\x12\x84\x80\x40\x12\x80\x80\x40"[..], &[0; 300_000]].concat());
    check(
        "an incomplete item, byte by byte",
        HostileResponse::protobuf(slow).in_single_bytes(),
        "list cannot be read",
    );
}
