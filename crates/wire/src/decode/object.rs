//! Decodes a whole object.

use super::{error::Error, text::Text, within::Node};
use crate::protobuf::{Next, Object, Place, Skip};
use serde::de::DeserializeOwned;

/// Decodes the JSON of an object.
pub(crate) fn from_json<K: DeserializeOwned>(json: &[u8], skip: Skip) -> Result<K, Error> {
    // Text once checked as a whole is cheaper to read than bytes.
    let text = std::str::from_utf8(json).map_err(Error::no_text)?;
    // Whole objects are quickest with serde_json. What it does not take is read again, to say where it is wrong.
    match skip {
        Skip::Nothing => serde_json::from_str(text).or_else(|_| from_text(text, skip)),
        Skip::InObject | Skip::InMetadata => from_text(text, skip),
    }
}

/// The same, without help.
pub(super) fn from_text<K: DeserializeOwned>(text: &str, skip: Skip) -> Result<K, Error> {
    let mut text = Text::new(text, skip);
    let object = K::deserialize(Node::Json(&mut text))?;
    match text.reader.end() {
        Ok(()) => Ok(object),
        Err(error) => Err(Error::from(error).at_the_end()),
    }
}

/// Decodes the protobuf of an object.
pub(crate) fn from_protobuf<K: DeserializeOwned>(object: Object<'_>) -> Result<K, Error> {
    K::deserialize(Node::Protobuf(&mut Place::of(Next::Object(&object))))
}
