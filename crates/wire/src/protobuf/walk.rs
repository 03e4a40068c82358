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
    /// What the value is to the name that was given last.
    next: Option<Next>,
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
    #[inline]
    pub(super) fn new(reader: Reader<'de>, message: &'static Message, types: Types, skip: Skip) -> Self {
        Self { within: Level { reader, message, seen: 0 }, around: [None, None], types, skip, next: None }
    }

    /// Goes on to the next field that JSON would have, and says its name.
    pub(super) fn advance(&mut self) -> Result<Option<&'static str>, Error> {
        match self.types {
            Types::Told => {}
            Types::Version(version, kind) => {
                self.types = Types::Kind(kind);
                self.next = Some(Next::Text(version));
                return Ok(Some("apiVersion"));
            }
            Types::Kind(kind) => {
                self.types = Types::Told;
                self.next = Some(Next::Text(kind));
                return Ok(Some("kind"));
            }
        }
        loop {
            let Some(tag) = self.within.reader.tag()? else {
                match self.ended() {
                    Some(name) => {
                        self.next = Some(Next::Null);
                        return Ok(Some(name));
                    }
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
                self.next = Some(Next::Field(field, tag));
                return Ok(Some(field.name));
            }
        }
    }

    fn is_passed_over(&mut self, tag: Tag, field: &Field) -> Result<bool, Error> {
        let reader = &mut self.within.reader;
        if self.skip == Skip::Field(tag.number) {
            reader.skip_run(tag)?;
            return Ok(true);
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

    /// What the value is to the name that was given last; nothing once it has been asked for.
    #[inline]
    pub(super) fn take(&mut self) -> Option<Next> {
        self.next.take()
    }

    /// The rest of the message, from the value of the field on that was come to last.
    #[inline]
    pub(super) fn reader(&mut self) -> &mut Reader<'de> {
        &mut self.within.reader
    }

    /// What is passed over in the message that is the field with this number.
    #[inline]
    pub(super) fn skip_inside(&self, number: u64) -> Skip {
        match self.skip {
            Skip::Inside { of, field } if of == number => Skip::Field(field),
            _ => Skip::Nothing,
        }
    }
}
