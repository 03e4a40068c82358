//! An object as it travels from the source to whoever follows, whole or in the small.

mod kind;
mod raw;
pub(crate) mod encoded;
pub(crate) mod listing;
pub(crate) mod stored;

pub(crate) use kind::Expected;
pub use kind::{ItemError, KindError};
pub use listing::{Listing, Shown};
pub use raw::{Decoder, Item, Wanted};
pub(crate) use raw::{Labels, See};

use crate::object::encoded::EncodedObject;
use crate::tags::Tags;
use kube_core::Resource;
use kube_informer_wire::{Identity, Key, KeyError};
use std::sync::OnceLock;
use std::{fmt, ops::Deref, sync::Arc};

/// What a cache keeps of its objects.
///
/// Followers and readers see the same objects either way. `docs/memory.md` says what each costs, and when to choose it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Keep {
    /// The objects, decoded: a read costs a counter.
    #[default]
    Whole,
    /// The bytes that came over the wire, compressed against a dictionary made of the first of them: some hundreds of bytes
    /// instead of some tens of kilobytes for a pod.
    ///
    /// A read costs a decompression and a decoding, some tens of microseconds for a pod; so does the first look at an object of
    /// an event that is no news. Transforms run again at each such look, so they must do the same each time; what they take away
    /// is not seen but is kept. Of a source that has no bytes but objects ([`FromFns`](crate::source::FromFns)),
    /// those are kept whole.
    #[cfg(feature = "compressed")]
    Compact,
    /// The bytes that came over the wire.
    Encoded,
}

/// What a cache keeps of its objects.
#[cfg(feature = "saved")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    Decoded,
    #[cfg_attr(not(test), expect(dead_code, reason = "only tests"))]
    Encoded,
    Compressed,
}

/// An object of a listing, a delta or an event. It reads like the `K` it stands for.
///
/// Where the cache [keeps](Keep) objects in the small, this one is decoded at the first look at it, and not before; clones
/// share that.
pub struct Object<K>(pub(crate) Form<K>);

/// The two ways.
pub(crate) enum Form<K> {
    Whole(Arc<K>),
    Packed(Arc<Small<K>>),
}

/// An object in the small, and what was decoded of it.
pub(crate) struct Small<K> {
    key: Key,
    pub(crate) packed: EncodedObject<K>,
    decoded: OnceLock<Arc<K>>,
    /// Found when it was decoded to see that it can be, so that it is not decoded again for them.
    tags: Option<Box<Tags>>,
}

impl<K> Small<K> {
    pub(crate) fn look(&self) -> &Arc<K> {
        self.decoded.get_or_init(|| self.packed.decode())
    }
}

impl<K> Object<K> {
    /// The object, shared.
    #[must_use]
    pub fn arc(&self) -> Arc<K> {
        Arc::clone(self.look())
    }

    /// Whether both share one object.
    #[must_use]
    pub fn ptr_eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Form::Whole(one), Form::Whole(other)) => Arc::ptr_eq(one, other),
            (Form::Packed(one), Form::Packed(other)) => one.packed.ptr_eq(&other.packed),
            (Form::Whole(_), Form::Packed(_)) | (Form::Packed(_), Form::Whole(_)) => false,
        }
    }

    /// Looks at the object without leaving it decoded.
    pub(crate) fn with<R>(&self, look: impl FnOnce(&K) -> R) -> R {
        match &self.0 {
            Form::Whole(object) => look(object),
            Form::Packed(small) => match small.decoded.get() {
                Some(object) => look(object),
                None if small.packed.keeps_decoded() => look(small.look()),
                None => look(&small.packed.decode()),
            },
        }
    }

    /// The index values under which it stands, as far as they are known without a look at it.
    pub(crate) fn tags(&self) -> Option<&Tags> {
        match &self.0 {
            Form::Whole(_) => None,
            Form::Packed(small) => small.tags.as_deref(),
        }
    }

    /// Whether a look at it may leave something decoded behind.
    pub(crate) fn is_packed(&self) -> bool {
        match &self.0 {
            Form::Whole(_) => false,
            Form::Packed(small) => !small.packed.keeps_decoded(),
        }
    }

    /// Whether the next look at it takes decoding it.
    pub(crate) fn is_closed(&self) -> bool {
        match &self.0 {
            Form::Whole(_) => false,
            Form::Packed(small) => small.decoded.get().is_none(),
        }
    }

    fn look(&self) -> &Arc<K> {
        match &self.0 {
            Form::Whole(object) => object,
            Form::Packed(small) => small.look(),
        }
    }
}

impl<K> Object<K> {
    /// An object that is kept in the small, and decoded already where that is given.
    pub(crate) fn packed(
        key: Key,
        packed: EncodedObject<K>,
        decoded: Option<Arc<K>>,
        tags: Option<Box<Tags>>,
    ) -> Self {
        let decoded = decoded.map_or_else(OnceLock::new, OnceLock::from);
        Self(Form::Packed(Arc::new(Small { key, packed, decoded, tags })))
    }

    /// Its bytes, where it has some.
    #[cfg(feature = "saved")]
    pub(crate) fn bytes(&self) -> Option<&EncodedObject<K>> {
        match &self.0 {
            Form::Whole(_) => None,
            Form::Packed(small) => Some(&small.packed),
        }
    }

    /// It as it is packed, if it could be smaller for want of a dictionary.
    pub(crate) fn loose(&self) -> Option<&EncodedObject<K>> {
        match &self.0 {
            Form::Packed(small) if small.packed.can_shrink() => Some(&small.packed),
            Form::Packed(_) | Form::Whole(_) => None,
        }
    }

    /// Keeps it as this, where it is packed at all and nobody has it yet.
    pub(crate) fn pack_as(&mut self, packed: EncodedObject<K>) {
        if let Form::Packed(small) = &mut self.0
            && let Some(small) = Arc::get_mut(small)
        {
            small.packed = packed;
        }
    }
}

impl<K: Resource> Object<K> {
    /// The object's key. Nothing is decoded for it.
    ///
    /// # Errors
    /// [`KeyError`] if the object has no name.
    pub fn key(&self) -> Result<Key, KeyError> {
        match &self.0 {
            Form::Whole(object) => Key::of(&**object),
            Form::Packed(small) => Ok(small.key.clone()),
        }
    }

    /// Whether both are the same state of the same object, by uid and version. Without a version nothing is known.
    pub(crate) fn is_same_state(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Form::Whole(one), Form::Whole(other)) => {
                is_same_state(&Identity::of(&**one), &Identity::of(&**other))
            }
            (Form::Packed(one), Form::Packed(other)) => one.packed.is_same_state(&other.packed),
            (Form::Whole(whole), Form::Packed(small)) | (Form::Packed(small), Form::Whole(whole)) => {
                small.packed.is_state(&Identity::of(&**whole))
            }
        }
    }
}

/// Whether both are the same state of the same object, by uid and version. Without a version nothing is known.
pub(crate) fn is_same_state(one: &Identity<'_>, other: &Identity<'_>) -> bool {
    !matches!(&*one.version, "" | "0") && one.version == other.version && one.uid == other.uid
}

impl<K> Deref for Object<K> {
    type Target = K;

    fn deref(&self) -> &K {
        self.look()
    }
}

impl<K> AsRef<K> for Object<K> {
    fn as_ref(&self) -> &K {
        self
    }
}

impl<K> From<Arc<K>> for Object<K> {
    fn from(object: Arc<K>) -> Self {
        Self(Form::Whole(object))
    }
}

impl<K> From<Object<K>> for Arc<K> {
    fn from(object: Object<K>) -> Self {
        match object.0 {
            Form::Whole(object) => object,
            Form::Packed(_) => object.arc(),
        }
    }
}

impl<K> Clone for Object<K> {
    fn clone(&self) -> Self {
        Self(match &self.0 {
            Form::Whole(object) => Form::Whole(Arc::clone(object)),
            Form::Packed(small) => Form::Packed(Arc::clone(small)),
        })
    }
}

impl<K: PartialEq> PartialEq for Object<K> {
    fn eq(&self, other: &Self) -> bool {
        self.ptr_eq(other) || **self == **other
    }
}

impl<K: Eq> Eq for Object<K> {}

/// Says what it is, not what is in it: objects may hold secrets.
impl<K> fmt::Debug for Object<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_packed() { "Object(packed)" } else { "Object(whole)" })
    }
}
