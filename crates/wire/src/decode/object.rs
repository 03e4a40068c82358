//! Decodes a whole object, or a part of one.

use super::{as_sent, error::Error, pointer::Pointer, text::Text, within::Node};
use crate::protobuf::{Place, Skip};
use serde::{Deserialize, de::DeserializeOwned};

/// Decodes the JSON of an object.
pub(crate) fn from_json<K: DeserializeOwned>(json: &[u8], skip: Skip) -> Result<K, Error> {
    // Text once checked as a whole is cheaper to read than bytes.
    let text = std::str::from_utf8(json).map_err(Error::no_text)?;
    // Whole objects are quickest with serde_json. What it does not take is read again, to say where it is wrong.
    match skip {
        Skip::Nothing if as_sent::is_asked_for_by::<K>() => from_text(text, skip),
        Skip::Nothing => serde_json::from_str(text).or_else(|_| from_text(text, skip)),
        Skip::InObject | Skip::InMetadata => from_text(text, skip),
    }
}

/// The same, without help.
pub(crate) fn from_text<K: DeserializeOwned>(text: &str, skip: Skip) -> Result<K, Error> {
    let mut text = Text::new(text, skip);
    let object = K::deserialize(Node::Json(&mut text))?;
    match text.reader.end() {
        Ok(()) => Ok(object),
        Err(error) => Err(Error::from(error).at_the_end()),
    }
}

/// Decodes the protobuf of an object.
pub(crate) fn from_protobuf<K: DeserializeOwned>(mut object: Place<'_>) -> Result<K, Error> {
    K::deserialize(Node::Protobuf(&mut object))
}

/// Decodes a part of an object from its JSON.
pub(crate) fn part_of_json<'de, T: Deserialize<'de>>(
    json: &'de [u8],
    pointer: Pointer<'_>,
) -> Result<Option<T>, Error> {
    let text = std::str::from_utf8(json).map_err(Error::no_text)?;
    pointer.read(Node::Json(&mut Text::new(text, Skip::Nothing)))
}

/// Decodes a part of an object from its protobuf.
pub(crate) fn part_of_protobuf<'de, T: Deserialize<'de>>(
    mut object: Place<'de>,
    pointer: Pointer<'_>,
) -> Result<Option<T>, Error> {
    pointer.read(Node::Protobuf(&mut object))
}
