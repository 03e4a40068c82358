//! Splits the JSON of a list into its items while it arrives.

use super::{
    error::ListError,
    meta::ListMeta,
    scanner::{Mark, Scanner},
};
use crate::{frame::JsonLines, version::ResourceVersion};
use bytes::Bytes;
use serde::Deserialize;
use std::collections::VecDeque;

/// The items of a JSON list, whatever pieces the body comes in.
///
/// Items come out as the JSON texts they are, ready for [`decode_object`](crate::decode_object), as soon as their last
/// byte is there; a body is never held whole. An item that lies within one piece is a slice of it; one that spans
/// several is put together. A slice keeps its whole piece in memory: decode it and let it go.
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
    scanner: Scanner,
    /// Pieces that have not been looked at, but for the first, whose looked-at part is cut off.
    pieces: VecDeque<Bytes>,
    /// The beginning of an item whose end has not come.
    begun: Option<Vec<u8>>,
    /// The list with a zero in the place of each item, so that what is malformed around them shows.
    envelope: Vec<u8>,
    /// How much of the first piece the scanner has seen.
    ahead: usize,
    /// How many bytes have been looked at.
    seen: usize,
    limit: usize,
    /// How many items have come. Each leaves two bytes in the envelope, which are no part of what is limited.
    items: usize,
    /// Why the list cannot be read on, and at which byte.
    broken: Option<(Broken, usize)>,
}

/// What stops the reading for good.
#[derive(Clone, Copy, Debug)]
enum Broken {
    Stray,
    Deep,
    TooLong,
}

impl JsonList {
    /// Items of up to [`JsonLines::DEFAULT_LIMIT`](crate::JsonLines::DEFAULT_LIMIT) bytes.
    #[must_use]
    pub fn new() -> Self {
        Self::with_limit(JsonLines::DEFAULT_LIMIT)
    }

    /// Items of up to `limit` bytes.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self {
            scanner: Scanner::default(),
            pieces: VecDeque::new(),
            begun: None,
            envelope: Vec::new(),
            ahead: 0,
            seen: 0,
            limit,
            items: 0,
            broken: None,
        }
    }

    /// Takes the next piece of the body.
    pub fn push(&mut self, piece: Bytes) {
        if !piece.is_empty() {
            self.pieces.push_back(piece);
        }
    }

    /// The JSON of the next item, or nothing until more is pushed.
    ///
    /// # Errors
    /// [`ListError::Stray`], [`ListError::Deep`] or [`ListError::TooLong`]; the list cannot be read on then, and every
    /// further call says so again.
    #[expect(
        clippy::should_implement_trait,
        reason = "nothing now is not the end, as it would be for an iterator"
    )]
    pub fn next(&mut self) -> Result<Option<Bytes>, ListError> {
        if self.broken.is_none() {
            match self.advance() {
                Ok(item) => return Ok(item),
                Err(broken) => self.broken = Some(broken),
            }
        }
        let limit = self.limit;
        self.broken.map_or(Ok(None), |(broken, offset)| {
            Err(match broken {
                Broken::Stray => ListError::Stray { offset },
                Broken::Deep => ListError::Deep { offset },
                Broken::TooLong => ListError::TooLong { offset, limit },
            })
        })
    }

    fn advance(&mut self) -> Result<Option<Bytes>, (Broken, usize)> {
        while let Some(mut piece) = self.pieces.pop_front() {
            let mark = self.scanner.next(&piece, std::mem::take(&mut self.ahead));
            match mark {
                None => self.keep(&piece)?,
                Some(Mark::Begin(place)) => {
                    self.keep(&piece.split_to(place))?;
                    self.begun = Some(Vec::new());
                    self.ahead = 1;
                    self.pieces.push_front(piece);
                }
                Some(Mark::End(place)) => {
                    let item = self.whole(piece.split_to(place))?;
                    if !piece.is_empty() {
                        self.pieces.push_front(piece);
                    }
                    return Ok(Some(item));
                }
                Some(Mark::Stray(place)) => return Err((Broken::Stray, self.seen + place)),
                Some(Mark::Deep(place)) => return Err((Broken::Deep, self.seen + place)),
            }
        }
        Ok(None)
    }

    /// Puts what has been looked at with the item that has begun, or with the envelope.
    fn keep(&mut self, part: &[u8]) -> Result<(), (Broken, usize)> {
        self.seen += part.len();
        let (begun, limit) = match &mut self.begun {
            Some(begun) => (begun, self.limit),
            None => (&mut self.envelope, self.limit.saturating_add(2 * self.items)),
        };
        begun.extend_from_slice(part);
        if begun.len() > limit {
            return Err((Broken::TooLong, self.seen));
        }
        Ok(())
    }

    fn whole(&mut self, last: Bytes) -> Result<Bytes, (Broken, usize)> {
        self.seen += last.len();
        let mut begun = self.begun.take().unwrap_or_default();
        if begun.len() + last.len() > self.limit {
            return Err((Broken::TooLong, self.seen));
        }
        self.envelope.push(b'0');
        self.items += 1;
        if begun.is_empty() {
            return Ok(last);
        }
        begun.extend_from_slice(&last);
        Ok(begun.into())
    }

    /// Ends the list, after [`JsonList::next`] has given all items.
    ///
    /// # Errors
    /// [`ListError::Unfinished`] if the body ended early, [`ListError::Unread`] if an item is left,
    /// [`ListError::Envelope`] or [`ListError::Version`] if what is around the items is no list, and whatever
    /// [`JsonList::next`] says of what follows the last item.
    pub fn finish(mut self) -> Result<ListMeta, ListError> {
        if self.next()?.is_some() {
            return Err(ListError::Unread { offset: self.seen });
        }
        if !self.scanner.is_complete() || self.begun.is_some() || self.envelope.is_empty() {
            return Err(ListError::Unfinished { bytes: self.seen });
        }
        read_meta(&self.envelope)
    }
}

fn read_meta(envelope: &[u8]) -> Result<ListMeta, ListError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Envelope {
        api_version: Option<String>,
        kind: Option<String>,
        metadata: Option<Metadata>,
        /// Required by the schema of every list, and null where Go had no slice. It is all zeros, unless the items
        /// have gone unnoticed under a name with escapes in it.
        #[serde(rename = "items", deserialize_with = "Option::deserialize")]
        _items: Option<Vec<u8>>,
    }
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Metadata {
        resource_version: Option<String>,
        r#continue: Option<String>,
        remaining_item_count: Option<i64>,
    }
    let envelope: Envelope = serde_json::from_slice(envelope).map_err(ListError::Envelope)?;
    let metadata = envelope.metadata.unwrap_or_default();
    let version = metadata.resource_version.unwrap_or_default();
    Ok(ListMeta {
        api_version: envelope.api_version.unwrap_or_default(),
        kind: envelope.kind.unwrap_or_default(),
        version: ResourceVersion::parse_optional(&version).map_err(ListError::Version)?,
        continue_token: metadata.r#continue.filter(|token| !token.is_empty()),
        remaining: metadata.remaining_item_count.and_then(|count| count.try_into().ok()),
    })
}

impl Default for JsonList {
    fn default() -> Self {
        Self::new()
    }
}
