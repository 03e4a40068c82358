//! An object that is not what was expected.

use super::identity::Identity;
use crate::decode;
use crate::{key::Key, version::ResourceVersion};
use std::error::Error;

/// An object that is well-formed, or should be, and is not what was expected.
#[derive(Debug, thiserror::Error)]
#[error("object {} cannot be decoded at {path}", key.as_ref().map_or("without a name", Key::as_str))]
pub struct ObjectError {
    key: Option<Key>,
    version: Option<ResourceVersion>,
    path: String,
    #[source]
    cause: Box<dyn Error + Send + Sync>,
}

impl ObjectError {
    pub(super) fn new(
        identity: Option<Identity<'_>>,
        path: String,
        cause: Box<dyn Error + Send + Sync>,
    ) -> Self {
        let identity = identity.unwrap_or_default();
        Self { key: identity.key().ok(), version: identity.version(), path, cause }
    }

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

    /// Whether it is not even well-formed, so that whoever sent it, or the way here, is broken.
    #[must_use]
    pub fn is_malformed(&self) -> bool {
        self.cause.downcast_ref::<decode::Error>().is_some_and(decode::Error::is_malformed)
    }

    /// The field that is wrong, `spec.containers[0].name` for one.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use crate::{ObjectError, decode_object};
    use k8s_openapi::api::core::v1::Pod;

    #[test]
    fn what_is_no_json_is_malformed_and_what_is_another_type_is_not() {
        let error = |json: &[u8]| -> ObjectError { decode_object::<Pod>(json).unwrap_err() };
        for malformed in
            [&b"{"[..], b"", br#"{"metadata":{"name":"a}}"#, br#"{"kind":"\xff"}"#, br#"{"spec":{"a":}}"#]
        {
            assert!(error(malformed).is_malformed(), "{malformed:?}");
        }
        for sound in [&b"7"[..], b"[]", br#"{"metadata":7}"#, br#"{"spec":{"containers":[{"name":1}]}}"#] {
            assert!(!error(sound).is_malformed(), "{sound:?}");
        }
    }
}
