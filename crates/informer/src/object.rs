//! An object as it travels from the source to whoever follows, whole or in the small.

#[cfg(feature = "compact")]
use crate::compact::Packed;
use kube_core::Resource;
use kube_informer_wire::{Identity, Key, KeyError};
#[cfg(feature = "compact")]
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
    /// is not seen but is kept. Of a source that has no bytes but objects ([`FromFns`](crate::list_watch::FromFns)),
    /// those are kept whole.
    #[cfg(feature = "compact")]
    Compact,
}

/// An object of a listing, a delta or an event. It reads like the `K` it stands for.
///
/// Where the cache [keeps](Keep) objects in the small, this one is decoded at the first look at it, and not before; clones
/// share that.
pub struct Object<K>(Form<K>);

enum Form<K> {
    Whole(Arc<K>),
    #[cfg(feature = "compact")]
    Packed(Arc<Lazy<K>>),
}

/// An object in the small, and what was decoded of it.
#[cfg(feature = "compact")]
pub(crate) struct Lazy<K> {
    key: Key,
    packed: Packed<K>,
    decoded: OnceLock<Arc<K>>,
}

/// An object as a store keeps it: nothing of it stays decoded that is not kept so.
pub(crate) enum Kept<K> {
    Whole(Arc<K>),
    #[cfg(feature = "compact")]
    Packed(Packed<K>),
    /// Decoded, as soon as somebody has looked at it, with the bytes beside it.
    #[cfg(feature = "compact")]
    Beside(Arc<Lazy<K>>),
}

#[cfg(feature = "compact")]
impl<K> Lazy<K> {
    fn look(&self) -> &Arc<K> {
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
            #[cfg(feature = "compact")]
            (Form::Packed(one), Form::Packed(other)) => one.packed.ptr_eq(&other.packed),
            #[cfg(feature = "compact")]
            (Form::Whole(_), Form::Packed(_)) | (Form::Packed(_), Form::Whole(_)) => false,
        }
    }

    /// Looks at the object without leaving it decoded.
    pub(crate) fn with<R>(&self, look: impl FnOnce(&K) -> R) -> R {
        match &self.0 {
            Form::Whole(object) => look(object),
            #[cfg(feature = "compact")]
            Form::Packed(lazy) => match lazy.decoded.get() {
                Some(object) => look(object),
                None if lazy.packed.stays_decoded() => look(lazy.look()),
                None => look(&lazy.packed.decode()),
            },
        }
    }

    /// What a store keeps of it.
    pub(crate) fn kept(&self) -> Kept<K> {
        match &self.0 {
            Form::Whole(object) => Kept::Whole(Arc::clone(object)),
            #[cfg(feature = "compact")]
            Form::Packed(lazy) if lazy.packed.stays_decoded() => Kept::Beside(Arc::clone(lazy)),
            #[cfg(feature = "compact")]
            Form::Packed(lazy) => Kept::Packed(lazy.packed.clone()),
        }
    }

    /// Whether a look at it may leave something decoded behind.
    pub(crate) fn is_packed(&self) -> bool {
        match &self.0 {
            Form::Whole(_) => false,
            #[cfg(feature = "compact")]
            Form::Packed(lazy) => !lazy.packed.stays_decoded(),
        }
    }

    /// Whether the next look at it takes decoding it.
    pub(crate) fn is_closed(&self) -> bool {
        match &self.0 {
            Form::Whole(_) => false,
            #[cfg(feature = "compact")]
            Form::Packed(lazy) => lazy.decoded.get().is_none(),
        }
    }

    fn look(&self) -> &Arc<K> {
        match &self.0 {
            Form::Whole(object) => object,
            #[cfg(feature = "compact")]
            Form::Packed(lazy) => lazy.look(),
        }
    }
}

#[cfg(feature = "compact")]
impl<K> Object<K> {
    /// An object that is kept in the small, and decoded already where that is given.
    pub(crate) fn packed(key: Key, packed: Packed<K>, decoded: Option<Arc<K>>) -> Self {
        let decoded = decoded.map_or_else(OnceLock::new, OnceLock::from);
        Self(Form::Packed(Arc::new(Lazy { key, packed, decoded })))
    }

    /// Its bytes, where it has some.
    #[cfg(feature = "saved")]
    pub(crate) fn bytes(&self) -> Option<&Packed<K>> {
        match &self.0 {
            Form::Whole(_) => None,
            Form::Packed(lazy) => Some(&lazy.packed),
        }
    }

    /// Keeps it as `again` makes it, where that makes something.
    pub(crate) fn repack(&mut self, again: impl FnOnce(&Packed<K>) -> Option<Packed<K>>) {
        if let Form::Packed(lazy) = &self.0
            && let Some(packed) = again(&lazy.packed)
        {
            *self = Self::packed(lazy.key.clone(), packed, lazy.decoded.get().cloned());
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
            #[cfg(feature = "compact")]
            Form::Packed(lazy) => Ok(lazy.key.clone()),
        }
    }

    /// Whether both are the same state of the same object, by uid and version. Without a version nothing is known.
    pub(crate) fn is_same_state(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Form::Whole(one), Form::Whole(other)) => {
                is_same_state(&Identity::of(&**one), &Identity::of(&**other))
            }
            #[cfg(feature = "compact")]
            (Form::Packed(one), Form::Packed(other)) => one.packed.is_same_state(&other.packed),
            #[cfg(feature = "compact")]
            (Form::Whole(whole), Form::Packed(lazy)) | (Form::Packed(lazy), Form::Whole(whole)) => {
                lazy.packed.is_state(&Identity::of(&**whole))
            }
        }
    }
}

impl<K> Kept<K> {
    /// The object.
    pub(crate) fn object(&self) -> Arc<K> {
        match self {
            Self::Whole(object) => Arc::clone(object),
            #[cfg(feature = "compact")]
            Self::Packed(packed) => packed.decode(),
            #[cfg(feature = "compact")]
            Self::Beside(lazy) => Arc::clone(lazy.look()),
        }
    }

    /// The object, which is likely to be asked for again.
    #[cfg_attr(not(feature = "compact"), expect(unused_variables, reason = "what is whole needs no key"))]
    pub(crate) fn object_again(&self, key: &Key) -> Arc<K> {
        match self {
            Self::Whole(object) => Arc::clone(object),
            #[cfg(feature = "compact")]
            Self::Packed(packed) => packed.decode_again(key.digest()),
            #[cfg(feature = "compact")]
            Self::Beside(lazy) => Arc::clone(lazy.look()),
        }
    }

    /// Whether a look at it decodes it.
    pub(crate) fn is_packed(&self) -> bool {
        match self {
            Self::Whole(_) => false,
            #[cfg(feature = "compact")]
            Self::Packed(_) => true,
            #[cfg(feature = "compact")]
            Self::Beside(_) => false,
        }
    }

    /// How many bytes it takes in the small; nothing where it is whole.
    pub(crate) fn size(&self) -> Option<usize> {
        match self {
            Self::Whole(_) => None,
            #[cfg(feature = "compact")]
            Self::Packed(packed) => Some(packed.size()),
            #[cfg(feature = "compact")]
            Self::Beside(_) => None,
        }
    }

    /// The object to be handed on.
    #[cfg_attr(not(feature = "compact"), expect(unused_variables, reason = "what is whole needs no key"))]
    pub(crate) fn share(&self, key: &Key) -> Object<K> {
        match self {
            Self::Whole(object) => Object(Form::Whole(Arc::clone(object))),
            #[cfg(feature = "compact")]
            Self::Packed(packed) => Object::packed(key.clone(), packed.clone(), None),
            #[cfg(feature = "compact")]
            Self::Beside(lazy) => Object(Form::Packed(Arc::clone(lazy))),
        }
    }

    /// Whether `object` is kept as this, without a difference.
    pub(crate) fn is(&self, object: &Object<K>) -> bool {
        match (self, &object.0) {
            (Self::Whole(one), Form::Whole(other)) => Arc::ptr_eq(one, other),
            #[cfg(feature = "compact")]
            (Self::Packed(one), Form::Packed(other)) => one.ptr_eq(&other.packed),
            #[cfg(feature = "compact")]
            (Self::Beside(one), Form::Packed(other)) => Arc::ptr_eq(one, other),
            #[cfg(feature = "compact")]
            (Self::Whole(_), Form::Packed(_)) | (Self::Packed(_) | Self::Beside(_), Form::Whole(_)) => false,
        }
    }

    /// Whether `object`, which is the same state, takes less to keep.
    pub(crate) fn is_looser_than(&self, object: &Object<K>) -> bool {
        match (self, &object.0) {
            #[cfg(feature = "compact")]
            (Self::Packed(one), Form::Packed(other)) => one.is_loose() && !other.packed.is_loose(),
            #[cfg(feature = "compact")]
            (Self::Beside(one), Form::Packed(other)) => one.packed.is_loose() && !other.packed.is_loose(),
            _ => false,
        }
    }
}

impl<K: Resource> Kept<K> {
    /// Whether this is the state of the object that has this identity.
    pub(crate) fn is_state(&self, identity: &Identity<'_>) -> bool {
        match self {
            Self::Whole(object) => is_same_state(&Identity::of(&**object), identity),
            #[cfg(feature = "compact")]
            Self::Packed(packed) => packed.is_state(identity),
            #[cfg(feature = "compact")]
            Self::Beside(lazy) => lazy.packed.is_state(identity),
        }
    }

    /// Whether `object` is this state of this object.
    pub(crate) fn is_same_state(&self, object: &Object<K>) -> bool {
        match (self, &object.0) {
            (Self::Whole(one), Form::Whole(other)) => {
                is_same_state(&Identity::of(&**one), &Identity::of(&**other))
            }
            #[cfg(feature = "compact")]
            (Self::Packed(one), Form::Packed(other)) => one.is_same_state(&other.packed),
            #[cfg(feature = "compact")]
            (Self::Whole(one), Form::Packed(other)) => other.packed.is_state(&Identity::of(&**one)),
            #[cfg(feature = "compact")]
            (Self::Packed(one), Form::Whole(other)) => one.is_state(&Identity::of(&**other)),
            #[cfg(feature = "compact")]
            (Self::Beside(one), Form::Packed(other)) => one.packed.is_same_state(&other.packed),
            #[cfg(feature = "compact")]
            (Self::Beside(one), Form::Whole(other)) => one.packed.is_state(&Identity::of(&**other)),
        }
    }
}

/// Whether both are the same state of the same object, by uid and version. Without a version nothing is known.
fn is_same_state(one: &Identity<'_>, other: &Identity<'_>) -> bool {
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
            #[cfg(feature = "compact")]
            Form::Packed(_) => object.arc(),
        }
    }
}

impl<K> Clone for Object<K> {
    fn clone(&self) -> Self {
        Self(match &self.0 {
            Form::Whole(object) => Form::Whole(Arc::clone(object)),
            #[cfg(feature = "compact")]
            Form::Packed(lazy) => Form::Packed(Arc::clone(lazy)),
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

impl<K> fmt::Debug for Kept<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kept")
    }
}
