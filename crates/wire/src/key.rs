//! The key of an object within its kind, `namespace/name`, in eight bytes.

use crate::rng::HashSeed;
use kube_core::Resource;
use std::{
    cmp::Ordering,
    fmt,
    hash::{BuildHasher, BuildHasherDefault, Hash, Hasher},
    str::FromStr,
    sync::LazyLock,
};
use triomphe::ThinArc;

/// The key of an object: `namespace/name`, or `name` for cluster-scoped kinds.
///
/// Clones share one allocation and are one pointer wide, since the store, the queue and every index hold the key of an
/// object. The hash is computed once, when the key is created.
///
/// Keys order by namespace, then name.
///
/// ```
/// use kube_informer_wire::Key;
///
/// let key: Key = "web/front-1".parse()?;
/// assert_eq!(key.namespace(), Some("web"));
/// assert_eq!(key.name(), "front-1");
/// # Ok::<(), kube_informer_wire::KeyError>(())
/// ```
#[derive(Clone)]
pub struct Key(ThinArc<Head, u8>);

#[derive(Debug)]
struct Head {
    hash: u64,
    /// The length of the namespace; zero, and no slash, for a cluster-scoped object.
    namespace: usize,
}

/// A borrowed key, to look up an object without creating a [`Key`].
///
/// It converts from `&Key`, from `(namespace, name)` and from text.
#[derive(Clone, Copy)]
pub struct KeyRef<'a> {
    // Text as bytes, which need no UTF-8 check when they are taken out of a key.
    namespace: &'a [u8],
    name: &'a [u8],
    hash: u64,
}

/// Hashes a [`Key`] by returning the hash that it stores.
///
/// The hash has a random seed per process, so that names cannot be chosen to collide.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeyHasher(u64);

/// A hash map that uses the hash stored in the [`Key`].
pub type KeyMap<V> = std::collections::HashMap<Key, V, BuildHasherDefault<KeyHasher>>;

/// Text that is not a valid key, or an object without one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// More than one slash, or an empty part.
    #[error("unexpected key format {text:?}: expected `namespace/name` or `name`")]
    Format {
        /// The invalid text.
        text: String,
    },
    /// The object's metadata has no name.
    #[error("object has no metadata.name")]
    MissingName,
}

static SEED: LazyLock<HashSeed> = LazyLock::new(HashSeed::new);

fn hash(namespace: &str, name: &str) -> u64 {
    let mut hasher = SEED.build_hasher();
    hasher.write(namespace.as_bytes());
    hasher.write_u8(b'/');
    hasher.write(name.as_bytes());
    hasher.finish()
}

impl Key {
    /// Creates the key of the object `name`, in `namespace` if its kind is namespaced.
    ///
    /// # Errors
    /// [`KeyError::Format`] if a part is empty or contains a slash.
    pub fn new(namespace: Option<&str>, name: &str) -> Result<Self, KeyError> {
        let is_valid = |part: &str| !part.is_empty() && !part.contains('/');
        if !is_valid(name) || !namespace.is_none_or(is_valid) {
            let text = namespace.map_or_else(|| name.to_owned(), |ns| format!("{ns}/{name}"));
            return Err(KeyError::Format { text });
        }
        let text = namespace.map_or_else(|| name.to_owned(), |ns| [ns, "/", name].concat());
        let namespace = namespace.unwrap_or_default();
        let head = Head { hash: hash(namespace, name), namespace: namespace.len() };
        Ok(Self(ThinArc::from_header_and_slice(head, text.as_bytes())))
    }

    /// Returns the key of an object.
    ///
    /// # Errors
    /// [`KeyError::MissingName`] if the object has no name, [`KeyError::Format`] if a part contains a slash.
    pub fn of<K: Resource>(object: &K) -> Result<Self, KeyError> {
        let meta = object.meta();
        let name = meta.name.as_deref().filter(|name| !name.is_empty()).ok_or(KeyError::MissingName)?;
        Self::new(meta.namespace.as_deref().filter(|ns| !ns.is_empty()), name)
    }

    /// Returns the key as text, `namespace/name` or `name`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        text(&self.0.slice)
    }

    /// Returns the namespace; `None` for a cluster-scoped object.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        let (namespace, _) = self.parts();
        (!namespace.is_empty()).then(|| text(namespace))
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        text(self.parts().1)
    }

    /// Returns the hash of the key.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.0.header.header.hash
    }

    /// Returns the namespace, empty for a cluster-scoped object, and the name.
    fn parts(&self) -> (&[u8], &[u8]) {
        match self.0.header.header.namespace {
            0 => (&[], &self.0.slice),
            length => (&self.0.slice[..length], &self.0.slice[length + 1..]),
        }
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("a key is created from strings")
}

impl KeyRef<'_> {
    /// Returns the hash; equal to [`Key::digest`] of the same key.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.hash
    }

    /// Whether this refers to `key`.
    #[must_use]
    pub fn is(&self, key: &Key) -> bool {
        self.hash == key.digest() && (self.namespace, self.name) == key.parts()
    }
}

impl<'a> From<&'a Key> for KeyRef<'a> {
    fn from(key: &'a Key) -> Self {
        let (namespace, name) = key.parts();
        Self { namespace, name, hash: key.digest() }
    }
}

impl<'a> From<(&'a str, &'a str)> for KeyRef<'a> {
    fn from((namespace, name): (&'a str, &'a str)) -> Self {
        Self { namespace: namespace.as_bytes(), name: name.as_bytes(), hash: hash(namespace, name) }
    }
}

/// Parses `namespace/name` or `name`. Invalid text matches no key.
impl<'a> From<&'a str> for KeyRef<'a> {
    fn from(text: &'a str) -> Self {
        // No object has a name with a slash.
        text.split_once('/').filter(|(namespace, _)| !namespace.is_empty()).unwrap_or(("", text)).into()
    }
}

impl fmt::Display for KeyRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.namespace.is_empty() {
            write!(f, "{}/", text(self.namespace))?;
        }
        f.write_str(text(self.name))
    }
}

impl fmt::Debug for KeyRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyRef({self})")
    }
}

impl FromStr for Key {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        match text.split_once('/') {
            None => Self::new(None, text),
            Some((namespace, name)) => Self::new(Some(namespace), name),
        }
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0.ptr(), other.0.ptr())
            || (self.digest() == other.digest() && self.0.slice == other.0.slice)
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.digest());
    }
}

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        self.parts().cmp(&other.parts())
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.as_str())
    }
}

#[cfg(test)]
mod tests;
