//! The frames of a watch, in either encoding.

use crate::pieces::cuts;
use bytes::Bytes;
use k8s_openapi::api::core::v1::Pod;
use kube_informer_wire::{
    Frame, FrameError, Frames, JsonLines, ManagedFields, ProtobufFrames, Raw, WatchEvent,
};
use serde::Deserialize;
use serde_json::Value;

/// The maximum length of a frame in this target.
const SHORT: usize = 512;

/// The frames, and the end of the stream.
type Cut = (Vec<Bytes>, Result<(), FrameError>);

pub(crate) fn json(data: &[u8]) {
    let whole = json_lines(SHORT, [Bytes::copy_from_slice(data)]);
    assert!(whole.0.iter().all(|line| line.len() <= SHORT), "the limit holds");
    for cut in cuts(data) {
        assert_eq!(json_lines(SHORT, cut), whole, "the pieces make no difference");
    }
    let mut frames = Frames::json();
    frames.push(Bytes::copy_from_slice(data));
    let lines = json_lines(JsonLines::DEFAULT_LIMIT, [Bytes::copy_from_slice(data)]).0;
    for line in lines {
        let frame = frames.next().expect("there is one for each line").expect("there is one for each line");
        event(&frame);
        against_serde(&frame, &line);
    }
}

pub(crate) fn protobuf(data: &[u8]) {
    let whole = protobuf_frames([Bytes::copy_from_slice(data)]);
    assert!(whole.0.iter().all(|frame| frame.len() <= SHORT), "the limit holds");
    for cut in cuts(data) {
        let (frames, end) = protobuf_frames(cut);
        assert_eq!(
            (frames, end.is_ok()),
            (whole.0.clone(), whole.1.is_ok()),
            "the pieces make no difference"
        );
    }
    let mut frames = Frames::protobuf();
    frames.push(Bytes::copy_from_slice(data));
    while let Ok(Some(frame)) = frames.next() {
        event(&frame);
    }
    // Few inputs have correct lengths.
    let length = u32::try_from(data.len()).expect("input is small");
    let mut frames = Frames::protobuf();
    frames.push([&length.to_be_bytes()[..], data].concat().into());
    event(&frames.next().expect("the length is right").expect("it is whole"));
}

fn json_lines(limit: usize, pieces: impl IntoIterator<Item = Bytes>) -> Cut {
    let (mut lines, mut found) = (JsonLines::with_limit(limit), Vec::new());
    for piece in pieces {
        lines.push(piece);
        loop {
            match lines.next() {
                Ok(Some(line)) => found.push(line),
                Ok(None) => break,
                Err(error) => return (found, Err(error)),
            }
        }
    }
    (found, lines.finish())
}

fn protobuf_frames(pieces: impl IntoIterator<Item = Bytes>) -> Cut {
    let (mut frames, mut found) = (ProtobufFrames::with_limit(SHORT), Vec::new());
    for piece in pieces {
        frames.push(piece);
        loop {
            match frames.next() {
                Ok(Some(frame)) => found.push(frame),
                Ok(None) => break,
                Err(error) => return (found, Err(error)),
            }
        }
    }
    (found, frames.finish())
}

/// Checks that a split event equals the decoded one.
fn event(frame: &Frame) {
    let (split, decoded) = (frame.split(), frame.decode::<Value>(ManagedFields::Keep));
    drop(frame.decode::<Pod>(ManagedFields::Drop));
    match (split, decoded) {
        (Ok(split), Ok(decoded)) => {
            let object = |raw: Raw| {
                let alone = || raw.without_trailing_data()?.decode(ManagedFields::Keep).ok();
                raw.decode::<Value>(ManagedFields::Keep).ok().or_else(alone)
            };
            assert_eq!(split.map(object), decoded.map(Some), "apart and whole");
        }
        // A malformed object is detected when it is decoded.
        (Ok(_), Err(error)) => assert!(!error.to_string().is_empty()),
        (Err(error), decoded) => assert!(decoded.is_err(), "{error}: {decoded:?}"),
    }
}

/// Compares a frame with the result of serde_json.
fn against_serde(frame: &Frame, line: &[u8]) {
    #[derive(Deserialize)]
    struct Event {
        r#type: String,
        object: Value,
    }
    let ours = frame.decode::<Value>(ManagedFields::Keep).ok();
    let ours = match ours {
        Some(WatchEvent::Added(object)) => Some(("ADDED", object)),
        Some(WatchEvent::Modified(object)) => Some(("MODIFIED", object)),
        Some(WatchEvent::Deleted(object)) => Some(("DELETED", object)),
        _ => None,
    };
    let theirs: Option<Event> = serde_json::from_slice(line).ok();
    let theirs = theirs.filter(|event| matches!(event.r#type.as_str(), "ADDED" | "MODIFIED" | "DELETED"));
    assert_eq!(ours, theirs.as_ref().map(|event| (event.r#type.as_str(), event.object.clone())));
}
