//! An object as a store keeps it.

use crate::object::{Form, Object, is_same_state};
use crate::{object::Small, object::encoded::EncodedObject};
use kube_core::Resource;
use kube_informer_wire::{Identity, Key, ResourceVersion};
use std::{fmt, sync::Arc};

/// An object as a store keeps it: nothing of it stays decoded that is not kept so.
pub(crate) enum Kept<K> {
    Whole(Arc<K>),
    Packed(EncodedObject<K>),
    /// Decoded, as soon as somebody has looked at it, with the bytes beside it.
    Beside(Arc<Small<K>>),
}

impl<K> Object<K> {
    /// What a store keeps of it.
    pub(crate) fn kept(&self) -> Kept<K> {
        match &self.0 {
            Form::Whole(object) => Kept::Whole(Arc::clone(object)),
            Form::Packed(small) if small.packed.keeps_decoded() => Kept::Beside(Arc::clone(small)),
            Form::Packed(small) => Kept::Packed(small.packed.clone()),
        }
    }
}

impl<K> Kept<K> {
    /// The object.
    pub(crate) fn object(&self) -> Arc<K> {
        match self {
            Self::Whole(object) => Arc::clone(object),
            Self::Packed(packed) => packed.decode(),
            Self::Beside(small) => Arc::clone(small.look()),
        }
    }

    /// The object, which is likely to be asked for again.
    pub(crate) fn object_again(&self, key: &Key) -> Arc<K> {
        match self {
            Self::Whole(object) => Arc::clone(object),
            Self::Packed(packed) => packed.decode_cached(key.digest()),
            Self::Beside(small) => Arc::clone(small.look()),
        }
    }

    /// Whether a look at it decodes it.
    pub(crate) fn is_packed(&self) -> bool {
        match self {
            Self::Whole(_) => false,
            Self::Packed(_) => true,
            Self::Beside(_) => false,
        }
    }

    /// How many bytes it takes in the small; nothing where it is whole.
    pub(crate) fn size(&self) -> Option<usize> {
        match self {
            Self::Whole(_) => None,
            Self::Packed(packed) => Some(packed.size()),
            Self::Beside(_) => None,
        }
    }

    /// The object to be handed on.
    pub(crate) fn share(&self, key: &Key) -> Object<K> {
        match self {
            Self::Whole(object) => Object(Form::Whole(Arc::clone(object))),
            Self::Packed(packed) => Object::packed(key.clone(), packed.clone(), None, None),
            Self::Beside(small) => Object(Form::Packed(Arc::clone(small))),
        }
    }

    /// Whether `object` is kept as this, without a difference.
    pub(crate) fn is(&self, object: &Object<K>) -> bool {
        match (self, &object.0) {
            (Self::Whole(one), Form::Whole(other)) => Arc::ptr_eq(one, other),
            (Self::Packed(one), Form::Packed(other)) => one.ptr_eq(&other.packed),
            (Self::Beside(one), Form::Packed(other)) => Arc::ptr_eq(one, other),
            (Self::Whole(_), Form::Packed(_)) | (Self::Packed(_) | Self::Beside(_), Form::Whole(_)) => false,
        }
    }

    /// Whether `object`, which is the same state, takes less to keep.
    pub(crate) fn is_looser_than(&self, object: &Object<K>) -> bool {
        match (self, &object.0) {
            (Self::Packed(one), Form::Packed(other)) => one.can_shrink() && !other.packed.can_shrink(),
            (Self::Beside(one), Form::Packed(other)) => one.packed.can_shrink() && !other.packed.can_shrink(),
            _ => false,
        }
    }
}

impl<K: Resource> Kept<K> {
    /// The version of the object.
    pub(crate) fn version(&self) -> Option<ResourceVersion> {
        match self {
            Self::Whole(object) => object.meta().resource_version.as_deref()?.parse().ok(),
            Self::Packed(packed) => packed.version(),
            Self::Beside(small) => small.packed.version(),
        }
    }

    /// Whether this is the state of the object that has this identity.
    pub(crate) fn is_state(&self, identity: &Identity<'_>) -> bool {
        match self {
            Self::Whole(object) => is_same_state(&Identity::of(&**object), identity),
            Self::Packed(packed) => packed.is_state(identity),
            Self::Beside(small) => small.packed.is_state(identity),
        }
    }

    /// Whether `object` is this state of this object.
    pub(crate) fn is_same_state(&self, object: &Object<K>) -> bool {
        match (self, &object.0) {
            (Self::Whole(one), Form::Whole(other)) => {
                is_same_state(&Identity::of(&**one), &Identity::of(&**other))
            }
            (Self::Packed(one), Form::Packed(other)) => one.is_same_state(&other.packed),
            (Self::Whole(one), Form::Packed(other)) => other.packed.is_state(&Identity::of(&**one)),
            (Self::Packed(one), Form::Whole(other)) => one.is_state(&Identity::of(&**other)),
            (Self::Beside(one), Form::Packed(other)) => one.packed.is_same_state(&other.packed),
            (Self::Beside(one), Form::Whole(other)) => one.packed.is_state(&Identity::of(&**other)),
        }
    }
}

impl<K> Clone for Kept<K> {
    fn clone(&self) -> Self {
        match self {
            Self::Whole(object) => Self::Whole(Arc::clone(object)),
            Self::Packed(packed) => Self::Packed(packed.clone()),
            Self::Beside(small) => Self::Beside(Arc::clone(small)),
        }
    }
}

impl<K> fmt::Debug for Kept<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kept")
    }
}
