//! Reads the identity of an object in protobuf.

use super::{
    error::ProtobufError,
    reader::{Reader, Tag, Wire},
};

/// The number of `metadata` in every kind of object.
pub(super) const METADATA: u32 = 1;
/// The number of `resourceVersion` in the metadata.
pub(super) const VERSION: u32 = 6;
/// The number of `managedFields` in the metadata.
pub(super) const MANAGED_FIELDS: u32 = 17;

/// The name, namespace, uid and version; empty if absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Names<'a> {
    pub(crate) name: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) uid: &'a str,
    pub(crate) version: &'a str,
}

impl<'a> Names<'a> {
    /// Reads the metadata up to the last of the four fields.
    pub(crate) fn read(object: &'a [u8]) -> Result<Self, ProtobufError> {
        let mut names = Self::default();
        let Some(mut metadata) = Reader::new(object).find(METADATA, Wire::Length)? else { return Ok(names) };
        let mut metadata = metadata.message()?;
        let mut missing = 4;
        while let Some(tag) = metadata.tag()? {
            missing -= u8::from(matches!(tag.number, 1 | 3 | 5 | 6) && missing > 0);
            match tag {
                Tag { number: 1, wire: Wire::Length } => names.name = metadata.text()?,
                Tag { number: 3, wire: Wire::Length } => names.namespace = metadata.text()?,
                Tag { number: 5, wire: Wire::Length } => names.uid = metadata.text()?,
                Tag { number: 6, wire: Wire::Length } => names.version = metadata.text()?,
                Tag { wire, .. } => metadata.skip(wire)?,
            }
            if missing == 0 {
                break;
            }
        }
        Ok(names)
    }
}
