//! Lists that mean harm.

use crate::{
    bait::Bait,
    case::{OBJECT, alone, survives},
    server::Verb,
};

fn check(name: &str, bait: Bait, reported: &str) {
    survives(Verb::List, name, bait, reported);
}

/// What has nothing to do with lists: a stream is answered with it as well.
fn check_both(name: &str, bait: Bait, reported: &str) {
    check(name, bait.clone(), reported);
    survives(Verb::Stream, name, bait, reported);
}

/// A body that breaks: a list of it fails, and a stream has ended.
fn check_broken(name: &str, bait: Bait) {
    check(name, bait.clone(), "connection to the server failed");
    survives(Verb::Stream, name, bait, "streaming list ended before it was complete");
}

/// A list of the objects that are there, and of this item.
fn list(item: &str) -> String {
    let [a, b] = ["a", "b"].map(|name| format!(r#"{{"metadata":{{"name":"{name}","namespace":"d"}}}}"#));
    format!(r#"{{"kind":"ConfigMapList","metadata":{{"resourceVersion":"5"}},"items":[{a},{b},{item}]}}"#)
}

const OPEN: &str = r#"{"metadata":{"resourceVersion":"5"},"items":["#;

#[test]
fn what_does_not_end_is_given_up() {
    let _alone = alone();
    let name = Bait::json(format!(r#"{OPEN}{{"metadata":{{"name":""#)).then_without_end("x");
    check("a name", name, "longer than 1048576 bytes");
    check("spaces", Bait::json(OPEN).then_without_end(" "), "longer than 1048576 bytes");
    check(
        "a field of the list",
        Bait::json("{\"kind\":\"").then_without_end("x"),
        "longer than 1048576 bytes",
    );
    check(
        "members",
        Bait::json(format!("{OPEN}{{")).then_without_end("\"a\":1,"),
        "longer than 1048576 bytes",
    );
    let zeros = Bait::json(OPEN).then_without_end("[");
    check("brackets", zeros, "something that is no object");
}

#[test]
fn an_answer_of_http_that_does_not_end_is_given_up() {
    let _alone = alone();
    let header = Bait::raw("HTTP/1.1 200 OK\r\nx: ", "").then_without_end("y");
    check_both("a header", header, "connection to the server failed");
    let headers = Bait::raw("HTTP/1.1 200 OK\r\n", "").then_without_end("x: y\r\n");
    check_both("headers", headers, "connection to the server failed");
    let refusal = "HTTP/1.1 500 Internal Server Error\r\ncontent-type: application/json\r\n\r\n";
    let message = Bait::raw(refusal, "{\"kind\":\"Status\",\"message\":\"").then_without_end("no ");
    check_both("a refusal", message, "server answered 500");
    let status = format!("{{\"kind\":\"Status\",\"message\":\"{}\"}}", "no ".repeat(300_000));
    check_both("a long refusal", Bait::raw(refusal, status), "server answered 500");
}

#[test]
fn an_answer_that_is_no_http_is_an_error() {
    let _alone = alone();
    check_both("nothing", Bait::raw("", ""), "connection to the server failed");
    check_both("noise", Bait::raw("\0\x16\x03\x01 no http\r\n\r\n", ""), "connection to the server failed");
    let chunks = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    check_broken("a chunk of any size", Bait::raw(chunks, "fffffffffffffffff\r\nx"));
    check_broken("a chunk of no size", Bait::raw(chunks, "no\r\nx"));
    let short = "HTTP/1.1 200 OK\r\ncontent-length: 1000000000000\r\n\r\n";
    check_broken("less than it says", Bait::raw(short, OPEN));
    let two = "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n";
    check_both("two lengths", Bait::raw(two, OPEN), "connection to the server failed");
}

#[test]
fn what_comes_packed_is_not_opened() {
    let _alone = alone();
    // Zeros, as gzip writes them: a thousand times larger than this.
    let bomb = [&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3][..], &[0; 1000]].concat();
    for coding in ["gzip", "GZIP", "br", "zstd, gzip", "\u{1b}[2J"] {
        let head = format!("HTTP/1.1 200 OK\r\ncontent-encoding: {coding}\r\n\r\n");
        let reported =
            if coding.is_ascii() && !coding.starts_with('\u{1b}') { "which was not asked for" } else { "" };
        check_both(coding, Bait::raw(head, bomb.clone()), reported);
    }
}

#[test]
fn a_body_that_is_no_list_is_an_error() {
    let _alone = alone();
    check("html", Bait::json("<html>502</html>"), "list cannot be read");
    check("nothing", Bait::json(""), "list cannot be read");
    check("half of one", Bait::json(&list("{}")[..80]), "list cannot be read");
    check("deep", Bait::json("[".repeat(100_000)), "nested deeper than");
    check(
        "a version that is a number",
        Bait::json("{\"metadata\":{\"resourceVersion\":5},\"items\":[]}"),
        "list cannot be read",
    );
    let long = format!("{{\"metadata\":{{\"resourceVersion\":\"{}\"}},\"items\":[]}}", "9".repeat(300));
    check("a version that is too long", Bait::json(long), "version of the list cannot be read");
    check("no items", Bait::json("{\"kind\":\"ConfigMapList\"}"), "list cannot be read");
    check("a number too large", Bait::json(format!("{}1e999", list("{}"))), "list cannot be read");
}

#[test]
fn items_that_are_no_objects_are_left_out() {
    let _alone = alone();
    let named = r#"{"metadata":{"name":"z","namespace":"d","resourceVersion":"1"}"#;
    for (name, item, reported) in [
        ("no metadata", "{}".to_owned(), "name"),
        ("no name", r#"{"metadata":{"namespace":"d"}}"#.to_owned(), "name"),
        ("a name that is a number", r#"{"metadata":{"name":7}}"#.to_owned(), "metadata.name"),
        ("a name with a slash", r#"{"metadata":{"name":"a/b","namespace":"d"}}"#.to_owned(), "name"),
        ("two objects in one", format!(r#"{named},"metadata":{{"name":"ghost","namespace":"d"}}}}"#), "d/z"),
        ("two names", named.replace("}", r#","uid":"1","name":"ghost"}}"#), "d/z"),
        ("deep", format!("{}1{}", "{\"a\":".repeat(120), "}".repeat(120)), "name"),
        ("a number out of range", format!("{named},\"immutable\":1e999}}"), "d/z"),
        (
            "a name without end",
            format!(r#"{{"metadata":{{"name":"{}"}},"data":7}}"#, "x".repeat(500_000)),
            "object xxx",
        ),
        (
            "a kind without end",
            format!(r#"{{"kind":"{}","metadata":{{"name":"z"}}}}"#, "x".repeat(500_000)),
            "",
        ),
        ("a key without end", format!("{named},\"data\":{{\"{}\":7}}}}", "x".repeat(500_000)), "d/z"),
        ("no base64", format!("{named},\"binaryData\":{{\"k\":\"***\"}}}}"), "binaryData"),
    ] {
        check(name, Bait::json(list(&item)), reported);
    }
    let mut text = list(r#"{"metadata":{"name":"XX","namespace":"d"}}"#).into_bytes();
    let place = text.windows(2).position(|two| two == b"XX").unwrap();
    text[place..place + 2].copy_from_slice(&[0xff, 0xfe]);
    check("no UTF-8", Bait::json(text), "UTF-8");
}

#[test]
fn an_object_may_be_as_large_as_one_says_and_no_larger() {
    let _alone = alone();
    let large = |length: usize| {
        let value = "x".repeat(length);
        list(&format!(
            r#"{{"metadata":{{"name":"z","namespace":"d","resourceVersion":"1"}},"data":{{"k":"{value}"}}}}"#
        ))
    };
    check("too large", Bait::json(large(OBJECT)), "longer than 1048576 bytes");
    let malformed = large(OBJECT - 1000).replace("\"k\":\"x", "\"k\":7,\"x");
    check("large, and malformed", Bait::json(malformed), "cannot be decoded");
}

#[test]
fn lengths_of_protobuf_that_mean_harm_are_errors() {
    let _alone = alone();
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
        check(name, Bait::protobuf(body), reported);
    }
    let slow = list(&[&b"\x12\x84\x80\x40\x12\x80\x80\x40"[..], &[0; 300_000]].concat());
    check(
        "an item that comes byte by byte, and not whole",
        Bait::protobuf(slow).in_single_bytes(),
        "list cannot be read",
    );
}
