//! Walks through a protobuf message, from field to field of what the same object is in JSON.

use super::{
    error::{Cause, ProtobufError as Error},
    identity::{MANAGED_FIELDS, METADATA},
    place::{Next, Object, Place, Skip},
    reader::{Reader, Tag, Wire},
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
        Self { place, name: "", message, seen: 0, around: [None, None], types, skip }
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
        loop {
            let Some(tag) = self.place.reader.tag()? else {
                match self.ended() {
                    Some(name) => return Ok(self.come_to(name, Next::Null)),
                    None if self.leave() => continue,
                    None => return Ok(false),
                }
            };
            let Some(field) = self.message.field(tag.number) else {
                self.place.reader.skip(tag.wire)?;
                continue;
            };
            if tag.wire != field.wire {
                return Err(self.place.reader.error(Cause::OtherWire { name: field.name }));
            }
            let bit = 1 << tag.number;
            if self.seen & bit != 0 {
                return Err(self.place.reader.error(Cause::Twice { name: field.name }));
            }
            self.seen |= bit;
            if let (Shape::Inline, Value::Message(message)) = (field.shape, field.value) {
                self.enter(message)?;
            } else if !self.is_passed_over(tag, field)? {
                return Ok(self.come_to(field.name, Next::Field(field, tag)));
            }
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

    #[inline]
    fn is_passed_over(&mut self, tag: Tag, field: &Field) -> Result<bool, Error> {
        let reader = &mut self.place.reader;
        if self.skip != Skip::Nothing {
            if self.skip == Skip::InMetadata && tag.number == MANAGED_FIELDS {
                reader.skip_run(tag)?;
                return Ok(true);
            }
            let is_metadata = self.skip == Skip::InObject && tag.number == METADATA;
            self.place.skip = if is_metadata { Skip::InMetadata } else { Skip::Nothing };
        }
        let is_zero = field.is_omitted
            && match tag.wire {
                Wire::Fixed64 => reader.rest().starts_with(&[0; 8]),
                Wire::Varint | Wire::Length | Wire::Fixed32 => reader.rest().first() == Some(&0),
            };
        if is_zero {
            reader.skip(tag.wire)?;
        }
        Ok(is_zero)
    }

    fn enter(&mut self, message: &'static Message) -> Result<(), Error> {
        let inside = self.place.reader.message()?;
        let around = Level { reader: self.place.reader, message: self.message, seen: self.seen };
        let free = self.around.iter_mut().find(|level| level.is_none());
        *free.expect("the tables inline no deeper") = Some(around);
        (self.place.reader, self.message, self.seen) = (inside, message, 0);
        Ok(())
    }

    #[inline]
    fn leave(&mut self) -> bool {
        let Some(around) = self.around.iter_mut().rev().find_map(Option::take) else { return false };
        (self.place.reader, self.message, self.seen) = (around.reader, around.message, around.seen);
        true
    }

    /// A field that has not come, and of which JSON says so.
    #[inline]
    fn ended(&mut self) -> Option<&'static str> {
        let missing = self.message.nulls & !self.seen;
        let number = u64::from(missing.trailing_zeros());
        let field = self.message.field(number)?;
        self.seen |= 1 << number;
        Some(field.name)
    }
}
