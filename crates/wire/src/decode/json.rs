//! Decodes JSON with serde_json.

use super::{error::ValueError, list_lengths::ListLengths};
use serde::de::{Deserialize, DeserializeOwned};
use serde_json::de::{Deserializer, StrRead};

/// Returns the bytes as text, which serde_json reads faster than bytes.
pub(crate) fn json_text(bytes: &[u8]) -> Result<&str, ValueError> {
    std::str::from_utf8(bytes).map_err(ValueError::utf8)
}

/// Decodes JSON text.
pub(crate) fn decode_json<K: DeserializeOwned>(text: &str) -> Result<K, ValueError> {
    let lengths = ListLengths::of(text);
    read_all(text, |json| K::deserialize(lengths.wrap(json)))
}

/// Decodes the value at the beginning of JSON text.
pub(super) fn decode_first<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, ValueError> {
    T::deserialize(&mut Deserializer::from_str(text)).map_err(|error| ValueError::json(&error, text))
}

/// Reads JSON text, which must be one value, with `read`.
pub(super) fn read_all<'de, T>(
    text: &'de str,
    read: impl FnOnce(&mut Deserializer<StrRead<'de>>) -> Result<T, serde_json::Error>,
) -> Result<T, ValueError> {
    let mut deserializer = Deserializer::from_str(text);
    let value = read(&mut deserializer).and_then(|value| deserializer.end().map(|()| value));
    value.map_err(|error| ValueError::json(&error, text))
}
