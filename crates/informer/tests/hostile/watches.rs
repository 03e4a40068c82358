//! Watches that mean harm, and streams of the initial state.

use crate::{
    bait::Bait,
    case::{alone, survives},
    server::{STREAM, Verb},
};

/// A watch that follows a list, and one that takes its place.
fn check(name: &str, bait: Bait, reported: &str) {
    survives(Verb::Watch, name, bait.clone(), reported);
    survives(Verb::Stream, name, bait, reported);
}

/// The same with an event that is whole: behind it comes the rest of a stream, since only a whole state is looked at.
fn check_event(name: &str, said: impl AsRef<[u8]>, reported: &str) {
    survives(Verb::Watch, name, Bait::json(said.as_ref()), reported);
    survives(Verb::Stream, name, Bait::json([said.as_ref(), STREAM.as_bytes()].concat()), reported);
}

fn event(kind: &str, object: &str) -> String {
    format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n")
}

#[test]
fn a_line_that_does_not_end_is_given_up() {
    let _alone = alone();
    check("a line", Bait::json("{\"type\":\"").then_without_end("x"), "longer than 1048576 bytes");
    let object = Bait::json("{\"type\":\"ADDED\",\"object\":{").then_without_end("\"a\":[],");
    check("an object", object, "longer than 1048576 bytes");
    let tiny = Bait::json(format!("{{\"type\":\"{}", "x".repeat(300_000))).in_single_bytes();
    survives(Verb::Watch, "a line that comes byte by byte", tiny, "");
}

#[test]
fn events_that_are_none_are_reported() {
    let _alone = alone();
    for (name, said, reported) in [
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
        ("no JSON", "no\n".to_owned(), "cannot be read"),
        ("deep", event("ADDED", &format!("{}1{}", "{\"a\":".repeat(2000), "}".repeat(2000))), "no key"),
        ("deep elsewhere", format!("{{\"x\":{}\n", "[".repeat(2000)), "cannot be read"),
        ("a bookmark without a version", event("BOOKMARK", "{\"metadata\":{}}"), "cannot be decoded"),
        ("a bookmark without metadata", event("BOOKMARK", "{}"), "cannot be decoded"),
        ("an error that is none", event("ERROR", "7"), "7"),
        (
            "an error of many words",
            event("ERROR", &format!("{{\"kind\":\"Status\",\"message\":\"{}\"}}", "no ".repeat(300_000))),
            "no no",
        ),
        ("a type without end", event(&"A".repeat(200_000), "{}"), ""),
        (
            "a number out of range",
            event("ADDED", "{\"metadata\":{\"name\":\"a\",\"generation\":1e999}}"),
            "cannot be",
        ),
    ] {
        check_event(name, said, reported);
    }
    check_event("no UTF-8", b"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"\xff\"}}}\n", "UTF-8");
}

#[test]
fn a_version_that_is_no_number_is_one_all_the_same() {
    let _alone = alone();
    // Whatever the server calls it, the watch is asked to go on from there.
    let said = event("BOOKMARK", "{\"metadata\":{\"resourceVersion\":\"no number\"}}");
    check_event("opaque", said, "");
    let said =
        event("BOOKMARK", &format!("{{\"metadata\":{{\"resourceVersion\":\"{}\"}}}}", "9".repeat(300)));
    check_event("too long", said, "cannot be decoded");
}

#[test]
fn frames_of_protobuf_that_mean_harm_are_errors() {
    let _alone = alone();
    for (name, body, reported) in [
        ("four gigabytes", b"\xff\xff\xff\xff".to_vec(), "longer than 1048576 bytes"),
        ("nothing", b"\0\0\0\0".to_vec(), "cannot be read"),
        ("no protobuf", b"\0\0\0\x03abc".to_vec(), "cannot be read"),
        ("JSON", b"{\"type\":\"ADDED\"".to_vec(), "longer than 1048576 bytes"),
    ] {
        check(name, Bait::protobuf(body), reported);
    }
    let slow = [&b"\0\x0f\xff\xff"[..], &[0; 300_000]].concat();
    survives(Verb::Watch, "a frame that comes byte by byte", Bait::protobuf(slow).in_single_bytes(), "");
}
