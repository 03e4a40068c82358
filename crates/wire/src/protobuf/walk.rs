//! Walks through a protobuf message, from field to field of what the same object is in JSON.

use super::{
    error::{Cause, ProtobufError as Error},
    reader::{Reader, Tag, Wire},
    table::{Field, Message, Shape, Value},
};

/// The fields of an object, by their names in JSON.
#[derive(Debug)]
pub(super) struct Walk<'de> {
    within: Level<'de>,
    /// The messages that this one is inlined in, the outer one first. The tables hold none that is deeper inside.
    around: [Option<Level<'de>>; 2],
    types: Types,
    skip: Skip,
}

/// A message, or one that is inlined in it, up to where it has been read.
#[derive(Clone, Copy, Debug)]
struct Level<'de> {
    reader: Reader<'de>,
    message: &'static Message,
    /// A bit for each number that has come.
    seen: u64,
}

/// What the value is to a name.
#[derive(Clone, Copy, Debug)]
pub(super) enum Next {
    Null,
    Text(&'static str),
    Field(&'static Field, Tag),
}

/// How much of its version and kind an object has yet to tell.
#[derive(Clone, Copy, Debug)]
pub(super) enum Types {
    Version(&'static str, &'static str),
    Kind(&'static str),
    Told,
}

/// What is passed over although JSON has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Skip {
    Nothing,
    /// The field with this number.
    Field(u64),
    /// A field of the message that is the field `of`.
    Inside {
        of: u64,
        field: u64,
    },
}

impl<'de> Walk<'de> {
    pub(super) fn new(reader: Reader<'de>, message: &'static Message, types: Types, skip: Skip) -> Self {
        Self { within: Level { reader, message, seen: 0 }, around: [None, None], types, skip }
    }

    /// Goes on to the next field that JSON would have, and says its name.
    pub(super) fn advance(&mut self) -> Result<Option<(&'static str, Next)>, Error> {
        match self.types {
            Types::Told => {}
            Types::Version(version, kind) => {
                self.types = Types::Kind(kind);
                return Ok(Some(("apiVersion", Next::Text(version))));
            }
            Types::Kind(kind) => {
                self.types = Types::Told;
                return Ok(Some(("kind", Next::Text(kind))));
            }
        }
        loop {
            let Some(tag) = self.within.reader.tag()? else {
                match self.ended() {
                    Some(name) => return Ok(Some((name, Next::Null))),
                    None if self.leave() => continue,
                    None => return Ok(None),
                }
            };
            let Some(field) = self.within.message.field(tag.number) else {
                self.within.reader.skip(tag.wire)?;
                continue;
            };
            if tag.wire != field.value.wire() {
                return Err(self.within.reader.error(Cause::OtherWire { name: field.name }));
            }
            let bit = 1 << tag.number;
            if self.within.seen & bit != 0 {
                return Err(self.within.reader.error(Cause::Twice { name: field.name }));
            }
            self.within.seen |= bit;
            if let (Shape::Inline, Value::Message(message)) = (field.shape, field.value) {
                self.enter(message)?;
            } else if self.is_passed_over(tag, field)? {
                continue;
            } else {
                return Ok(Some((field.name, Next::Field(field, tag))));
            }
        }
    }

    fn is_passed_over(&mut self, tag: Tag, field: &Field) -> Result<bool, Error> {
        let reader = &mut self.within.reader;
        if self.skip == Skip::Field(tag.number) {
            reader.skip_run(tag)?;
            return Ok(true);
        }
        let zero: &[u8] = if tag.wire == Wire::Fixed64 { &[0; 8] } else { &[0] };
        let is_zero = field.is_omitted && reader.rest().starts_with(zero);
        if is_zero {
            reader.skip(tag.wire)?;
        }
        Ok(is_zero)
    }

    fn enter(&mut self, message: &'static Message) -> Result<(), Error> {
        let reader = self.within.reader.message()?;
        let inside = Level { reader, message, seen: 0 };
        let around = std::mem::replace(&mut self.within, inside);
        let free = self.around.iter_mut().find(|level| level.is_none());
        *free.expect("the tables inline no deeper") = Some(around);
        Ok(())
    }

    fn leave(&mut self) -> bool {
        let around = self.around.iter_mut().rev().find_map(Option::take);
        around.map(|level| self.within = level).is_some()
    }

    /// A field that has not come, and of which JSON says so.
    fn ended(&mut self) -> Option<&'static str> {
        let missing = self.within.message.nulls & !self.within.seen;
        let number = u64::from(missing.trailing_zeros());
        let field = self.within.message.field(number)?;
        self.within.seen |= 1 << number;
        Some(field.name)
    }

    /// The rest of the message, from the value of the field on that was come to last.
    pub(super) fn reader(&mut self) -> &mut Reader<'de> {
        &mut self.within.reader
    }

    /// What is passed over in the message that is the field with this number.
    pub(super) fn skip_inside(&self, number: u64) -> Skip {
        match self.skip {
            Skip::Inside { of, field } if of == number => Skip::Field(field),
            _ => Skip::Nothing,
        }
    }
}
