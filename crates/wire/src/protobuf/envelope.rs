//! What is around every object in protobuf: four bytes to know it by, its version and kind.

use super::{
    error::{Cause, ProtobufError},
    reader::{Reader, Tag, Wire},
    schema::Schema,
};

/// The bytes that every body and every object of an event begins with.
pub(crate) const MAGIC: [u8; 4] = *b"k8s\0";

/// An object and what it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Envelope<'a> {
    pub(crate) types: TypesOf<'a>,
    /// The message itself.
    pub(crate) object: Reader<'a>,
}

/// The version and kind that an envelope names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TypesOf<'a> {
    pub(crate) api_version: &'a str,
    pub(crate) kind: &'a str,
}

impl<'a> Envelope<'a> {
    /// Opens a whole body, or the object of an event.
    pub(crate) fn open(mut reader: Reader<'a>) -> Result<Self, ProtobufError> {
        let begin = reader;
        if !reader.take_all(&MAGIC) {
            return Err(begin.error(Cause::Magic));
        }
        let (mut types, mut object) = (TypesOf::default(), None);
        while let Some(tag) = reader.tag()? {
            match tag {
                Tag { number: 1, wire: Wire::Length } => types = TypesOf::read(reader.message()?)?,
                Tag { number: 2, wire: Wire::Length } => object = Some(reader.message()?),
                Tag { number: 3, wire: Wire::Length } => not_encoded(reader.bytes()?)?,
                Tag { wire, .. } => reader.skip(wire)?,
            }
        }
        // Go leaves out an object of no bytes.
        Ok(Self { types, object: object.unwrap_or(reader) })
    }
}

/// Content may be said to be compressed, which the API server never does.
pub(crate) fn not_encoded(encoding: &[u8]) -> Result<(), ProtobufError> {
    match encoding {
        [] => Ok(()),
        encoding => {
            let encoding = String::from_utf8_lossy(encoding).into_owned();
            Err(ProtobufError::anywhere(Cause::Encoding(encoding)))
        }
    }
}

impl<'a> TypesOf<'a> {
    pub(crate) fn read(mut reader: Reader<'a>) -> Result<Self, ProtobufError> {
        let mut types = Self::default();
        while let Some(tag) = reader.tag()? {
            match tag {
                Tag { number: 1, wire: Wire::Length } => types.api_version = reader.text()?,
                Tag { number: 2, wire: Wire::Length } => types.kind = reader.text()?,
                Tag { wire, .. } => reader.skip(wire)?,
            }
        }
        Ok(types)
    }

    pub(crate) fn schema(self) -> Result<Schema, ProtobufError> {
        let Self { api_version, kind } = self;
        Schema::of(api_version, kind).ok_or_else(|| {
            ProtobufError::anywhere(Cause::Kind {
                api_version: api_version.to_owned(),
                kind: kind.to_owned(),
            })
        })
    }
}
