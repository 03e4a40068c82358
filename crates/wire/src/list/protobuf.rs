//! Splits the protobuf of a list into its items while it arrives.

use super::{error::ListError, meta::ListMeta};
use crate::{
    frame::JsonLines,
    object::{Format, Raw},
    pieces::Pieces,
    protobuf::{
        Cause, EnvelopeTypes, MAGIC, ProtobufError, Reader, Schema, Tag, Wire, check_content_encoding,
    },
    version::ResourceVersion,
};
use bytes::Bytes;

/// The items of a list in protobuf, from a body that arrives in pieces.
///
/// Each item is returned as soon as its last byte has arrived; the body is never buffered as a whole. An item within one
/// piece is a slice of it; an item that spans pieces is copied.
#[derive(Debug)]
pub struct ProtobufList {
    pieces: Pieces,
    position: Position,
    meta: ListMeta,
    /// The format of the items, once it is known.
    format: Option<Format>,
    limit: usize,
}

/// The position of the next byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    Begin,
    Envelope,
    /// In the list, with this number of bytes left.
    List(usize),
}

/// The tag of a field, and its length if it has one.
#[derive(Clone, Copy, Debug)]
struct Header {
    tag: Tag,
    /// The length of the header.
    length: usize,
    content: usize,
}

/// The maximum length of a header: a tag and a length of ten bytes each.
const MAX_HEADER: usize = 20;

impl Header {
    fn total(self) -> usize {
        self.length.saturating_add(self.content)
    }
}

impl ProtobufList {
    /// Creates a list with items of at most [`JsonLines::DEFAULT_LIMIT`](crate::JsonLines::DEFAULT_LIMIT) bytes.
    #[must_use]
    pub fn new() -> Self {
        Self::with_limit(JsonLines::DEFAULT_LIMIT)
    }

    /// Creates a list with items of at most `limit` bytes.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self {
            pieces: Pieces::default(),
            position: Position::Begin,
            meta: ListMeta::default(),
            format: None,
            limit,
        }
    }

    /// Adds the next piece of the body.
    pub fn push(&mut self, piece: Bytes) {
        self.pieces.push(piece);
    }

    /// Returns the next item; `None` until more is pushed.
    ///
    /// # Errors
    /// [`ListError`], which every further call returns again.
    #[expect(clippy::should_implement_trait, reason = "unlike for an iterator, `None` is not the end")]
    pub fn next(&mut self) -> Result<Option<Raw>, ListError> {
        if self.position == Position::Begin {
            let mut begin = MAGIC;
            let available = self.pieces.copy(&mut begin);
            if begin[..available] != MAGIC[..available] {
                return Err(self.error(Cause::Magic));
            }
            if available < MAGIC.len() {
                return Ok(None);
            }
            self.pieces.consume(MAGIC.len());
            self.position = Position::Envelope;
        }
        while let Some(header) = self.header()? {
            let is_list =
                self.position == Position::Envelope && header.tag == Tag { number: 2, wire: Wire::Length };
            if is_list {
                self.list_begun(header)?;
                continue;
            }
            if header.content > self.limit {
                return Err(ListError::TooLong { offset: self.pieces.offset(), limit: self.limit });
            }
            let Some(content) = self.pieces.peek(header.length, header.content) else { break };
            let item = self.read_field(header.tag, &content)?;
            self.consume(header.total());
            if item {
                let format = self.format.ok_or_else(|| self.not_a_list())?;
                return Ok(Some(Raw::new(format, content)));
            }
        }
        Ok(None)
    }

    /// Returns the header of the next field; `None` until it has arrived.
    fn header(&mut self) -> Result<Option<Header>, ListError> {
        if self.position == Position::List(0) {
            self.position = Position::Envelope;
        }
        let mut begin = [0; MAX_HEADER];
        let available = self.pieces.copy(&mut begin);
        let mut reader = Reader::new(&begin[..available]);
        let header = match read_header(&mut reader) {
            Ok(header) => header,
            Err(error) if error.is_unexpected_end() && available < MAX_HEADER => return Ok(None),
            Err(error) => return Err(ListError::Protobuf(error.shifted(self.pieces.offset()))),
        };
        let is_within = match (self.position, header) {
            (Position::List(left), Some(header)) => header.total() <= left,
            (Position::Begin | Position::Envelope, _) | (_, None) => true,
        };
        if is_within { Ok(header) } else { Err(self.error(Cause::UnexpectedEnd)) }
    }

    fn list_begun(&mut self, header: Header) -> Result<(), ListError> {
        let schema = Schema::of(&self.meta.api_version, &self.meta.kind).and_then(Schema::item);
        let schema = schema.ok_or_else(|| self.not_a_list())?;
        // Only items of PartialObjectMetadata have a kind.
        let is_partial = schema == Schema::partial_object_metadata();
        self.format = Some(if is_partial { Format::Protobuf(schema) } else { Format::ProtobufItem(schema) });
        self.pieces.consume(header.length);
        self.position = Position::List(header.content);
        Ok(())
    }

    /// Reads a field; returns whether it is an item.
    fn read_field(&mut self, tag: Tag, content: &[u8]) -> Result<bool, ListError> {
        let offset = self.pieces.offset();
        let failed = |error: ProtobufError| ListError::Protobuf(error.shifted(offset));
        match (self.position, tag) {
            (Position::List(_), Tag { number: 2, wire: Wire::Length }) => return Ok(true),
            (Position::List(_), Tag { number: 1, wire: Wire::Length }) => {
                read_meta(&mut self.meta, Reader::new(content), failed)?;
            }
            (Position::Envelope, Tag { number: 1, wire: Wire::Length }) => {
                let types = EnvelopeTypes::read(Reader::new(content)).map_err(failed)?;
                self.meta.api_version = types.api_version.to_owned();
                self.meta.kind = types.kind.to_owned();
            }
            (Position::Envelope, Tag { number: 3, wire: Wire::Length }) => {
                check_content_encoding(content).map_err(failed)?;
            }
            (Position::Begin | Position::Envelope | Position::List(_), _) => {}
        }
        Ok(false)
    }

    fn consume(&mut self, count: usize) {
        self.pieces.consume(count);
        if let Position::List(left) = &mut self.position {
            *left -= count;
        }
    }

    fn error(&self, cause: Cause) -> ListError {
        ListError::Protobuf(ProtobufError::at(self.pieces.offset(), cause))
    }

    fn not_a_list(&self) -> ListError {
        let ListMeta { api_version, kind, .. } = self.meta.clone();
        ListError::NotAList { api_version, kind }
    }

    /// Ends the list, after [`ProtobufList::next`] has returned all items.
    ///
    /// # Errors
    /// [`ListError::UnexpectedEnd`] if the body is incomplete, [`ListError::UnreadItem`] if an item is left,
    /// [`ListError::NotAList`] if the body is not a list, and any error of [`ProtobufList::next`].
    pub fn finish(mut self) -> Result<ListMeta, ListError> {
        if self.next()?.is_some() {
            return Err(ListError::UnreadItem { offset: self.pieces.offset() });
        }
        if self.position != Position::Envelope || self.pieces.length() > 0 {
            let bytes = self.pieces.offset() + self.pieces.length();
            return Err(ListError::UnexpectedEnd { bytes });
        }
        if self.format.is_none() {
            return Err(self.not_a_list());
        }
        Ok(self.meta)
    }
}

fn read_header(reader: &mut Reader<'_>) -> Result<Option<Header>, ProtobufError> {
    let Some(tag) = reader.tag()? else { return Ok(None) };
    let begin = *reader;
    let content = match tag.wire {
        Wire::Length => usize::try_from(reader.varint()?).map_err(|_| begin.error(Cause::UnexpectedEnd))?,
        Wire::Varint => {
            reader.varint()?;
            0
        }
        Wire::Fixed64 => 8,
        Wire::Fixed32 => 4,
    };
    Ok(Some(Header { tag, length: reader.offset(), content }))
}

fn read_meta(
    meta: &mut ListMeta,
    mut reader: Reader<'_>,
    failed: impl Fn(ProtobufError) -> ListError,
) -> Result<(), ListError> {
    while let Some(tag) = reader.tag().map_err(&failed)? {
        match tag {
            Tag { number: 2, wire: Wire::Length } => {
                let version = ResourceVersion::parse_optional(reader.text().map_err(&failed)?);
                meta.version = version.map_err(ListError::Version)?;
            }
            Tag { number: 3, wire: Wire::Length } => {
                let token = reader.text().map_err(&failed)?;
                meta.continue_token = Some(token).filter(|token| !token.is_empty()).map(str::to_owned);
            }
            Tag { number: 4, wire: Wire::Varint } => {
                let count = reader.varint().map_err(&failed)? as i64;
                meta.remaining = count.try_into().ok();
            }
            Tag { number: 5, wire: Wire::Length } => {
                let mut info = reader.message().map_err(&failed)?;
                let mut selector = "";
                while let Some(tag) = info.tag().map_err(&failed)? {
                    match tag {
                        Tag { number: 1, wire: Wire::Length } => selector = info.text().map_err(&failed)?,
                        Tag { wire, .. } => info.skip(wire).map_err(&failed)?,
                    }
                }
                meta.shard_selector = Some(selector.to_owned());
            }
            Tag { wire, .. } => reader.skip(wire).map_err(&failed)?,
        }
    }
    Ok(())
}

impl Default for ProtobufList {
    fn default() -> Self {
        Self::new()
    }
}
