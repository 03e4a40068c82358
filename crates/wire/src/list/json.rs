//! Splits the JSON of a list into its items while it arrives.

use super::{
    error::{ListError, MAX_DEPTH},
    meta::ListMeta,
};
use crate::{decode::redacted, frame::JsonLines, json::Brackets, pieces::append, version::ResourceVersion};
use bytes::Bytes;
use serde::Deserialize;
use std::{collections::VecDeque, ops::Range};

/// The items of a JSON list, from a body that arrives in pieces.
///
/// Each item is returned as JSON text, ready for [`decode_object`](crate::decode_object), as soon as its last byte has
/// arrived; the body is never buffered as a whole. An item within one piece is a slice of it, which keeps the piece in
/// memory. An item that spans pieces is copied.
///
/// ```
/// use kube_informer_wire::JsonList;
///
/// let mut list = JsonList::new();
/// list.push(r#"{"kind":"PodList","metadata":{"resourceVersion":"7"},"items":[{"a":1},{"b""#.into());
/// assert_eq!(list.next()?.as_deref(), Some(&br#"{"a":1}"#[..]));
/// assert_eq!(list.next()?, None);
/// list.push(r#":2}]}"#.into());
/// assert_eq!(list.next()?.as_deref(), Some(&br#"{"b":2}"#[..]));
/// assert_eq!(list.finish()?.version.unwrap().to_string(), "7");
/// # Ok::<(), kube_informer_wire::ListError>(())
/// ```
#[derive(Debug)]
pub struct JsonList {
    scanner: ItemScanner,
    /// Pieces that have not been scanned; the scanned part of the first is cut off.
    pieces: VecDeque<Bytes>,
    /// The beginning of an item whose end has not arrived.
    partial: Option<Vec<u8>>,
    /// The list with a zero in place of each item, to be decoded at the end.
    envelope: Vec<u8>,
    /// The number of bytes of the first piece that have been scanned.
    ahead: usize,
    /// The number of bytes that have been scanned before the first piece.
    scanned: usize,
    limit: usize,
    /// The number of items. Each has two bytes in the envelope, which do not count toward the limit.
    items: usize,
    failure: Option<Failure>,
}

/// Why the list cannot be read further.
#[derive(Clone, Copy, Debug)]
struct Failure {
    kind: FailureKind,
    offset: usize,
}

#[derive(Clone, Copy, Debug)]
enum FailureKind {
    NotAnObject,
    TooDeep,
    TooLong,
}

impl JsonList {
    /// Creates a list with items of at most [`JsonLines::DEFAULT_LIMIT`](crate::JsonLines::DEFAULT_LIMIT) bytes.
    #[must_use]
    pub fn new() -> Self {
        Self::with_limit(JsonLines::DEFAULT_LIMIT)
    }

    /// Creates a list with items of at most `limit` bytes.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self {
            scanner: ItemScanner::default(),
            pieces: VecDeque::new(),
            partial: None,
            envelope: Vec::new(),
            ahead: 0,
            scanned: 0,
            limit,
            items: 0,
            failure: None,
        }
    }

    /// Adds the next piece of the body.
    pub fn push(&mut self, piece: Bytes) {
        if !piece.is_empty() {
            self.pieces.push_back(piece);
        }
    }

    /// Returns the JSON of the next item; `None` until more is pushed.
    ///
    /// # Errors
    /// [`ListError::NotAnObject`], [`ListError::TooDeep`] or [`ListError::TooLong`], which every further call returns again.
    #[expect(clippy::should_implement_trait, reason = "unlike for an iterator, `None` is not the end")]
    pub fn next(&mut self) -> Result<Option<Bytes>, ListError> {
        if self.failure.is_none() {
            match self.advance() {
                Ok(item) => return Ok(item),
                Err(failure) => self.failure = Some(failure),
            }
        }
        let Some(Failure { kind, offset }) = self.failure else { return Ok(None) };
        Err(match kind {
            FailureKind::NotAnObject => ListError::NotAnObject { offset },
            FailureKind::TooDeep => ListError::TooDeep { offset },
            FailureKind::TooLong => ListError::TooLong { offset, limit: self.limit },
        })
    }

    fn advance(&mut self) -> Result<Option<Bytes>, Failure> {
        while let Some(mut piece) = self.pieces.pop_front() {
            let found = self.scanner.next(&piece, std::mem::take(&mut self.ahead));
            match found {
                None => self.keep(&piece)?,
                Some(Found::Array(position)) => {
                    self.keep(&piece.split_to(position))?;
                    self.scanner.is_in_items = opens_items(&self.envelope);
                    self.push_front(piece);
                }
                Some(Found::ItemBegin(position)) => {
                    self.keep(&piece.split_to(position))?;
                    self.partial = Some(Vec::new());
                    self.ahead = 1;
                    self.push_front(piece);
                }
                Some(Found::ItemEnd(position)) => {
                    let item = self.item(piece.split_to(position))?;
                    self.push_front(piece);
                    return Ok(Some(item));
                }
                Some(Found::NotAnObject(position)) => {
                    return Err(Failure { kind: FailureKind::NotAnObject, offset: self.scanned + position });
                }
                Some(Found::TooDeep(position)) => {
                    return Err(Failure { kind: FailureKind::TooDeep, offset: self.scanned + position });
                }
            }
        }
        Ok(None)
    }

    fn push_front(&mut self, piece: Bytes) {
        if !piece.is_empty() {
            self.pieces.push_front(piece);
        }
    }

    /// Adds scanned bytes to the partial item, or to the envelope.
    fn keep(&mut self, part: &[u8]) -> Result<(), Failure> {
        self.scanned += part.len();
        let envelope_limit = self.limit.saturating_add(2 * self.items);
        let (buffer, limit) = match &mut self.partial {
            Some(partial) => (partial, self.limit),
            None => (&mut self.envelope, envelope_limit),
        };
        if buffer.len() + part.len() > limit {
            return Err(Failure { kind: FailureKind::TooLong, offset: self.scanned });
        }
        append(buffer, part, limit);
        Ok(())
    }

    /// Returns the item that ends with these bytes.
    fn item(&mut self, last: Bytes) -> Result<Bytes, Failure> {
        self.scanned += last.len();
        let mut partial = self.partial.take().unwrap_or_default();
        if partial.len() + last.len() > self.limit {
            return Err(Failure { kind: FailureKind::TooLong, offset: self.scanned });
        }
        self.envelope.push(b'0');
        self.items += 1;
        if partial.is_empty() {
            return Ok(last);
        }
        append(&mut partial, &last, self.limit);
        Ok(partial.into())
    }

    /// Ends the list, after [`JsonList::next`] has returned all items.
    ///
    /// # Errors
    /// [`ListError::UnexpectedEnd`] if the body is incomplete, [`ListError::UnreadItem`] if an item is left,
    /// [`ListError::Envelope`] or [`ListError::Version`] if the rest of the body is not a list, and any error of
    /// [`JsonList::next`].
    pub fn finish(mut self) -> Result<ListMeta, ListError> {
        if self.next()?.is_some() {
            return Err(ListError::UnreadItem { offset: self.scanned });
        }
        if !self.scanner.is_complete() || self.partial.is_some() || self.envelope.is_empty() {
            return Err(ListError::UnexpectedEnd { bytes: self.scanned });
        }
        read_meta(&self.envelope)
    }
}

/// Whether the array that the text ends with is the value of `items`.
fn opens_items(envelope: &[u8]) -> bool {
    let key =
        envelope.strip_suffix(b"[").map(<[u8]>::trim_ascii_end).and_then(|text| text.strip_suffix(b":"));
    let before = key.and_then(|text| text.trim_ascii_end().strip_suffix(b"\"items\""));
    // An escaped quote would make it the end of a longer key.
    before.is_some_and(|text| !text.ends_with(b"\\"))
}

/// Finds where the items of a list begin and end. It follows strings and nesting only: items may be malformed inside.
#[derive(Debug, Default)]
struct ItemScanner {
    brackets: Brackets,
    depth: usize,
    /// Whether the array of items is open.
    is_in_items: bool,
}

/// What the scanner found, with its offset in the piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// The beginning of an item.
    ItemBegin(usize),
    /// The end of an item.
    ItemEnd(usize),
    /// The first byte inside of an array that is a member of the list.
    Array(usize),
    /// An item that is not an object.
    NotAnObject(usize),
    /// Nesting deeper than [`MAX_DEPTH`] outside of the items. Decoding reports an item that is nested too deep.
    TooDeep(usize),
}

impl ItemScanner {
    /// Whether the text so far is one complete value.
    fn is_complete(&self) -> bool {
        self.depth == 0 && !self.brackets.is_in_string()
    }

    fn is_between_items(&self) -> bool {
        self.is_in_items && self.depth == 2
    }

    /// Scans a piece from an offset on, up to the next finding.
    fn next(&mut self, piece: &[u8], from: usize) -> Option<Found> {
        let mut position = from;
        loop {
            let bracket = self.brackets.next(piece, position);
            if self.is_between_items()
                && let Some(other) = find_other(piece, position..bracket.unwrap_or(piece.len()))
            {
                return Some(Found::NotAnObject(other));
            }
            let bracket = bracket?;
            position = bracket + 1;
            match piece[bracket] {
                b'[' if self.is_between_items() => return Some(Found::NotAnObject(bracket)),
                b'{' if self.is_between_items() => {
                    self.depth += 1;
                    return Some(Found::ItemBegin(bracket));
                }
                b'{' | b'[' => {
                    self.depth += 1;
                    if self.depth > MAX_DEPTH && !self.is_in_items {
                        return Some(Found::TooDeep(bracket));
                    }
                    if self.depth == 2 && piece[bracket] == b'[' {
                        return Some(Found::Array(position));
                    }
                }
                _ => {
                    self.depth = self.depth.saturating_sub(1);
                    self.is_in_items &= self.depth >= 2;
                    if self.is_between_items() {
                        return Some(Found::ItemEnd(position));
                    }
                }
            }
        }
    }
}

/// Returns the offset of the first byte in a range that is neither whitespace nor a comma.
fn find_other(piece: &[u8], range: Range<usize>) -> Option<usize> {
    let is_separator = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t' | b',');
    let begin = range.start;
    piece[range].iter().position(|byte| !is_separator(byte)).map(|offset| begin + offset)
}

fn read_meta(envelope: &[u8]) -> Result<ListMeta, ListError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Envelope {
        api_version: Option<String>,
        kind: Option<String>,
        metadata: Option<Metadata>,
        /// Required in every list; null for a nil slice of Go. The elements are zeros, unless the key has escapes, so that
        /// the scanner did not find the items.
        #[serde(rename = "items", deserialize_with = "Option::deserialize")]
        _items: Option<Vec<u8>>,
    }
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Metadata {
        resource_version: Option<String>,
        r#continue: Option<String>,
        remaining_item_count: Option<i64>,
        shard_info: Option<ShardInfo>,
    }
    #[derive(Deserialize)]
    struct ShardInfo {
        selector: Option<String>,
    }
    let envelope: Envelope =
        serde_json::from_slice(envelope).map_err(|error| ListError::Envelope(redacted(error)))?;
    let metadata = envelope.metadata.unwrap_or_default();
    let version = metadata.resource_version.unwrap_or_default();
    Ok(ListMeta {
        api_version: envelope.api_version.unwrap_or_default(),
        kind: envelope.kind.unwrap_or_default(),
        version: ResourceVersion::parse_optional(&version).map_err(ListError::Version)?,
        continue_token: metadata.r#continue.filter(|token| !token.is_empty()),
        remaining: metadata.remaining_item_count.and_then(|count| count.try_into().ok()),
        shard_selector: metadata.shard_info.map(|info| info.selector.unwrap_or_default()),
    })
}

impl Default for JsonList {
    fn default() -> Self {
        Self::new()
    }
}
