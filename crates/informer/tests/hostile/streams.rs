//! Malformed streaming lists.

use crate::{
    case::{check_recovers, one_at_a_time},
    hostile_response::HostileResponse,
    server::Verb,
};

/// Checks that an incomplete streaming list is not applied: its objects that the server does not have are never delivered.
fn check(name: &str, events: &[String], reported: &str) {
    check_recovers(Verb::Stream, name, HostileResponse::json(events.concat()), reported);
}

fn event(kind: &str, metadata: &str) -> String {
    format!("{{\"type\":\"{kind}\",\"object\":{{\"metadata\":{{{metadata}}}}}}}\n")
}

/// An object that the server does not have.
fn ghost(kind: &str) -> String {
    event(kind, r#""name":"ghost","namespace":"d","uid":"9","resourceVersion":"9""#)
}

fn end(version: &str) -> String {
    event(
        "BOOKMARK",
        &format!(r#""resourceVersion":{version},"annotations":{{"k8s.io/initial-events-end":"true"}}"#),
    )
}

#[test]
fn an_incomplete_streaming_list_is_not_applied() {
    let _guard = one_at_a_time();
    let bookmark = event("BOOKMARK", r#""resourceVersion":"10""#);
    let other =
        event("BOOKMARK", r#""resourceVersion":"10","annotations":{"k8s.io/initial-events-end":"no"}"#);
    let ended = "streaming list ended before it was complete";
    check("nothing", &[], ended);
    check("cut", &[ghost("ADDED")], ended);
    check("a bookmark without the annotation", &[ghost("ADDED"), bookmark], ended);
    check("an annotation that is not true", &[ghost("ADDED"), other], ended);
    check("an end without a version", &[ghost("ADDED"), end("\"\"")], "cannot be decoded");
    check("an end with a numeric version", &[ghost("ADDED"), end("10")], "cannot be");
    let error =
        "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":500,\"message\":\"no\"}}\n".to_owned();
    check("an error", &[ghost("ADDED"), error], "no");
    check("a malformed event", &[ghost("ADDED"), "{\n".to_owned()], "malformed watch frame");
}

#[test]
fn objects_may_be_deleted_or_repeated_within_a_streaming_list() {
    let _guard = one_at_a_time();
    let added =
        |name: &str| event("ADDED", &format!(r#""name":"{name}","namespace":"d","resourceVersion":"8""#));
    let deleted = [added("a"), ghost("ADDED"), added("b"), ghost("DELETED"), end("\"10\"")];
    check("deleted", &deleted, "");
    check("ended twice", &[deleted.concat(), end("\"10\"")], "");
    check("repeated", &[added("a"), added("b"), added("a"), end("\"10\"")], "");
}
