//! The serde deserializer over a value of any encoding.
//!
//! What depends on the type that is decoded is kept short, since it is compiled for each type and each of its fields.

use super::{
    access::{Elements, Members, Variant},
    as_sent::AS_SENT,
    error::Error,
    token::Token,
    within::{Node, Step, Within},
};
use crate::json::Number;
use serde::{
    Deserializer,
    de::{Error as _, Visitor, value::StrDeserializer},
};

impl<'de> Node<'_, 'de> {
    #[inline]
    fn visit_map<V: Visitor<'de>>(mut self, within: &mut Within<'de>, visitor: V) -> Result<V::Value, Error> {
        // What is decoded may be large, and is only moved where something follows it.
        if !within.is_json() {
            return members(within, visitor);
        }
        let mut value = members(within, visitor);
        if value.is_ok()
            && let Err(error) = self.leave(within)
        {
            value = Err(error);
        }
        value
    }

    #[inline]
    fn visit_seq<V: Visitor<'de>>(mut self, within: &mut Within<'de>, visitor: V) -> Result<V::Value, Error> {
        if !within.is_json() {
            return elements(within, visitor);
        }
        let mut value = elements(within, visitor);
        if value.is_ok()
            && let Err(error) = self.leave(within)
        {
            value = Err(error);
        }
        value
    }

    /// Takes a text that does not stand there as it is.
    #[inline(never)]
    fn other_text<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        match self.token() {
            Err(error) => Err(error),
            Ok(Token::Text(text)) => visitor.visit_borrowed_str(text),
            Ok(Token::Unescaped(text)) => visitor.visit_str(&text),
            Ok(Token::Time(time)) => visitor.visit_str(time.as_str()),
            Ok(ref other) => Err(other.instead_of(&visitor)),
        }
    }
}

#[inline(never)]
fn members<'de, V: Visitor<'de>>(within: &mut Within<'de>, visitor: V) -> Result<V::Value, Error> {
    visitor.visit_map(Members(within))
}

#[inline(never)]
fn elements<'de, V: Visitor<'de>>(within: &mut Within<'de>, visitor: V) -> Result<V::Value, Error> {
    visitor.visit_seq(Elements(within))
}

/// Methods that go the way of another one.
macro_rules! like {
    ($($like:ident: $($method:ident)*;)*) => { $($(
        #[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.$like(visitor)
        }
    )*)* };
}

impl<'de> Deserializer<'de> for Node<'_, 'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        // In JSON the first sign tells what it is; in protobuf most is text.
        if matches!(self, Self::Protobuf(_))
            && let Some(text) = self.take_text()
        {
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
            Ok(Token::Unescaped(text)) => visitor.visit_str(&text),
            Ok(Token::Time(time)) => visitor.visit_str(time.as_str()),
            Ok(Token::List(ref mut within)) => self.visit_seq(within, visitor),
            Ok(Token::Map(ref mut within)) => self.visit_map(within, visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        let value = self.boolean(&visitor)?;
        visitor.visit_bool(value)
    }

    fn deserialize_f64<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        match self.number(&visitor)? {
            Number::Unsigned(value) => visitor.visit_u64(value),
            Number::Signed(value) => visitor.visit_i64(value),
            Number::Double(value) => visitor.visit_f64(value),
        }
    }

    #[inline]
    fn deserialize_str<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        match self.take_text() {
            Some(text) => visitor.visit_borrowed_str(text),
            None => self.other_text(visitor),
        }
    }

    fn deserialize_bytes<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        let mut token = self.token();
        match token {
            Err(error) => Err(error),
            Ok(Token::Text(text)) => visitor.visit_borrowed_bytes(text.as_bytes()),
            Ok(Token::Unescaped(text)) => visitor.visit_bytes(text.as_bytes()),
            Ok(Token::Time(time)) => visitor.visit_bytes(time.as_str().as_bytes()),
            Ok(Token::List(ref mut within)) => self.visit_seq(within, visitor),
            Ok(ref other) => Err(other.instead_of(&visitor)),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        match self.token() {
            Err(error) => Err(error),
            Ok(Token::Null) => visitor.visit_unit(),
            Ok(ref other) => Err(other.instead_of(&visitor)),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        match self.enter_list(&visitor) {
            Err(error) => Err(error),
            Ok(ref mut within) => self.visit_seq(within, visitor),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        match self.enter_map(&visitor) {
            Err(error) => Err(error),
            Ok(ref mut within) => self.visit_map(within, visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        mut self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.enter(&visitor) {
            Err(error) => Err(error),
            Ok(ref mut within) if within.is_list() => self.visit_seq(within, visitor),
            Ok(ref mut within) => self.visit_map(within, visitor),
        }
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        if self.take_null()? { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        mut self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        if name == AS_SENT {
            return self.give_as_sent(visitor);
        }
        let Some(json) = self.tree(name)? else { return visitor.visit_newtype_struct(self) };
        let mut json = serde_json::Deserializer::from_str(json);
        let value = json.deserialize_newtype_struct(name, visitor)?;
        self.leave_tree(json)?;
        Ok(value)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        mut self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let mut token = self.token()?;
        let within = match &mut token {
            Token::Text(text) => return visitor.visit_enum(StrDeserializer::new(text)),
            Token::Unescaped(text) => return visitor.visit_enum(StrDeserializer::new(text)),
            Token::Map(within) => within,
            other => return Err(other.instead_of(&visitor)),
        };
        match within.next_member() {
            Step::Next => {}
            Step::End => return Err(Error::custom("a variant is missing")),
            Step::Failed(error) => return Err(error),
        }
        let value = visitor.visit_enum(Variant(within)).map_err(|error| within.blame_member(error))?;
        self.leave(within)?;
        Ok(value)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        self.pass()?;
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    like! {
        deserialize_f64: deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128 deserialize_u8
            deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32;
        deserialize_str: deserialize_char deserialize_string deserialize_identifier;
        deserialize_bytes: deserialize_byte_buf;
    }
}
