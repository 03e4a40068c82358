//! Iterates over the fields that a protobuf message has in JSON.

use super::{
    error::{Cause, ProtobufError as Error},
    identity::{MANAGED_FIELDS, METADATA},
    reader::{Reader, Tag},
    schema::Schema,
    table::{Field, Message, Shape, Value},
    value_ref::{Next, Object, Skip, ValueRef},
};

/// The fields of a message, by their names in JSON.
#[derive(Debug)]
pub(crate) struct MessageFields<'de> {
    /// The value of the current field, followed by the rest of the message.
    current: ValueRef<'de>,
    name: &'static str,
    message: &'static Message,
    /// A bit for each field number that has been read.
    seen: u64,
    /// The messages that this one is inlined in, the outer one first; the tables inline no deeper.
    around: [Option<Level<'de>>; 2],
    /// The number of messages in `around`.
    inlined: usize,
    types: Types,
    skip: Skip,
}

/// A message that another one is inlined in, and the current position in it.
#[derive(Clone, Copy, Debug)]
struct Level<'de> {
    reader: Reader<'de>,
    message: &'static Message,
    seen: u64,
}

/// The next of the fields `apiVersion` and `kind`.
#[derive(Clone, Copy, Debug)]
enum Types {
    ApiVersion(Schema),
    Kind(Schema),
    Done,
}

impl<'de> MessageFields<'de> {
    #[inline]
    pub(crate) fn new(object: Object<'de>) -> Self {
        let Object { reader, message, types, skip, depth } = object;
        let current = ValueRef { reader, next: Next::Null, skip: Skip::Nothing, depth };
        let types = types.map_or(Types::Done, Types::ApiVersion);
        Self { current, name: "", message, seen: 0, around: [None, None], inlined: 0, types, skip }
    }

    /// Returns the name of the current field.
    #[inline]
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the value of the current field.
    #[inline]
    pub(crate) fn value(&mut self) -> &mut ValueRef<'de> {
        &mut self.current
    }

    /// Moves to the next field that JSON has; returns `false` after the last one.
    #[inline]
    pub(crate) fn advance(&mut self) -> Result<bool, Error> {
        if !matches!(self.types, Types::Done) {
            return Ok(self.move_to_type());
        }
        // A local copy stays in registers; the cold paths work on the one in `current`.
        let mut reader = self.current.reader;
        loop {
            if reader.is_empty() {
                self.current.reader = reader;
                match self.next_missing() {
                    Some(name) => return Ok(self.move_to(name, Next::Null)),
                    None if self.inlined == 0 => return Ok(false),
                    None => self.leave(),
                }
                reader = self.current.reader;
                continue;
            }
            let begin = reader.offset();
            let tag = reader.varint()?;
            let Some(field) = self.message.field_with_tag(tag) else {
                self.current.reader = reader;
                self.skip_unknown(Tag::new(tag, begin)?)?;
                reader = self.current.reader;
                continue;
            };
            let tag = Tag { number: (tag >> 3) as u32, wire: field.wire };
            let bit = 1 << tag.number;
            if self.seen & bit != 0 {
                return Err(Error::at(reader.offset(), Cause::Duplicate { name: field.name }));
            }
            self.seen |= bit;
            if field.is_omitted && reader.take_zero(field.wire) {
                continue;
            }
            self.current.reader = reader;
            if field.shape == Shape::Inline {
                self.enter(field)?;
            } else if self.skip == Skip::Nothing || !self.skip_managed_fields(tag)? {
                return Ok(self.move_to(field.name, Next::Field(field, tag)));
            }
            reader = self.current.reader;
        }
    }

    /// Skips an unknown field.
    #[cold]
    #[inline(never)]
    fn skip_unknown(&mut self, tag: Tag) -> Result<(), Error> {
        let reader = &mut self.current.reader;
        match self.message.field(tag.number) {
            None => reader.skip(tag.wire),
            Some(field) => Err(reader.error(Cause::WrongWireType { name: field.name })),
        }
    }

    #[inline]
    fn move_to(&mut self, name: &'static str, next: Next<'de>) -> bool {
        (self.name, self.current.next) = (name, next);
        true
    }

    #[cold]
    fn move_to_type(&mut self) -> bool {
        match self.types {
            Types::Done => false,
            Types::ApiVersion(schema) => {
                self.types = Types::Kind(schema);
                self.move_to("apiVersion", Next::Text(schema.api_version()))
            }
            Types::Kind(schema) => {
                self.types = Types::Done;
                self.move_to("kind", Next::Text(schema.kind()))
            }
        }
    }

    /// Skips managed fields; otherwise sets what is skipped inside of the field and returns `false`.
    #[inline(never)]
    fn skip_managed_fields(&mut self, tag: Tag) -> Result<bool, Error> {
        if self.skip == Skip::InMetadata && tag.number == MANAGED_FIELDS {
            return self.current.reader.skip_repeated(tag).map(|_| true);
        }
        let is_metadata = self.skip == Skip::InObject && tag.number == METADATA;
        self.current.skip = if is_metadata { Skip::InMetadata } else { Skip::Nothing };
        Ok(false)
    }

    #[inline(never)]
    fn enter(&mut self, field: &Field) -> Result<(), Error> {
        let inside = self.current.reader.message()?;
        let Value::Message(message) = field.value else { return Ok(()) };
        let around = self.around.get_mut(self.inlined).expect("the tables inline no deeper");
        *around = Some(Level { reader: self.current.reader, message: self.message, seen: self.seen });
        self.inlined += 1;
        (self.current.reader, self.message, self.seen) = (inside, message, 0);
        Ok(())
    }

    /// Leaves the innermost inlined message.
    #[inline(never)]
    fn leave(&mut self) {
        self.inlined -= 1;
        let around = self.around[self.inlined].expect("an inlined message has been entered");
        (self.current.reader, self.message, self.seen) = (around.reader, around.message, around.seen);
    }

    /// Returns the name of a missing field that is `null` in JSON.
    #[inline]
    fn next_missing(&mut self) -> Option<&'static str> {
        let missing = self.message.nulls & !self.seen;
        if missing == 0 {
            return None;
        }
        let number = missing.trailing_zeros();
        let field = self.message.field(number)?;
        self.seen |= 1 << number;
        Some(field.name)
    }
}
