//! Objects of an unexpected kind.

use kube_core::{ClusterResourceScope, Resource, TypeMeta};
use kube_informer_wire::{Key, ObjectError, Raw, ResourceVersion};
use std::any::TypeId;

/// An object of an unexpected kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("object {} is a {found}, not a {expected}", key.as_ref().map_or("without a name", Key::as_str))]
#[non_exhaustive]
pub struct KindError {
    /// The key of the object, if it has one.
    pub key: Option<Key>,
    /// The kind found, such as `v1 Service`.
    pub found: String,
    /// The kind expected, such as `v1 Pod`.
    pub expected: String,
}

/// Returns whether a kind has no namespaces. kube expresses this by a marker type, which has no values to match on.
pub(crate) fn is_cluster_scoped<K: Resource<Scope: 'static>>() -> bool {
    TypeId::of::<K::Scope>() == TypeId::of::<ClusterResourceScope>()
}

/// An object of a list or a watch that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ItemError {
    /// The object cannot be decoded.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// The object is of an unexpected kind.
    #[error(transparent)]
    Kind(#[from] KindError),
    /// The decoder of the object panicked, such as a `Deserialize` implementation of the user.
    #[error("decoder of object {} panicked", key.as_ref().map_or("without a name", Key::as_str))]
    Panicked {
        /// The key of the object, if it could be read.
        key: Option<Key>,
        /// The version of the object, if it could be read.
        version: Option<ResourceVersion>,
    },
    /// The object is in a namespace that was not requested.
    #[error("object {key} is not in namespace {expected}")]
    Namespace {
        /// The key of the object.
        key: Key,
        /// The requested namespace.
        expected: String,
    },
}

impl ItemError {
    /// Creates the error of an object whose decoder panicked.
    pub(super) fn panicked(raw: &Raw) -> Self {
        let identity = raw.identity().unwrap_or_default();
        Self::Panicked { key: identity.key().ok(), version: identity.version() }
    }

    /// Returns the key of the item, if it could be read and the item belongs to the source.
    #[must_use]
    pub fn key(&self) -> Option<&Key> {
        match self {
            Self::Object(error) => error.key(),
            Self::Kind(error) => error.key.as_ref(),
            Self::Panicked { key, .. } => key.as_ref(),
            Self::Namespace { .. } => None,
        }
    }

    /// Returns whether the bytes of the item are malformed, rather than those of an unexpected object.
    #[must_use]
    pub fn is_malformed(&self) -> bool {
        match self {
            Self::Object(error) => error.is_malformed(),
            Self::Kind(_) | Self::Panicked { .. } | Self::Namespace { .. } => false,
        }
    }

    /// Returns the version of the item, if it could be read.
    #[must_use]
    pub fn version(&self) -> Option<&ResourceVersion> {
        match self {
            Self::Object(error) => error.version(),
            Self::Panicked { version, .. } => version.as_ref(),
            Self::Kind(_) | Self::Namespace { .. } => None,
        }
    }
}

/// The kind that a server uses for the metadata of any object.
const METADATA: &str = "PartialObjectMetadata";

/// The kind of the objects of a resource.
#[derive(Clone, Debug)]
pub(crate) struct ExpectedKind {
    api_version: String,
    kind: String,
}

impl ExpectedKind {
    pub(crate) fn of<K: Resource>(kind: &K::DynamicType) -> Self {
        Self { api_version: K::api_version(kind).into_owned(), kind: K::kind(kind).into_owned() }
    }

    /// `apps/v1 Deployment`.
    pub(crate) fn describe(&self) -> String {
        format!("{} {}", self.api_version, self.kind)
    }

    /// Returns an error if the bytes of an object name another kind. Items of a list may name none.
    pub(crate) fn check(&self, raw: &Raw) -> Result<(), KindError> {
        let types = raw.types();
        match types.filter(|types| self.is_other(types)) {
            Some(types) => {
                let key = raw.identity().and_then(|identity| identity.key().ok());
                Err(self.error(&types, key))
            }
            None => Ok(()),
        }
    }

    /// Returns the kind error if the object has another `kind`, or else the decoding error.
    pub(crate) fn cause(&self, raw: &Raw, error: ObjectError) -> ItemError {
        let types = raw.types();
        match types.filter(|types| self.is_other(types) && types.kind != METADATA) {
            Some(types) => self.error(&types, error.key().cloned()).into(),
            None => error.into(),
        }
    }

    fn is_other(&self, types: &TypeMeta) -> bool {
        types.kind != self.kind || types.api_version != self.api_version
    }

    fn error(&self, types: &TypeMeta, key: Option<Key>) -> KindError {
        let found = format!("{} {}", types.api_version, types.kind);
        KindError { key, found, expected: self.describe() }
    }
}
