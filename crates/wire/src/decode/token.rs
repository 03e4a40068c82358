//! What a value is, in the terms that both encodings have in common.

use super::{
    error::Error,
    text::Text,
    within::{Node, Within},
};
use crate::{
    json::Number,
    protobuf::{Elements, Entries, Field, Form, Next, Object, Place, Shape, Skip, TimeText, Value, Walk},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde::de::{Error as _, Expected, IgnoredAny, Unexpected};
use serde_json::de::{Deserializer, StrRead};
use std::borrow::Cow;

/// Types that keep JSON as a tree, of k8s-openapi, or as it is written, which serde_json alone knows how to give.
const TREES: [&str; 4] = ["FieldsV1", "RawExtension", "JSON", "$serde_json::private::RawValue"];

/// A value, or what is inside of it. It is not moved, since what is inside may be a lot.
#[derive(Debug)]
pub(super) enum Token<'de> {
    Null,
    Bool(bool),
    Number(Number),
    Text(&'de str),
    Unescaped(String),
    Time(TimeText),
    List(Within<'de>),
    Map(Within<'de>),
}

impl<'de> Node<'_, 'de> {
    /// Takes the value.
    #[inline(never)]
    pub(super) fn token(&mut self) -> Result<Token<'de>, Error> {
        match self {
            Self::Json(text) => json(text),
            Self::Protobuf(place) => protobuf(place),
        }
    }

    /// Enters the value, if something is inside of it. What is inside is made where it is to be, and not moved.
    #[inline(never)]
    pub(super) fn enter(&mut self, expected: &dyn Expected) -> Result<Within<'de>, Error> {
        match self {
            Self::Protobuf(place) => {
                if let Some(message) = place.message() {
                    let inside = place.reader.message()?;
                    return Ok(Within::Message(Walk::new(Object::inside(place, inside, message)?)));
                }
            }
            Self::Json(text) => {
                if let Some(sign @ (b'{' | b'[')) = text.reader.peek() {
                    return Ok(Within::Json(text.enter(sign)?));
                }
            }
        }
        match self.token() {
            Err(error) => Err(error),
            Ok(Token::Map(within) | Token::List(within)) => Ok(within),
            Ok(ref other) => Err(other.instead_of(expected)),
        }
    }

    /// Enters the value, if it is an object or a map.
    #[inline(never)]
    pub(super) fn enter_map(&mut self, expected: &dyn Expected) -> Result<Within<'de>, Error> {
        match self {
            Self::Protobuf(place) => {
                if let Next::Field(&Field { shape: Shape::Map, value, .. }, tag) = place.next {
                    return Ok(Within::Entries(Entries::new(&mut place.reader, tag, value, place.depth)?));
                }
            }
            Self::Json(text) => {
                if let Some(sign @ b'{') = text.reader.peek() {
                    return Ok(Within::Json(text.enter(sign)?));
                }
            }
        }
        match self.token() {
            Err(error) => Err(error),
            Ok(Token::Map(within)) => Ok(within),
            Ok(ref other) => Err(other.instead_of(expected)),
        }
    }

    /// Enters the value, if it is a list.
    #[inline(never)]
    pub(super) fn enter_list(&mut self, expected: &dyn Expected) -> Result<Within<'de>, Error> {
        match self {
            Self::Protobuf(place) => {
                if let Next::Field(&Field { shape: Shape::Many, value, .. }, tag) = place.next {
                    return Ok(Within::Elements(Elements::new(&mut place.reader, tag, value, place.depth)?));
                }
            }
            Self::Json(text) => {
                if let Some(sign @ b'[') = text.reader.peek() {
                    return Ok(Within::Json(text.enter(sign)?));
                }
            }
        }
        match self.token() {
            Err(error) => Err(error),
            Ok(Token::List(within)) => Ok(within),
            Ok(ref other) => Err(other.instead_of(expected)),
        }
    }

    /// Takes the value if it is a text that stands there as it is, which most values are.
    #[inline(never)]
    pub(super) fn take_text(&mut self) -> Option<&'de str> {
        match self {
            Self::Json(text) => text.reader.take_plain(),
            Self::Protobuf(place) => place.take_text(),
        }
    }

    /// Takes a number.
    #[inline(never)]
    pub(super) fn number(&mut self, expected: &dyn Expected) -> Result<Number, Error> {
        if let Self::Protobuf(place) = self
            && place.is_integer()
        {
            return Ok(integer(place.reader.varint()? as i64));
        }
        match self.token() {
            Err(error) => Err(error),
            Ok(Token::Number(number)) => Ok(number),
            Ok(ref other) => Err(other.instead_of(expected)),
        }
    }

    /// Takes a boolean.
    #[inline(never)]
    pub(super) fn boolean(&mut self, expected: &dyn Expected) -> Result<bool, Error> {
        match self.token() {
            Err(error) => Err(error),
            Ok(Token::Bool(value)) => Ok(value),
            Ok(ref other) => Err(other.instead_of(expected)),
        }
    }

    /// Takes the value if it is null.
    #[inline]
    pub(super) fn take_null(&mut self) -> Result<bool, Error> {
        match self {
            Self::Protobuf(place) if !place.may_be_null() => Ok(false),
            _ => self.take_null_if_it_is(),
        }
    }

    #[inline(never)]
    fn take_null_if_it_is(&mut self) -> Result<bool, Error> {
        match self {
            Self::Json(text) => {
                let is_null = text.reader.peek() == Some(b'n');
                if is_null {
                    text.reader.word("null")?;
                }
                Ok(is_null)
            }
            Self::Protobuf(place) => Ok(place.take_null()?),
        }
    }

    /// The JSON that begins with a value which serde_json is to read: what a type of this name wants, and what stands
    /// alone in protobuf.
    #[inline(never)]
    pub(super) fn tree(&mut self, name: &'static str) -> Result<Option<&'de str>, Error> {
        match self {
            Self::Json(text) => Ok(TREES.contains(&name).then(|| text.reader.rest())),
            Self::Protobuf(place) => match place.take_json()? {
                Some(json) => std::str::from_utf8(json).map(Some).map_err(Error::custom),
                None => Ok(None),
            },
        }
    }

    /// Goes on behind what serde_json has read.
    #[inline(never)]
    pub(super) fn leave_tree(&mut self, mut read: Deserializer<StrRead<'de>>) -> Result<(), Error> {
        match self {
            Self::Json(text) => text.reader.pass(read.into_iter::<IgnoredAny>().byte_offset())?,
            Self::Protobuf(_) => read.end()?,
        }
        Ok(())
    }

    /// Passes over the value.
    #[inline(never)]
    pub(super) fn pass(&mut self) -> Result<(), Error> {
        match self {
            Self::Json(text) => text.reader.skip()?,
            Self::Protobuf(place) => place.pass()?,
        }
        Ok(())
    }
}

impl Token<'_> {
    /// It is not what was expected.
    #[cold]
    #[inline(never)]
    pub(super) fn instead_of(&self, expected: &dyn Expected) -> Error {
        let unexpected = match self {
            Self::Null => Unexpected::Unit,
            Self::Bool(value) => Unexpected::Bool(*value),
            Self::Number(Number::Unsigned(value)) => Unexpected::Unsigned(*value),
            Self::Number(Number::Signed(value)) => Unexpected::Signed(*value),
            Self::Number(Number::Double(value)) => Unexpected::Float(*value),
            Self::Text(text) => Unexpected::Str(text),
            Self::Unescaped(text) => Unexpected::Str(text),
            Self::Time(time) => Unexpected::Str(time.as_str()),
            Self::List(_) => Unexpected::Seq,
            Self::Map(_) => Unexpected::Map,
        };
        Error::invalid_type(unexpected, expected)
    }
}

#[inline]
fn json<'de>(text: &mut Text<'de>) -> Result<Token<'de>, Error> {
    let reader = &mut text.reader;
    match reader.peek() {
        Some(b'"') => match reader.string()? {
            Cow::Borrowed(text) => Ok(Token::Text(text)),
            Cow::Owned(text) => Ok(Token::Unescaped(text)),
        },
        Some(sign @ b'{') => Ok(Token::Map(Within::Json(text.enter(sign)?))),
        Some(sign @ b'[') => Ok(Token::List(Within::Json(text.enter(sign)?))),
        Some(b'-' | b'0'..=b'9') => Ok(Token::Number(reader.number()?)),
        Some(b't') => Ok(reader.word("true").map(|()| Token::Bool(true))?),
        Some(b'f') => Ok(reader.word("false").map(|()| Token::Bool(false))?),
        Some(b'n') => Ok(reader.word("null").map(|()| Token::Null)?),
        Some(_) => Err(reader.error("something is no value").into()),
        None => Err(reader.error("a value is missing").into()),
    }
}

#[inline]
fn protobuf<'de>(place: &mut Place<'de>) -> Result<Token<'de>, Error> {
    let value = match place.next {
        Next::Element(value) => value,
        Next::Field(field, tag) => match field.shape {
            Shape::Many => {
                let elements = Elements::new(&mut place.reader, tag, field.value, place.depth)?;
                return Ok(Token::List(Within::Elements(elements)));
            }
            Shape::Map => {
                let entries = Entries::new(&mut place.reader, tag, field.value, place.depth)?;
                return Ok(Token::Map(Within::Entries(entries)));
            }
            Shape::One | Shape::Maybe | Shape::Inline | Shape::Vacant => field.value,
        },
        Next::Object(schema, has_types) => {
            return Ok(Token::Map(Within::Message(Walk::new(place.object(schema, has_types)))));
        }
        Next::Text(text) => return Ok(Token::Text(text)),
        Next::Null => return Ok(Token::Null),
    };
    let reader = &mut place.reader;
    match value {
        Value::Text => match reader.take_text() {
            Some(text) => Ok(Token::Text(text)),
            None => Ok(Token::Unescaped(mended(reader.bytes()?))),
        },
        Value::Message(message) => {
            let inside = reader.message()?;
            Ok(Token::Map(Within::Message(Walk::new(Object::inside(place, inside, message)?))))
        }
        Value::Int => Ok(Token::Number(integer(reader.varint()? as i64))),
        Value::Bool => Ok(Token::Bool(reader.varint()? != 0)),
        Value::Double => Ok(Token::Number(double(f64::from_bits(reader.fixed64()?)))),
        Value::Bytes => Ok(Token::Unescaped(STANDARD.encode(reader.bytes()?))),
        _ => {
            let form = Form::read(value, reader.message()?)?;
            of_form(place, form)
        }
    }
}

/// A message with a form of its own.
fn of_form<'de>(place: &Place<'de>, form: Form<'de>) -> Result<Token<'de>, Error> {
    Ok(match form {
        Form::Null => Token::Null,
        Form::Bool(value) => Token::Bool(value),
        Form::Int(value) => Token::Number(integer(value)),
        Form::Text(text) => Token::Text(text),
        Form::Time(time) => Token::Time(time),
        Form::Json(bytes) => return json_inside(bytes),
        Form::List(mut reader, tag, value) => {
            Token::List(Within::Elements(Elements::new(&mut reader, tag, value, place.depth)?))
        }
        Form::EmptyList => Token::List(Within::nothing()),
        Form::Object(reader, message) => {
            Token::Map(Within::Message(Walk::new(Object::inside(place, reader, message)?)))
        }
    })
}

fn json_inside(bytes: &[u8]) -> Result<Token<'_>, Error> {
    let mut text = Text::new(std::str::from_utf8(bytes).map_err(Error::custom)?, Skip::Nothing);
    let token = json(&mut text)?;
    if !matches!(token, Token::List(_) | Token::Map(_)) {
        text.reader.end()?;
    }
    Ok(token)
}

/// A text that is no UTF-8, with a sign for each byte that is wrong. Go takes and keeps such a text, and writes it like this as JSON.
#[cold]
fn mended(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    text
}

/// An integer as JSON has it, which takes a sign for the difference of the types.
#[inline]
fn integer(value: i64) -> Number {
    u64::try_from(value).map_or(Number::Signed(value), Number::Unsigned)
}

/// A number as JSON has it: Go writes no fraction where there is none, and of a large one the digits that tell it from its
/// neighbours, then zeros.
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

    /// A number as Go's JSON has it.
    #[test]
    fn whole_numbers_have_the_digits_of_json() {
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
