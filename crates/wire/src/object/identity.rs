//! Which object it is, read from its bytes without decoding them.

use super::json::Text;
use crate::{
    key::{Key, KeyError},
    protobuf::Names,
    version::ResourceVersion,
};
use kube_core::Resource;
use std::borrow::Cow;

/// What tells which object it is, and which state of it; what it does not say is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Identity<'a> {
    /// Its name.
    pub name: Cow<'a, str>,
    /// Its namespace; empty if it has none.
    pub namespace: Cow<'a, str>,
    /// Its uid.
    pub uid: Cow<'a, str>,
    /// Its version as the server writes it.
    pub version: Cow<'a, str>,
}

impl<'a> Identity<'a> {
    /// The identity of an object that is decoded.
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

    /// The key of the object.
    ///
    /// # Errors
    /// [`KeyError`] if it has no name, or one that is none.
    pub fn key(&self) -> Result<Key, KeyError> {
        Key::new(Some(&*self.namespace).filter(|namespace| !namespace.is_empty()), &self.name)
    }

    /// The version, if there is one that can be read.
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

    /// Reads the metadata until all four have come.
    pub(super) fn of_json(object: &'a [u8]) -> Option<Self> {
        let mut text = Text::metadata(object)?;
        let (mut identity, mut missing) = (Self::default(), 4);
        while let Some(entry) = text.entry()? {
            let part = match entry.name {
                b"name" => &mut identity.name,
                b"namespace" => &mut identity.namespace,
                b"uid" => &mut identity.uid,
                b"resourceVersion" => &mut identity.version,
                // It may be one of the four, written in another way.
                name if name.contains(&b'\\') => return None,
                _ => {
                    text.skip()?;
                    text.comma()?;
                    continue;
                }
            };
            *part = text.text()?;
            missing -= 1;
            if missing == 0 {
                break;
            }
            text.comma()?;
        }
        Some(identity)
    }
}
