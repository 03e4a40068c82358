//! Changes the metadata of an object in protobuf without decoding it.

use super::{
    error::ProtobufError,
    identity::{MANAGED_FIELDS, METADATA, VERSION},
    reader::{Reader, Tag, Wire},
    writer::Writer,
};

/// Returns the object without its managed fields; `None` if it has none.
pub(crate) fn without_managed_fields(object: &[u8]) -> Result<Option<Vec<u8>>, ProtobufError> {
    replace(object, MANAGED_FIELDS, &[])
}

/// Returns the parts of the object without managed fields. The length of the metadata is in none of them.
pub(crate) fn parts_without_managed_fields(object: &[u8]) -> Result<[&[u8]; 4], ProtobufError> {
    let Some(mut after) = Reader::new(object).find(METADATA, Wire::Length)? else {
        return Ok([object, &[], &[], &[]]);
    };
    let tag_end = after.offset();
    let metadata = after.message()?;
    let (before, after_field) = match find_field(metadata, MANAGED_FIELDS)? {
        Some((begin, end)) => (&object[metadata.offset()..begin.offset()], end.rest()),
        None => (metadata.rest(), &[][..]),
    };
    Ok([&object[..tag_end], before, after_field, after.rest()])
}

/// Returns the object with another `metadata.resourceVersion`; `None` if it has none.
///
/// [`Schema::encode`](crate::Schema::encode) always writes one.
#[must_use]
pub fn protobuf_with_version(object: &[u8], version: &str) -> Option<Vec<u8>> {
    let mut field = Writer::default();
    field.field(VERSION.into(), version.as_bytes());
    replace(object, VERSION, &field.into_bytes()).ok().flatten()
}

/// Returns the beginning of the object up to the end of its metadata, which is a `PartialObjectMetadata`.
#[must_use]
pub fn protobuf_metadata(object: &[u8]) -> Option<&[u8]> {
    let mut after = Reader::new(object).find(METADATA, Wire::Length).ok()??;
    after.bytes().ok()?;
    object.get(..after.offset())
}

/// Replaces a field of the metadata.
fn replace(object: &[u8], number: u32, field: &[u8]) -> Result<Option<Vec<u8>>, ProtobufError> {
    let Some(mut after) = Reader::new(object).find(METADATA, Wire::Length)? else { return Ok(None) };
    let tag_end = after.offset();
    let metadata = after.message()?;
    let Some((begin, end)) = find_field(metadata, number)? else { return Ok(None) };
    let before = &object[metadata.offset()..begin.offset()];
    let after_field = end.rest();
    let mut writer = Writer::with_capacity(object.len() + field.len());
    writer.raw(&object[..tag_end]);
    writer.varint((before.len() + field.len() + after_field.len()) as u64);
    writer.raw(before);
    writer.raw(field);
    writer.raw(after_field);
    writer.raw(after.rest());
    Ok(Some(writer.into_bytes()))
}

/// Returns readers at the beginning of a field, before its tag, and after its last element.
fn find_field(
    mut metadata: Reader<'_>,
    number: u32,
) -> Result<Option<(Reader<'_>, Reader<'_>)>, ProtobufError> {
    let wanted = Tag { number, wire: Wire::Length };
    loop {
        let begin = metadata;
        match metadata.tag()? {
            None => return Ok(None),
            Some(tag) if tag == wanted => {
                metadata.skip_repeated(tag)?;
                return Ok(Some((begin, metadata)));
            }
            Some(tag) => metadata.skip(tag.wire)?,
        }
    }
}
