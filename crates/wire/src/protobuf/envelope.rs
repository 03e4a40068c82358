//! The envelope of an object in protobuf: a magic number, its apiVersion and kind.

use super::{
    error::{Cause, ProtobufError},
    reader::{Reader, Tag, Wire},
    schema::Schema,
};

/// The magic number at the start of a body and of the object in an event.
pub(crate) const MAGIC: [u8; 4] = *b"k8s\0";

/// An object with its kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Envelope<'a> {
    pub(crate) types: EnvelopeTypes<'a>,
    /// The message itself.
    pub(crate) object: Reader<'a>,
}

/// The apiVersion and kind in an envelope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EnvelopeTypes<'a> {
    pub(crate) api_version: &'a str,
    pub(crate) kind: &'a str,
}

impl<'a> Envelope<'a> {
    /// Opens a body, or the object of an event.
    pub(crate) fn open(mut reader: Reader<'a>) -> Result<Self, ProtobufError> {
        let begin = reader;
        if !reader.take_all(&MAGIC) {
            return Err(begin.error(Cause::Magic));
        }
        let (mut types, mut object) = (EnvelopeTypes::default(), None);
        while let Some(tag) = reader.tag()? {
            match tag {
                Tag { number: 1, wire: Wire::Length } => types = EnvelopeTypes::read(reader.message()?)?,
                Tag { number: 2, wire: Wire::Length } => object = Some(reader.message()?),
                Tag { number: 3, wire: Wire::Length } => check_content_encoding(reader.bytes()?)?,
                Tag { wire, .. } => reader.skip(wire)?,
            }
        }
        // Go omits an empty object.
        Ok(Self { types, object: object.unwrap_or(reader) })
    }
}

/// Rejects compressed content, which the API server never sends.
pub(crate) fn check_content_encoding(encoding: &[u8]) -> Result<(), ProtobufError> {
    match encoding {
        [] => Ok(()),
        encoding => {
            let encoding = String::from_utf8_lossy(encoding).into_owned();
            Err(ProtobufError::new(Cause::ContentEncoding(encoding)))
        }
    }
}

impl<'a> EnvelopeTypes<'a> {
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
            ProtobufError::new(Cause::UnknownKind {
                api_version: api_version.to_owned(),
                kind: kind.to_owned(),
            })
        })
    }
}
