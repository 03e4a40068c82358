//! Changes the protobuf of an object without decoding it.

use super::{
    error::ProtobufError,
    identity::{MANAGED_FIELDS, METADATA, VERSION},
    reader::{Reader, Tag, Wire},
    writer::Writer,
};

/// The object without its managed fields; nothing if it has none.
pub(crate) fn without_managed_fields(object: &[u8]) -> Result<Option<Vec<u8>>, ProtobufError> {
    replace(object, MANAGED_FIELDS, &[])
}

/// The object with another `metadata.resourceVersion`, for a server that encodes an object once for all its versions.
///
/// Nothing if the bytes are no object with a version, as [`Schema::encode`](crate::Schema::encode) always writes one.
#[must_use]
pub fn protobuf_at_version(object: &[u8], version: &str) -> Option<Vec<u8>> {
    let mut field = Writer::default();
    field.field(VERSION.into(), version.as_bytes());
    replace(object, VERSION, &field.into_bytes()).ok().flatten()
}

/// The object without all that follows its metadata, which is what there is of it in a `PartialObjectMetadata`.
#[must_use]
pub fn protobuf_metadata(object: &[u8]) -> Option<&[u8]> {
    let mut after = Reader::new(object).find(METADATA, Wire::Length).ok()??;
    after.bytes().ok()?;
    object.get(..after.offset())
}

/// Puts something else in the place of a field of the metadata.
fn replace(object: &[u8], number: u32, field: &[u8]) -> Result<Option<Vec<u8>>, ProtobufError> {
    let Some(mut after) = Reader::new(object).find(METADATA, Wire::Length)? else { return Ok(None) };
    let tag_end = after.offset();
    let metadata = after.message()?;
    let Some((begin, end)) = find_run(metadata, number)? else { return Ok(None) };
    let (before, behind) = (&object[metadata.offset()..begin.offset()], end.rest());
    let mut writer = Writer::with_capacity(object.len() + field.len());
    writer.raw(&object[..tag_end]);
    writer.varint((before.len() + field.len() + behind.len()) as u64);
    writer.raw(before);
    writer.raw(field);
    writer.raw(behind);
    writer.raw(after.rest());
    Ok(Some(writer.into_bytes()))
}

/// Where a field begins, with its tag, and where it ends, with all of its elements.
fn find_run(
    mut metadata: Reader<'_>,
    number: u32,
) -> Result<Option<(Reader<'_>, Reader<'_>)>, ProtobufError> {
    let wanted = Tag { number, wire: Wire::Length };
    loop {
        let begin = metadata;
        match metadata.tag()? {
            None => return Ok(None),
            Some(tag) if tag == wanted => {
                metadata.skip_run(tag)?;
                return Ok(Some((begin, metadata)));
            }
            Some(tag) => metadata.skip(tag.wire)?,
        }
    }
}
