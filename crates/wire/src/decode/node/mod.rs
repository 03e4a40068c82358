//! The serde deserializer over protobuf.
//!
//! The parts that are generic over the decoded type are short, since they are compiled for each type and each of its
//! fields.

mod container;

pub(super) use container::{Container, Step};

use super::{
    error::ValueError,
    json::{json_text, read_all},
};
use crate::protobuf::{
    Elements, Entries, Field, Form, MessageFields, Next, Object, Shape, TimeText, Value, ValueRef,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use container::{ElementAccess, MemberAccess, Variant};
use serde::{
    Deserializer,
    de::{DeserializeOwned, Error as _, Expected, Unexpected, Visitor, value::StrDeserializer},
};

/// A value in protobuf.
#[derive(Debug)]
pub(super) struct Node<'n, 'de>(pub(super) &'n mut ValueRef<'de>);

/// The JSON type of a value.
#[derive(Debug)]
pub(super) enum Token<'de> {
    Null,
    Bool(bool),
    Number(Number),
    Text(&'de str),
    OwnedText(String),
    Time(TimeText),
    List(Container<'de>),
    Map(Container<'de>),
}

/// A number as JSON writes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Unsigned(u64),
    /// A number below zero.
    Signed(i64),
    Double(f64),
}

/// Decodes an object.
pub(crate) fn decode_protobuf<K: DeserializeOwned>(mut object: ValueRef<'_>) -> Result<K, ValueError> {
    K::deserialize(Node(&mut object))
}

impl<'de> Node<'_, 'de> {
    /// Reads the value.
    #[inline(never)]
    pub(super) fn token(&mut self) -> Result<Token<'de>, ValueError> {
        let place = &mut *self.0;
        let value = match place.next {
            Next::Element(value) => value,
            Next::Field(field, tag) => match field.shape {
                Shape::Many => {
                    let elements = Elements::new(&mut place.reader, tag, field.value, place.depth)?;
                    return Ok(Token::List(Container::Elements(elements)));
                }
                Shape::Map => {
                    let entries = Entries::new(&mut place.reader, tag, field.value, place.depth)?;
                    return Ok(Token::Map(Container::Entries(entries)));
                }
                Shape::One | Shape::Maybe | Shape::Inline | Shape::Vacant => field.value,
            },
            Next::Object(schema, types) => {
                let fields = MessageFields::new(place.object(schema, types));
                return Ok(Token::Map(Container::Message(fields)));
            }
            Next::Text(text) => return Ok(Token::Text(text)),
            Next::Null => return Ok(Token::Null),
        };
        let reader = &mut place.reader;
        match value {
            Value::Text => match reader.take_text() {
                Some(text) => Ok(Token::Text(text)),
                None => Ok(Token::OwnedText(replace_invalid_utf8(reader.bytes()?))),
            },
            Value::Message(message) => {
                let inside = reader.message()?;
                let fields = MessageFields::new(Object::inside(place, inside, message)?);
                Ok(Token::Map(Container::Message(fields)))
            }
            Value::Int => Ok(Token::Number(integer(reader.varint()? as i64))),
            Value::Bool => Ok(Token::Bool(reader.varint()? != 0)),
            Value::Double => Ok(Token::Number(double(f64::from_bits(reader.fixed64()?)))),
            Value::Bytes => Ok(Token::OwnedText(STANDARD.encode(reader.bytes()?))),
            _ => {
                let form = Form::read(value, reader.message()?)?;
                token_of_form(place, form)
            }
        }
    }

    /// Enters an object, a map or a list.
    #[inline(never)]
    fn enter(&mut self, expected: &dyn Expected) -> Result<Container<'de>, ValueError> {
        if let Some(message) = self.0.message() {
            let inside = self.0.reader.message()?;
            return Ok(Container::Message(MessageFields::new(Object::inside(self.0, inside, message)?)));
        }
        match self.token() {
            Err(error) => Err(error),
            Ok(Token::Map(container) | Token::List(container)) => Ok(container),
            Ok(ref other) => Err(other.invalid_type(expected)),
        }
    }

    /// Enters an object or a map.
    #[inline(never)]
    fn enter_map(&mut self, expected: &dyn Expected) -> Result<Container<'de>, ValueError> {
        if let Next::Field(&Field { shape: Shape::Map, value, .. }, tag) = self.0.next {
            return Ok(Container::Entries(Entries::new(&mut self.0.reader, tag, value, self.0.depth)?));
        }
        match self.token() {
            Err(error) => Err(error),
            Ok(Token::Map(container)) => Ok(container),
            Ok(ref other) => Err(other.invalid_type(expected)),
        }
    }

    /// Enters a list.
    #[inline(never)]
    fn enter_list(&mut self, expected: &dyn Expected) -> Result<Container<'de>, ValueError> {
        if let Next::Field(&Field { shape: Shape::Many, value, .. }, tag) = self.0.next {
            return Ok(Container::Elements(Elements::new(&mut self.0.reader, tag, value, self.0.depth)?));
        }
        match self.token() {
            Err(error) => Err(error),
            Ok(Token::List(container)) => Ok(container),
            Ok(ref other) => Err(other.invalid_type(expected)),
        }
    }

    /// Reads the value if it is text in the bytes as it is, which most values are.
    #[inline(never)]
    fn take_text(&mut self) -> Option<&'de str> {
        self.0.take_text()
    }

    #[inline(never)]
    fn number(&mut self, expected: &dyn Expected) -> Result<Number, ValueError> {
        if self.0.is_integer() {
            return Ok(integer(self.0.reader.varint()? as i64));
        }
        match self.token() {
            Err(error) => Err(error),
            Ok(Token::Number(number)) => Ok(number),
            Ok(ref other) => Err(other.invalid_type(expected)),
        }
    }

    #[inline(never)]
    fn boolean(&mut self, expected: &dyn Expected) -> Result<bool, ValueError> {
        match self.token() {
            Err(error) => Err(error),
            Ok(Token::Bool(value)) => Ok(value),
            Ok(ref other) => Err(other.invalid_type(expected)),
        }
    }

    /// Skips the value if it is null.
    #[inline]
    fn take_null(&mut self) -> Result<bool, ValueError> {
        if self.0.may_be_null() { Ok(self.0.take_null()?) } else { Ok(false) }
    }

    /// Skips the value.
    #[inline(never)]
    pub(super) fn skip(&mut self) -> Result<(), ValueError> {
        Ok(self.0.skip_value()?)
    }

    /// Reads text that is not in the bytes as it is.
    #[inline(never)]
    fn visit_other_text<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, ValueError> {
        match self.token() {
            Err(error) => Err(error),
            Ok(Token::Text(text)) => visitor.visit_borrowed_str(text),
            Ok(Token::OwnedText(text)) => visitor.visit_str(&text),
            Ok(Token::Time(time)) => visitor.visit_str(time.as_str()),
            Ok(ref other) => Err(other.invalid_type(&visitor)),
        }
    }
}

#[inline]
fn visit_map<'de, V: Visitor<'de>>(
    container: &mut Container<'de>,
    visitor: V,
) -> Result<V::Value, ValueError> {
    match container {
        Container::Json(text) => visit_json(text, visitor),
        _ => visit_members(container, visitor),
    }
}

#[inline]
fn visit_seq<'de, V: Visitor<'de>>(
    container: &mut Container<'de>,
    visitor: V,
) -> Result<V::Value, ValueError> {
    match container {
        Container::Json(text) => visit_json(text, visitor),
        _ => visit_elements(container, visitor),
    }
}

#[cold]
#[inline(never)]
fn visit_json<'de, V: Visitor<'de>>(text: &'de str, visitor: V) -> Result<V::Value, ValueError> {
    read_all(text, |json| json.deserialize_any(visitor))
}

#[inline(never)]
fn visit_members<'de, V: Visitor<'de>>(
    container: &mut Container<'de>,
    visitor: V,
) -> Result<V::Value, ValueError> {
    visitor.visit_map(MemberAccess(container))
}

#[inline(never)]
fn visit_elements<'de, V: Visitor<'de>>(
    container: &mut Container<'de>,
    visitor: V,
) -> Result<V::Value, ValueError> {
    visitor.visit_seq(ElementAccess(container))
}

/// Implements methods by calling another one.
macro_rules! forward {
    ($($target:ident: $($method:ident)*;)*) => { $($(
        #[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
            self.$target(visitor)
        }
    )*)* };
}

impl<'de> Deserializer<'de> for Node<'_, 'de> {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, ValueError> {
        if let Some(text) = self.take_text() {
            return visitor.visit_borrowed_str(text);
        }
        let mut token = self.token();
        match token {
            Err(error) => Err(error),
            Ok(Token::Null) => visitor.visit_unit(),
            Ok(Token::Bool(value)) => visitor.visit_bool(value),
            Ok(Token::Number(Number::Unsigned(value))) => visitor.visit_u64(value),
            Ok(Token::Number(Number::Signed(value))) => visitor.visit_i64(value),
            Ok(Token::Number(Number::Double(value))) => visitor.visit_f64(value),
            Ok(Token::Text(text)) => visitor.visit_borrowed_str(text),
            Ok(Token::OwnedText(text)) => visitor.visit_str(&text),
            Ok(Token::Time(time)) => visitor.visit_str(time.as_str()),
            Ok(Token::List(ref mut container)) => visit_seq(container, visitor),
            Ok(Token::Map(ref mut container)) => visit_map(container, visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, ValueError> {
        let value = self.boolean(&visitor)?;
        visitor.visit_bool(value)
    }

    fn deserialize_f64<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, ValueError> {
        match self.number(&visitor)? {
            Number::Unsigned(value) => visitor.visit_u64(value),
            Number::Signed(value) => visitor.visit_i64(value),
            Number::Double(value) => visitor.visit_f64(value),
        }
    }

    #[inline]
    fn deserialize_str<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, ValueError> {
        match self.take_text() {
            Some(text) => visitor.visit_borrowed_str(text),
            None => self.visit_other_text(visitor),
        }
    }

    fn deserialize_bytes<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, ValueError> {
        let mut token = self.token();
        match token {
            Err(error) => Err(error),
            Ok(Token::Text(text)) => visitor.visit_borrowed_bytes(text.as_bytes()),
            Ok(Token::OwnedText(text)) => visitor.visit_bytes(text.as_bytes()),
            Ok(Token::Time(time)) => visitor.visit_bytes(time.as_str().as_bytes()),
            Ok(Token::List(ref mut container)) => visit_seq(container, visitor),
            Ok(ref other) => Err(other.invalid_type(&visitor)),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, ValueError> {
        match self.token() {
            Err(error) => Err(error),
            Ok(Token::Null) => visitor.visit_unit(),
            Ok(ref other) => Err(other.invalid_type(&visitor)),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, ValueError> {
        match self.enter_list(&visitor) {
            Err(error) => Err(error),
            Ok(ref mut container) => visit_seq(container, visitor),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, ValueError> {
        match self.enter_map(&visitor) {
            Err(error) => Err(error),
            Ok(ref mut container) => visit_map(container, visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        mut self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        match self.enter(&visitor) {
            Err(error) => Err(error),
            Ok(ref mut container) if container.is_list() => visit_seq(container, visitor),
            Ok(ref mut container) => visit_map(container, visitor),
        }
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        self.deserialize_seq(visitor)
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, ValueError> {
        if self.take_null()? { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        match self.0.take_json()? {
            Some(json) => read_all(json_text(json)?, |json| json.deserialize_newtype_struct(name, visitor)),
            None => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        mut self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        let mut token = self.token()?;
        let container = match &mut token {
            Token::Text(text) => return visitor.visit_enum(StrDeserializer::new(text)),
            Token::OwnedText(text) => return visitor.visit_enum(StrDeserializer::new(text)),
            Token::Map(Container::Json(text)) => {
                return read_all(text, |json| json.deserialize_enum(name, variants, visitor));
            }
            Token::Map(container) => container,
            other => return Err(other.invalid_type(&visitor)),
        };
        match container.next_member() {
            Step::Next => {}
            Step::End => return Err(ValueError::custom("missing variant")),
            Step::Failed(error) => return Err(error),
        }
        visitor.visit_enum(Variant(container)).map_err(|error| container.error_in_member(error))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, ValueError> {
        self.skip()?;
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, ValueError> {
        self.deserialize_seq(visitor)
    }

    forward! {
        deserialize_f64: deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128 deserialize_u8
            deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32;
        deserialize_str: deserialize_char deserialize_string deserialize_identifier;
        deserialize_bytes: deserialize_byte_buf;
    }
}

impl Token<'_> {
    #[cold]
    #[inline(never)]
    fn invalid_type(&self, expected: &dyn Expected) -> ValueError {
        let unexpected = match self {
            Self::Null => Unexpected::Other("null"),
            Self::Bool(value) => Unexpected::Bool(*value),
            Self::Number(Number::Unsigned(value)) => Unexpected::Unsigned(*value),
            Self::Number(Number::Signed(value)) => Unexpected::Signed(*value),
            Self::Number(Number::Double(value)) => Unexpected::Float(*value),
            Self::Text(text) => Unexpected::Str(text),
            Self::OwnedText(text) => Unexpected::Str(text),
            Self::Time(time) => Unexpected::Str(time.as_str()),
            Self::List(_) => Unexpected::Seq,
            Self::Map(_) => Unexpected::Map,
        };
        ValueError::invalid_type(unexpected, expected)
    }
}

/// Returns the token of a message that is not an object in JSON.
fn token_of_form<'de>(place: &ValueRef<'de>, form: Form<'de>) -> Result<Token<'de>, ValueError> {
    Ok(match form {
        Form::Null => Token::Null,
        Form::Bool(value) => Token::Bool(value),
        Form::Int(value) => Token::Number(integer(value)),
        Form::Text(text) => Token::Text(text),
        Form::Time(time) => Token::Time(time),
        Form::Json(bytes) => return token_of_json(json_text(bytes)?),
        Form::List(mut reader, tag, value) => {
            Token::List(Container::Elements(Elements::new(&mut reader, tag, value, place.depth)?))
        }
        Form::EmptyList => Token::List(Container::EmptyList),
        Form::Object(reader, message) => {
            Token::Map(Container::Message(MessageFields::new(Object::inside(place, reader, message)?)))
        }
    })
}

/// Returns the token of a field that holds JSON text.
fn token_of_json(text: &str) -> Result<Token<'_>, ValueError> {
    use serde_json::Value as Json;
    let number = |number: &serde_json::Number| match (number.as_u64(), number.as_i64()) {
        (Some(number), _) => Number::Unsigned(number),
        (None, Some(number)) => Number::Signed(number),
        (None, None) => Number::Double(number.as_f64().unwrap_or(f64::NAN)),
    };
    if text.trim_ascii_start().starts_with('{') {
        return Ok(Token::Map(Container::Json(text)));
    }
    if text.trim_ascii_start().starts_with('[') {
        return Ok(Token::List(Container::Json(text)));
    }
    Ok(match super::json::decode_json(text)? {
        Json::Null => Token::Null,
        Json::Bool(value) => Token::Bool(value),
        Json::Number(value) => Token::Number(number(&value)),
        Json::String(value) => Token::OwnedText(value),
        Json::Array(_) => Token::List(Container::Json(text)),
        Json::Object(_) => Token::Map(Container::Json(text)),
    })
}

/// Replaces each byte of text that is not valid UTF-8, as Go does when it writes such text as JSON.
#[cold]
fn replace_invalid_utf8(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    text
}

#[inline]
fn integer(value: i64) -> Number {
    u64::try_from(value).map_or(Number::Signed(value), Number::Unsigned)
}

/// Returns a double as Go writes it in JSON: without a fraction if it is an integer, and with zeros after the digits that
/// distinguish a large one.
fn double(value: f64) -> Number {
    const EXACT: f64 = (1_u64 << 53) as f64;
    let is_whole = value.fract() == 0.0 && (value != 0.0 || value.is_sign_positive());
    match value {
        0.0..EXACT if is_whole => Number::Unsigned(value as u64),
        _ if is_whole && value < 0.0 && value > -EXACT => Number::Signed(value as i64),
        _ if is_whole => {
            let digits = value.to_string();
            let unsigned = digits.parse().map(Number::Unsigned);
            unsigned.or_else(|_| digits.parse().map(Number::Signed)).unwrap_or(Number::Double(value))
        }
        _ => Number::Double(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_have_the_digits_that_go_writes() {
        let table: [(f64, &str); 11] = [
            (0.0, "0"),
            (-0.0, "-0.0"),
            (-7.0, "-7"),
            (1.5, "1.5"),
            (9_007_199_254_740_991.0, "9007199254740991"),
            (-9_007_199_254_740_993.0, "-9007199254740992"),
            (9_223_372_036_854_775_807.0, "9223372036854776000"),
            (-9_223_372_036_854_774_784.0, "-9223372036854775000"),
            (18_446_744_073_709_549_568.0, "18446744073709550000"),
            (18_446_744_073_709_551_616.0, "1.8446744073709552e19"),
            (1e300, "1e300"),
        ];
        for (value, expected) in table {
            let text = match double(value) {
                Number::Unsigned(number) => number.to_string(),
                Number::Signed(number) => number.to_string(),
                Number::Double(number) => format!("{number:?}"),
            };
            assert_eq!(text, expected);
        }
    }
}
