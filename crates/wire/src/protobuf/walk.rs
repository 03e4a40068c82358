//! Walks through a protobuf message, from field to field of what the same object is in JSON.

use super::{
    error::{Cause, ProtobufError as Error},
    identity::{MANAGED_FIELDS, METADATA},
    place::{Next, Object, Place, Skip},
    reader::{Reader, Tag},
    schema::Schema,
    table::{Field, Message, Shape, Value},
};

/// The fields of an object, by their names in JSON.
#[derive(Debug)]
pub(crate) struct Walk<'de> {
    /// The value of the field that was come to last, and the message behind it.
    place: Place<'de>,
    name: &'static str,
    message: &'static Message,
    /// A bit for each number that has come.
    seen: u64,
    /// The messages that this one is inlined in, the outer one first. The tables hold none that is deeper inside.
    around: [Option<Level<'de>>; 2],
    /// How many those are.
    inlined: usize,
    types: Types,
    skip: Skip,
}

/// A message that another is inlined in, up to where it has been read.
#[derive(Clone, Copy, Debug)]
struct Level<'de> {
    reader: Reader<'de>,
    message: &'static Message,
    seen: u64,
}

/// How much of its version and kind an object has yet to tell.
#[derive(Clone, Copy, Debug)]
enum Types {
    Version(Schema),
    Kind(Schema),
    Told,
}

impl<'de> Walk<'de> {
    #[inline]
    pub(crate) fn new(object: Object<'de>) -> Self {
        let Object { reader, message, types, skip, depth } = object;
        let place = Place { reader, next: Next::Null, skip: Skip::Nothing, depth };
        let types = types.map_or(Types::Told, Types::Version);
        Self { place, name: "", message, seen: 0, around: [None, None], inlined: 0, types, skip }
    }

    /// The name of the field that was come to last.
    #[inline]
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// The value of the field that was come to last.
    #[inline]
    pub(crate) fn place(&mut self) -> &mut Place<'de> {
        &mut self.place
    }

    /// Goes on to the next field that JSON would have, if there is one.
    #[inline]
    pub(crate) fn advance(&mut self) -> Result<bool, Error> {
        if !matches!(self.types, Types::Told) {
            return Ok(self.tell_type());
        }
        // Not lent to anybody, so that it can stay in registers; what is seldom works on the one in the place.
        let mut reader = self.place.reader;
        loop {
            if reader.is_empty() {
                self.place.reader = reader;
                match self.ended() {
                    Some(name) => return Ok(self.come_to(name, Next::Null)),
                    None if self.inlined == 0 => return Ok(false),
                    None => self.leave(),
                }
                reader = self.place.reader;
                continue;
            }
            let begin = reader.offset();
            let tag = reader.varint()?;
            let Some(field) = self.message.field_behind(tag) else {
                self.place.reader = reader;
                self.pass_unknown(Tag::new(tag, begin)?)?;
                reader = self.place.reader;
                continue;
            };
            let tag = Tag { number: (tag >> 3) as u32, wire: field.wire };
            let bit = 1 << tag.number;
            if self.seen & bit != 0 {
                return Err(Error::at(reader.offset(), Cause::Twice { name: field.name }));
            }
            self.seen |= bit;
            if field.is_omitted && reader.take_zero(field.wire) {
                continue;
            }
            self.place.reader = reader;
            if field.shape == Shape::Inline {
                self.enter(field)?;
            } else if self.skip == Skip::Nothing || !self.is_skipped(tag)? {
                return Ok(self.come_to(field.name, Next::Field(field, tag)));
            }
            reader = self.place.reader;
        }
    }

    /// Passes over a field that is not known.
    #[cold]
    #[inline(never)]
    fn pass_unknown(&mut self, tag: Tag) -> Result<(), Error> {
        let reader = &mut self.place.reader;
        match self.message.field(tag.number) {
            None => reader.skip(tag.wire),
            Some(field) => Err(reader.error(Cause::OtherWire { name: field.name })),
        }
    }

    #[inline]
    fn come_to(&mut self, name: &'static str, next: Next<'de>) -> bool {
        (self.name, self.place.next) = (name, next);
        true
    }

    #[cold]
    fn tell_type(&mut self) -> bool {
        match self.types {
            Types::Told => false,
            Types::Version(schema) => {
                self.types = Types::Kind(schema);
                self.come_to("apiVersion", Next::Text(schema.api_version()))
            }
            Types::Kind(schema) => {
                self.types = Types::Told;
                self.come_to("kind", Next::Text(schema.kind()))
            }
        }
    }

    /// Passes over managed fields, and says where they are inside of a field that is not passed over.
    #[inline(never)]
    fn is_skipped(&mut self, tag: Tag) -> Result<bool, Error> {
        if self.skip == Skip::InMetadata && tag.number == MANAGED_FIELDS {
            return self.place.reader.skip_run(tag).map(|_| true);
        }
        let is_metadata = self.skip == Skip::InObject && tag.number == METADATA;
        self.place.skip = if is_metadata { Skip::InMetadata } else { Skip::Nothing };
        Ok(false)
    }

    #[inline(never)]
    fn enter(&mut self, field: &Field) -> Result<(), Error> {
        let inside = self.place.reader.message()?;
        let Value::Message(message) = field.value else { return Ok(()) };
        let around = self.around.get_mut(self.inlined).expect("the tables inline no deeper");
        *around = Some(Level { reader: self.place.reader, message: self.message, seen: self.seen });
        self.inlined += 1;
        (self.place.reader, self.message, self.seen) = (inside, message, 0);
        Ok(())
    }

    /// Goes on behind the message that was inlined last.
    #[inline(never)]
    fn leave(&mut self) {
        self.inlined -= 1;
        let around = self.around[self.inlined].expect("what is left has been entered");
        (self.place.reader, self.message, self.seen) = (around.reader, around.message, around.seen);
    }

    /// A field that has not come, and of which JSON says so.
    #[inline]
    fn ended(&mut self) -> Option<&'static str> {
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
