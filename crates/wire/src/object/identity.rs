//! Reads which object it is from its bytes, without decoding the rest.

use crate::{
    json::{ScanError, Scanner},
    key::{Key, KeyError},
    protobuf::Names,
    version::ResourceVersion,
};
use kube_core::Resource;
use std::borrow::Cow;

/// The identity of an object and of one of its states. Absent fields are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Identity<'a> {
    /// The name.
    pub name: Cow<'a, str>,
    /// The namespace; empty for cluster-scoped objects.
    pub namespace: Cow<'a, str>,
    /// The uid.
    pub uid: Cow<'a, str>,
    /// The resourceVersion as the server writes it.
    pub version: Cow<'a, str>,
}

impl<'a> Identity<'a> {
    /// Returns the identity of a decoded object.
    pub fn of<K: Resource>(object: &'a K) -> Self {
        let meta = object.meta();
        let text = |text: &'a Option<String>| Cow::Borrowed(text.as_deref().unwrap_or_default());
        Self {
            name: text(&meta.name),
            namespace: text(&meta.namespace),
            uid: text(&meta.uid),
            version: text(&meta.resource_version),
        }
    }

    /// Returns the key of the object.
    ///
    /// # Errors
    /// [`KeyError`] if the name is missing or invalid.
    pub fn key(&self) -> Result<Key, KeyError> {
        Key::new(Some(&*self.namespace).filter(|namespace| !namespace.is_empty()), &self.name)
    }

    /// Returns the version; `None` if it is missing or invalid.
    #[must_use]
    pub fn version(&self) -> Option<ResourceVersion> {
        self.version.parse().ok()
    }

    pub(super) fn of_protobuf(object: &'a [u8]) -> Option<Self> {
        let Names { name, namespace, uid, version } = Names::read(object).ok()?;
        Some(Self {
            name: name.into(),
            namespace: namespace.into(),
            uid: uid.into(),
            version: version.into(),
        })
    }

    /// Reads the first `metadata` of a JSON object up to the last of the four fields. The first value of a repeated field is used;
    /// decoding uses the last one, so that a difference is found when both are compared.
    pub(crate) fn of_json(object: &'a [u8]) -> Option<Self> {
        let mut scanner = Scanner::new(object);
        enter_metadata(&mut scanner).ok().filter(|is_found| *is_found)?;
        let mut identity = Self::default();
        let mut found = [false; 4];
        while let Some(key) = scanner.next_key().ok()? {
            let (number, field) = match key.raw() {
                b"name" => (0, &mut identity.name),
                b"namespace" => (1, &mut identity.namespace),
                b"uid" => (2, &mut identity.uid),
                b"resourceVersion" => (3, &mut identity.version),
                // It may be one of the four in another spelling.
                key if key.contains(&b'\\') => return None,
                _ => {
                    scanner.skip_value().ok()?;
                    continue;
                }
            };
            let value = scanner.string().ok()??;
            if !std::mem::replace(&mut found[number], true) {
                *field = value;
            }
            if found.iter().all(|is_found| *is_found) {
                break;
            }
        }
        Some(identity)
    }
}

/// Enters the first `metadata` of an object; returns `false` if it has none.
fn enter_metadata(scanner: &mut Scanner<'_>) -> Result<bool, ScanError> {
    scanner.enter(b'{')?;
    while let Some(key) = scanner.next_key()? {
        if key.is("metadata") {
            scanner.enter(b'{')?;
            return Ok(true);
        }
        scanner.skip_value()?;
    }
    Ok(false)
}
