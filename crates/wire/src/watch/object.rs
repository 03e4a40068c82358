//! Decodes one object, and says which object and which of its fields when it cannot.

use crate::{key::Key, version::ResourceVersion};
use serde::{Deserialize, de::DeserializeOwned};

/// An object that is well-formed JSON, or should be, and is not what was expected.
#[derive(Debug, thiserror::Error)]
#[error("object {} cannot be decoded at {path}", key.as_ref().map_or("without a name", Key::as_str))]
pub struct ObjectError {
    key: Option<Key>,
    version: Option<ResourceVersion>,
    path: String,
    #[source]
    cause: serde_json::Error,
}

/// Decodes an object from its JSON.
///
/// # Errors
/// [`ObjectError`] names the object, as far as it tells its name, and the field.
pub fn decode_object<K: DeserializeOwned>(json: &[u8]) -> Result<K, ObjectError> {
    // The error path decodes twice, so that the usual one need not keep track of where it is; and text once checked
    // as a whole is cheaper to read than bytes.
    let decoded = std::str::from_utf8(json).ok().and_then(|text| serde_json::from_str(text).ok());
    decoded.map_or_else(|| decode_tracked(json), Ok)
}

/// Decodes an object once more, keeping track of the path.
pub(super) fn decode_tracked<K: DeserializeOwned>(json: &[u8]) -> Result<K, ObjectError> {
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let failed = |path: String, cause| {
        let Metadata { key, version } = Metadata::read(json);
        ObjectError { key, version, path, cause }
    };
    let object = serde_path_to_error::deserialize(&mut deserializer)
        .map_err(|error| failed(error.path().to_string(), error.into_inner()))?;
    deserializer.end().map_err(|cause| failed("its end".to_owned(), cause))?;
    Ok(object)
}

impl ObjectError {
    /// The key of the object, if it could be read.
    #[must_use]
    pub fn key(&self) -> Option<&Key> {
        self.key.as_ref()
    }

    /// The version of the object, if it could be read.
    #[must_use]
    pub fn version(&self) -> Option<&ResourceVersion> {
        self.version.as_ref()
    }

    /// The field that is wrong, `spec.containers[0].name` for one.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }
}

/// As much of an object as tells which one it is.
#[derive(Default)]
pub(super) struct Metadata {
    key: Option<Key>,
    pub(super) version: Option<ResourceVersion>,
}

impl Metadata {
    /// Reads what can be read; an object that is no object has neither key nor version.
    pub(super) fn read(json: &[u8]) -> Self {
        #[derive(Deserialize)]
        struct Object {
            metadata: Fields,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Fields {
            name: Option<String>,
            namespace: Option<String>,
            resource_version: Option<String>,
        }
        let Ok(Object { metadata }) = serde_json::from_slice::<Object>(json) else { return Self::default() };
        let namespace = metadata.namespace.as_deref().filter(|namespace| !namespace.is_empty());
        Self {
            key: metadata.name.and_then(|name| Key::new(namespace, &name).ok()),
            version: metadata.resource_version.and_then(|version| version.parse().ok()),
        }
    }
}
