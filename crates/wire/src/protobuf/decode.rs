//! A serde deserializer over protobuf, which gives a type what it would have got from the JSON of the same object.

use super::{
    error::{Cause, ProtobufError as Error},
    forms::Form,
    identity::{MANAGED_FIELDS, METADATA},
    leaf,
    reader::{Reader, Tag, Wire},
    schema::Schema,
    table::{Message, Shape, Value},
    walk::{Next, Skip, Types, Walk},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde::{
    Deserializer,
    de::{
        DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor,
        value::{BorrowedStrDeserializer, MapAccessDeserializer},
    },
    forward_to_deserialize_any,
};

/// No Kubernetes object is nested this deep but for schemas, and the JSON decoder takes no more either.
const MAX_DEPTH: u8 = 100;

/// So many elements of a list or map would not fit into an object that the API server takes.
const MAX_ELEMENTS: usize = 1 << 19;

/// An object, or what is inside one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Object<'de> {
    reader: Reader<'de>,
    message: &'static Message,
    /// The version and kind, which are not in the message itself.
    types: Types,
    skip: Skip,
    depth: u8,
}

impl<'de> Object<'de> {
    /// An object of this kind that does not say so.
    pub(crate) fn of(schema: Schema, reader: Reader<'de>) -> Self {
        Self::new(reader, schema.message())
    }

    /// The object with its version and kind.
    pub(crate) fn with_types(mut self, schema: Schema) -> Self {
        self.types = Types::Version(schema.api_version(), schema.kind());
        self
    }

    /// The object as if it had no managed fields.
    pub(crate) fn without_managed_fields(mut self) -> Self {
        self.skip = Skip::Inside { of: METADATA, field: MANAGED_FIELDS };
        self
    }

    fn new(reader: Reader<'de>, message: &'static Message) -> Self {
        Self { reader, message, types: Types::Told, skip: Skip::Nothing, depth: 0 }
    }

    fn inside(reader: Reader<'de>, message: &'static Message, depth: u8) -> Result<Self, Error> {
        match depth {
            MAX_DEPTH.. => Err(reader.error(Cause::Deep(MAX_DEPTH))),
            _ => Ok(Self { depth: depth + 1, ..Self::new(reader, message) }),
        }
    }

    fn fields(self) -> Fields<'de> {
        let walk = Walk::new(self.reader, self.message, self.types, self.skip);
        Fields { walk, depth: self.depth }
    }
}

impl<'de> Deserializer<'de> for Object<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_map(self.fields())
    }

    leaf::present!();
}

/// The fields of an object, with their values.
struct Fields<'de> {
    walk: Walk<'de>,
    depth: u8,
}

impl<'de> MapAccess<'de> for Fields<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some(name) = self.walk.advance()? else { return Ok(None) };
        seed.deserialize(BorrowedStrDeserializer::new(name)).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Error> {
        let (field, tag) = match self.walk.take() {
            Some(Next::Field(field, tag)) => (field, tag),
            Some(Next::Null) => return seed.deserialize(leaf::Null),
            Some(Next::Text(text)) => return seed.deserialize(BorrowedStrDeserializer::new(text)),
            None => return Err(Error::custom("a value was asked for before its name")),
        };
        let skip = self.walk.skip_inside(tag.number);
        let reader = self.walk.reader();
        let value = match field.shape {
            Shape::Many => {
                Run::new(reader, tag, field.value, self.depth).and_then(|run| seed.deserialize(run))
            }
            Shape::Map => Run::new(reader, tag, field.value, self.depth)
                .and_then(|run| seed.deserialize(Entries { run, value: None })),
            Shape::One | Shape::Maybe | Shape::Inline | Shape::Vacant => {
                seed.deserialize(Single { reader, value: field.value, skip, depth: self.depth })
            }
        };
        value.map_err(|error| error.within(field.name))
    }
}

/// A field that has one value, or one element of a list or map.
struct Single<'r, 'de> {
    reader: &'r mut Reader<'de>,
    value: Value,
    skip: Skip,
    depth: u8,
}

impl<'de> Single<'_, 'de> {
    /// A message with a form of its own.
    fn visit_form<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match Form::read(self.value, self.reader.message()?)? {
            Form::Null => visitor.visit_unit(),
            Form::Bool(value) => visitor.visit_bool(value),
            Form::Int(value) => leaf::visit_int(value, visitor),
            Form::Text(text) => visitor.visit_borrowed_str(text),
            Form::Time(time) => visitor.visit_str(time.as_str()),
            Form::Json(json) => leaf::json(json, |json| json.deserialize_any(visitor)),
            Form::List(mut reader, tag, value) => {
                visitor.visit_seq(Run::new(&mut reader, tag, value, self.depth)?)
            }
            Form::EmptyList => visitor.visit_seq(leaf::Nothing),
            Form::Object(reader, message) => {
                let object = Object::inside(reader, message, self.depth)?;
                visitor.visit_map(Object { skip: self.skip, ..object }.fields())
            }
        }
    }
}

impl<'de> Deserializer<'de> for Single<'_, 'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Value::Message(message) => {
                let object = Object::inside(self.reader.message()?, message, self.depth)?;
                visitor.visit_map(Object { skip: self.skip, ..object }.fields())
            }
            Value::Text => visitor.visit_borrowed_str(self.reader.text()?),
            Value::Int => leaf::visit_int(self.reader.varint()? as i64, visitor),
            Value::Bool => visitor.visit_bool(self.reader.varint()? != 0),
            Value::Double => leaf::visit_double(f64::from_bits(self.reader.fixed64()?), visitor),
            Value::Bytes => visitor.visit_string(STANDARD.encode(self.reader.bytes()?)),
            _ => self.visit_form(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if Form::is_nullable(self.value) {
            let mut ahead = *self.reader;
            if Form::is_null(self.value, ahead.message()?)? {
                *self.reader = ahead;
                return visitor.visit_none();
            }
        }
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.value {
            Value::Json => match Form::read(Value::Json, self.reader.message()?)? {
                Form::Json(json) => leaf::json(json, |json| json.deserialize_newtype_struct(name, visitor)),
                _ => visitor.visit_newtype_struct(leaf::Null),
            },
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.value {
            Value::Text => visitor.visit_enum(BorrowedStrDeserializer::new(self.reader.text()?)),
            Value::Message(message) => {
                let object = Object::inside(self.reader.message()?, message, self.depth)?;
                visitor.visit_enum(MapAccessDeserializer::new(object.fields()))
            }
            Value::Json => match Form::read(Value::Json, self.reader.message()?)? {
                Form::Json(json) => leaf::json(json, |json| json.deserialize_enum(name, variants, visitor)),
                _ => visitor.visit_unit(),
            },
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.reader.skip(self.value.wire())?;
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier
    }
}

/// Fields with the same tag, one after the other: the elements of a list or the entries of a map.
struct Run<'de> {
    reader: Reader<'de>,
    /// How many there were.
    total: usize,
    /// How many are left.
    count: usize,
    tag: Tag,
    value: Value,
    depth: u8,
}

impl<'de> Run<'de> {
    /// Takes a run, of which the first tag has been read, out of a message.
    fn new(reader: &mut Reader<'de>, tag: Tag, value: Value, depth: u8) -> Result<Self, Error> {
        let begin = *reader;
        let count = reader.skip_run(tag)?;
        if count > MAX_ELEMENTS {
            return Err(begin.error(Cause::Many(MAX_ELEMENTS)));
        }
        Ok(Self { reader: begin, total: count, count, tag, value, depth })
    }

    /// The rest of the run after one more field has been read.
    fn taken(&mut self, mut reader: Reader<'de>) -> Result<(), Error> {
        self.count -= 1;
        if self.count > 0 {
            let next = reader.tag()?;
            debug_assert_eq!(next, Some(self.tag), "the run was counted");
        }
        self.reader = reader;
        Ok(())
    }
}

impl<'de> SeqAccess<'de> for Run<'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        if self.count == 0 {
            return Ok(None);
        }
        let mut reader = self.reader;
        let single =
            Single { reader: &mut reader, value: self.value, skip: Skip::Nothing, depth: self.depth };
        let index = self.total - self.count;
        let element = seed.deserialize(single).map_err(|error| error.within(format!("[{index}]")))?;
        self.taken(reader)?;
        Ok(Some(element))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.count)
    }
}

impl<'de> Deserializer<'de> for Run<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(self)
    }

    leaf::present!();
}

/// The entries of a map, each a message of key and value.
struct Entries<'de> {
    run: Run<'de>,
    value: Option<Reader<'de>>,
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        if self.run.count == 0 {
            return Ok(None);
        }
        let mut reader = self.run.reader;
        let mut entry = reader.message()?;
        self.run.taken(reader)?;
        let mut key = "";
        self.value = None;
        while let Some(tag) = entry.tag()? {
            match tag {
                Tag { number: 1, wire: Wire::Length } => key = entry.text()?,
                Tag { number: 2, wire } if wire == self.run.value.wire() => {
                    self.value = Some(entry);
                    entry.skip(wire)?;
                }
                Tag { wire, .. } => entry.skip(wire)?,
            }
        }
        seed.deserialize(BorrowedStrDeserializer::new(key)).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Error> {
        // An entry without a value has that of which every byte is zero.
        let mut reader = self.value.unwrap_or(Reader::new(&[0; 8]));
        let Run { value, depth, .. } = self.run;
        seed.deserialize(Single { reader: &mut reader, value, skip: Skip::Nothing, depth })
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.run.count)
    }
}

impl<'de> Deserializer<'de> for Entries<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_map(self)
    }

    leaf::present!();
}
