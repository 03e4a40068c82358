//! Streams of the initial state that are none.

use crate::{
    bait::Bait,
    case::{alone, survives},
    server::Verb,
};

/// A stream that is no whole state is not taken for one: what is in it that the server does not have is never seen.
fn check(name: &str, events: &[String], reported: &str) {
    survives(Verb::Stream, name, Bait::json(events.concat()), reported);
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
fn a_stream_without_its_end_is_no_state() {
    let _alone = alone();
    let bookmark = event("BOOKMARK", r#""resourceVersion":"10""#);
    let other =
        event("BOOKMARK", r#""resourceVersion":"10","annotations":{"k8s.io/initial-events-end":"no"}"#);
    let ended = "streaming list ended before it was complete";
    check("nothing", &[], ended);
    check("cut", &[ghost("ADDED")], ended);
    check("a bookmark that ends nothing", &[ghost("ADDED"), bookmark], ended);
    check("an end that says no", &[ghost("ADDED"), other], ended);
    check("an end without a version", &[ghost("ADDED"), end("\"\"")], "cannot be decoded");
    check("an end at a number", &[ghost("ADDED"), end("10")], "cannot be");
    let error =
        "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":500,\"message\":\"no\"}}\n".to_owned();
    check("an error", &[ghost("ADDED"), error], "no");
    check("what is no event", &[ghost("ADDED"), "{\n".to_owned()], "cannot be read");
}

#[test]
fn a_stream_that_takes_back_what_it_said_is_followed() {
    let _alone = alone();
    let here =
        |name: &str| event("ADDED", &format!(r#""name":"{name}","namespace":"d","resourceVersion":"8""#));
    let taken_back = [here("a"), ghost("ADDED"), here("b"), ghost("DELETED"), end("\"10\"")];
    check("deleted", &taken_back, "");
    check("ended twice", &[taken_back.concat(), end("\"10\"")], "");
    check("said twice", &[here("a"), here("b"), here("a"), end("\"10\"")], "");
}
