//! Exports changes as JSON lines.

use super::{
    api::change_json,
    change::Change,
    query::{Filter, Range},
    source::ChangeSource,
};
use bytes::Bytes;
use futures_util::{Stream, stream};
use std::sync::Arc;

/// The number of changes that are read at once.
const CHUNK: usize = 500;

/// Streams the changes of a range, oldest first, one JSON object in each line.
///
/// A chunk is created when the connection can send it, so that a large export needs little memory.
pub(super) fn lines(
    source: Arc<dyn ChangeSource>,
    filter: Filter,
    range: Range,
) -> impl Stream<Item = Bytes> {
    let first = source.log().between(range.from, range.to).next().map(|change| change.number);
    stream::unfold((source, filter, first), move |(source, filter, next)| async move {
        let (text, next) = chunk(&*source, &filter, range.to, next?);
        Some((Bytes::from(text), (source, filter, next)))
    })
}

/// Returns the next lines, and the number of the change after them.
fn chunk(source: &dyn ChangeSource, filter: &Filter, to: i64, first: u64) -> (String, Option<u64>) {
    let kinds = source.kinds();
    let log = source.log();
    let mut text = String::new();
    let mut seen: Option<&Change> = None;
    for change in log.since(first).take_while(|change| change.time <= to).take(CHUNK) {
        seen = Some(change);
        if filter.accepts(change) {
            text.push_str(&change_json(&kinds, change).to_string());
            text.push('\n');
        }
    }
    (text, seen.map(|change| change.number + 1))
}
