//! Why an object cannot be decoded.

use super::identity::Identity;
use crate::{decode::ValueError, key::Key, version::ResourceVersion};
use std::error::Error;

/// An object that cannot be decoded.
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

    #[cold]
    pub(super) fn of_value(identity: Option<Identity<'_>>, error: ValueError) -> Self {
        Self::new(identity, error.path(), error.into())
    }

    pub(super) fn cause(&self) -> &(dyn Error + Send + Sync) {
        &*self.cause
    }

    /// Returns the key of the object, if it could be read.
    #[must_use]
    pub fn key(&self) -> Option<&Key> {
        self.key.as_ref()
    }

    /// Returns the version of the object, if it could be read.
    #[must_use]
    pub fn version(&self) -> Option<&ResourceVersion> {
        self.version.as_ref()
    }

    /// Whether the object is malformed JSON, so that the server or the connection is at fault.
    #[must_use]
    pub fn is_malformed(&self) -> bool {
        self.cause.downcast_ref::<ValueError>().is_some_and(ValueError::is_malformed)
    }

    /// Returns the path to the invalid field, such as `spec.containers[0].name`.
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
    fn invalid_json_is_malformed_and_a_wrong_type_is_not() {
        let error = |json: &[u8]| -> ObjectError { decode_object::<Pod>(json).unwrap_err() };
        for malformed in [
            &b"{"[..],
            b"",
            br#"{"metadata":{"name":"a}}"#,
            br#"{"kind":"\xff"}"#,
            b"{\"kind\":\"\xff\"}",
            br#"{"spec":{"a":}}"#,
        ] {
            assert!(error(malformed).is_malformed(), "{malformed:?}");
        }
        for valid in [&b"7"[..], b"[]", br#"{"metadata":7}"#, br#"{"spec":{"containers":[{"name":1}]}}"#] {
            assert!(!error(valid).is_malformed(), "{valid:?}");
        }
    }
}
