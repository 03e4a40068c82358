//! Splits the protobuf of a list into its items while it arrives.

use super::{error::ListError, meta::ListMeta};
use crate::{
    frame::JsonLines,
    object::{Format, Raw},
    pieces::Pieces,
    protobuf::{Cause, MAGIC, ProtobufError, Reader, Schema, Tag, TypesOf, Wire, not_encoded},
    version::ResourceVersion,
};
use bytes::Bytes;

/// The items of a list in protobuf, whatever pieces the body comes in.
///
/// Items come out as soon as their last byte is there; a body is never held whole. An item that lies within one piece is
/// a slice of it; one that spans several is put together.
#[derive(Debug)]
pub struct ProtobufList {
    pieces: Pieces,
    place: Place,
    meta: ListMeta,
    /// How the items are to be read, once that is known.
    format: Option<Format>,
    limit: usize,
}

/// Where the next byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Begin,
    Envelope,
    /// In the list itself, with so many bytes of it left.
    List(usize),
}

/// What stands before the content of a field.
#[derive(Clone, Copy, Debug)]
struct Header {
    tag: Tag,
    /// How many bytes it takes itself.
    length: usize,
    content: usize,
}

/// The longest header: a tag and a length of ten bytes each.
const HEADER: usize = 20;

impl Header {
    fn whole(self) -> usize {
        self.length.saturating_add(self.content)
    }
}

impl ProtobufList {
    /// Items of up to [`JsonLines::DEFAULT_LIMIT`](crate::JsonLines::DEFAULT_LIMIT) bytes.
    #[must_use]
    pub fn new() -> Self {
        Self::with_limit(JsonLines::DEFAULT_LIMIT)
    }

    /// Items of up to `limit` bytes.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        let (pieces, meta) = (Pieces::default(), ListMeta::default());
        Self { pieces, place: Place::Begin, meta, format: None, limit }
    }

    /// Takes the next piece of the body.
    pub fn push(&mut self, piece: Bytes) {
        self.pieces.push(piece);
    }

    /// The next item, or nothing until more is pushed.
    ///
    /// # Errors
    /// [`ListError`] if the list cannot be read on, and every further call says so again.
    #[expect(
        clippy::should_implement_trait,
        reason = "nothing now is not the end, as it would be for an iterator"
    )]
    pub fn next(&mut self) -> Result<Option<Raw>, ListError> {
        if self.place == Place::Begin {
            let mut begin = MAGIC;
            let there = self.pieces.copy(&mut begin);
            if begin[..there] != MAGIC[..there] {
                return Err(self.broken(Cause::Magic));
            }
            if there < MAGIC.len() {
                return Ok(None);
            }
            self.pieces.take(MAGIC.len());
            self.place = Place::Envelope;
        }
        while let Some(header) = self.header()? {
            let is_list =
                self.place == Place::Envelope && header.tag == Tag { number: 2, wire: Wire::Length };
            if is_list {
                self.list_begun(header)?;
                continue;
            }
            if header.content > self.limit {
                return Err(ListError::TooLong { offset: self.pieces.offset(), limit: self.limit });
            }
            let Some(content) = self.pieces.show(header.length, header.content) else { break };
            let item = self.content(header.tag, &content)?;
            self.passed(header.whole());
            if item {
                let format = self.format.ok_or_else(|| self.other())?;
                return Ok(Some(Raw::new(format, content)));
            }
        }
        Ok(None)
    }

    /// The next field, once enough of it has come to tell how long it is.
    fn header(&mut self) -> Result<Option<Header>, ListError> {
        if self.place == Place::List(0) {
            self.place = Place::Envelope;
        }
        let mut begin = [0; HEADER];
        let there = self.pieces.copy(&mut begin);
        let mut reader = Reader::new(&begin[..there]);
        let header = match read_header(&mut reader) {
            Ok(header) => header,
            Err(error) if error.is_early() && there < HEADER => return Ok(None),
            Err(error) => return Err(ListError::Protobuf(error.shifted(self.pieces.offset()))),
        };
        let is_within = match (self.place, header) {
            (Place::List(left), Some(header)) => header.whole() <= left,
            (Place::Begin | Place::Envelope, _) | (_, None) => true,
        };
        if is_within { Ok(header) } else { Err(self.broken(Cause::Early)) }
    }

    fn list_begun(&mut self, header: Header) -> Result<(), ListError> {
        let schema = Schema::of(&self.meta.api_version, &self.meta.kind).and_then(Schema::item);
        let schema = schema.ok_or_else(|| self.other())?;
        // Whoever asks for metadata alone gets items that say so, and no others do.
        let is_partial = schema == Schema::partial();
        self.format = Some(if is_partial { Format::Protobuf(schema) } else { Format::ProtobufItem(schema) });
        self.pieces.take(header.length);
        self.place = Place::List(header.content);
        Ok(())
    }

    /// Reads what is no item, and says whether it is one.
    fn content(&mut self, tag: Tag, content: &[u8]) -> Result<bool, ListError> {
        let offset = self.pieces.offset();
        let broken = |error: ProtobufError| ListError::Protobuf(error.shifted(offset));
        match (self.place, tag) {
            (Place::List(_), Tag { number: 2, wire: Wire::Length }) => return Ok(true),
            (Place::List(_), Tag { number: 1, wire: Wire::Length }) => {
                read_meta(&mut self.meta, Reader::new(content), broken)?;
            }
            (Place::Envelope, Tag { number: 1, wire: Wire::Length }) => {
                let types = TypesOf::read(Reader::new(content)).map_err(broken)?;
                self.meta.api_version = types.api_version.to_owned();
                self.meta.kind = types.kind.to_owned();
            }
            (Place::Envelope, Tag { number: 3, wire: Wire::Length }) => {
                not_encoded(content).map_err(broken)?;
            }
            (Place::Begin | Place::Envelope | Place::List(_), _) => {}
        }
        Ok(false)
    }

    fn passed(&mut self, count: usize) {
        self.pieces.take(count);
        if let Place::List(left) = &mut self.place {
            *left -= count;
        }
    }

    fn broken(&self, cause: Cause) -> ListError {
        ListError::Protobuf(ProtobufError::at(self.pieces.offset(), cause))
    }

    fn other(&self) -> ListError {
        let ListMeta { api_version, kind, .. } = self.meta.clone();
        ListError::Other { api_version, kind }
    }

    /// Ends the list, after [`ProtobufList::next`] has given all items.
    ///
    /// # Errors
    /// [`ListError::Unfinished`] if the body ended early, [`ListError::Unread`] if an item is left,
    /// [`ListError::Other`] if the body is no list, and whatever [`ProtobufList::next`] says of what follows.
    pub fn finish(mut self) -> Result<ListMeta, ListError> {
        if self.next()?.is_some() {
            return Err(ListError::Unread { offset: self.pieces.offset() });
        }
        if self.place != Place::Envelope || self.pieces.length() > 0 {
            let bytes = self.pieces.offset() + self.pieces.length();
            return Err(ListError::Unfinished { bytes });
        }
        if self.format.is_none() {
            return Err(self.other());
        }
        Ok(self.meta)
    }
}

fn read_header(reader: &mut Reader<'_>) -> Result<Option<Header>, ProtobufError> {
    let Some(tag) = reader.tag()? else { return Ok(None) };
    let begin = *reader;
    let content = match tag.wire {
        Wire::Length => usize::try_from(reader.varint()?).map_err(|_| begin.error(Cause::Early))?,
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
    broken: impl Fn(ProtobufError) -> ListError,
) -> Result<(), ListError> {
    while let Some(tag) = reader.tag().map_err(&broken)? {
        match tag {
            Tag { number: 2, wire: Wire::Length } => {
                let version = ResourceVersion::parse_optional(reader.text().map_err(&broken)?);
                meta.version = version.map_err(ListError::Version)?;
            }
            Tag { number: 3, wire: Wire::Length } => {
                let token = reader.text().map_err(&broken)?;
                meta.continue_token = Some(token).filter(|token| !token.is_empty()).map(str::to_owned);
            }
            Tag { number: 4, wire: Wire::Varint } => {
                let count = reader.varint().map_err(&broken)? as i64;
                meta.remaining = count.try_into().ok();
            }
            Tag { wire, .. } => reader.skip(wire).map_err(&broken)?,
        }
    }
    Ok(())
}

impl Default for ProtobufList {
    fn default() -> Self {
        Self::new()
    }
}
