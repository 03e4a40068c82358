//! Takes the managed fields out of the protobuf of an object.

use super::{
    error::ProtobufError,
    identity::{MANAGED_FIELDS, METADATA},
    reader::{Reader, Tag, Wire},
    writer::Writer,
};

/// The object without its managed fields; nothing if it has none.
pub(crate) fn without_managed_fields(object: &[u8]) -> Result<Option<Vec<u8>>, ProtobufError> {
    let Some(mut after) = Reader::new(object).find(METADATA, Wire::Length)? else { return Ok(None) };
    let tag_end = after.offset();
    let metadata = after.message()?;
    let Some((begin, end)) = find_run(metadata)? else { return Ok(None) };
    let (before, behind) = (&object[metadata.offset()..begin.offset()], end.rest());
    let mut writer = Writer::with_capacity(object.len());
    writer.raw(&object[..tag_end]);
    writer.varint((before.len() + behind.len()) as u64);
    writer.raw(before);
    writer.raw(behind);
    writer.raw(after.rest());
    Ok(Some(writer.into_bytes()))
}

/// Where the managed fields begin, with their tag, and where they end.
fn find_run(mut metadata: Reader<'_>) -> Result<Option<(Reader<'_>, Reader<'_>)>, ProtobufError> {
    const FIELDS: Tag = Tag { number: MANAGED_FIELDS, wire: Wire::Length };
    loop {
        let begin = metadata;
        match metadata.tag()? {
            None => return Ok(None),
            Some(FIELDS) => {
                metadata.skip_run(FIELDS)?;
                return Ok(Some((begin, metadata)));
            }
            Some(tag) => metadata.skip(tag.wire)?,
        }
    }
}
