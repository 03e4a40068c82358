//! An object as a source delivers it: decoded, or as bytes with their decoder.

use super::kind::ItemError;
use kube_core::Resource;
use kube_informer_wire::{ContentHash, Identity, ManagedFields, Raw};
use std::{
    collections::BTreeMap,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

/// An object of a list or a watch, in transit from the source to the cache.
///
/// A source that has objects converts them (`RawObject::from`). One that reads bytes passes these on with a [`Decoder`]:
/// the ingest stage decides whether they need to be decoded.
pub struct RawObject<K>(RawForm<K>);

/// The object is boxed once, in the `Arc` in which a cache will store it: objects are large, and moving them costs.
enum RawForm<K> {
    Decoded(Arc<K>),
    Encoded { raw: Raw, decoder: Decoder<K> },
}

/// Decodes the objects of one source.
///
/// It must return the same object for the same bytes each time: a cache that stores bytes
/// ([`Storage`](super::Storage)) decodes them at every read.
pub struct Decoder<K> {
    decode: Arc<DecodeFn<K>>,
    validate: Option<Validate>,
    managed_fields: ManagedFields,
}

type DecodeFn<K> = dyn Fn(&Raw) -> Result<K, ItemError> + Send + Sync;

/// Checks that an object can be decoded, and passes its labels to the callback.
type ValidateFn = dyn Fn(&Raw, &mut LabelsFn<'_>) -> Result<(), ItemError> + Send + Sync;

/// The labels of an object, if it has any.
pub(crate) type Labels<'l> = Option<&'l BTreeMap<String, String>>;

/// Receives the labels of an object.
pub(crate) type LabelsFn<'s> = dyn FnMut(Labels<'_>) + 's;

#[derive(Clone)]
struct Validate {
    function: Arc<ValidateFn>,
    cost: ValidationCost,
}

/// The cost of validating an object, compared to decoding it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValidationCost {
    /// About as long: the object is decoded and dropped.
    Full,
    /// Much less: the bytes are scanned.
    Scan,
}

impl<K> Decoder<K> {
    /// Creates a decoder from a function.
    pub fn new(decode: impl Fn(&Raw) -> Result<K, ItemError> + Send + Sync + 'static) -> Self {
        Self { decode: Arc::new(decode), validate: None, managed_fields: ManagedFields::Keep }
    }

    /// Sets whether the function reads managed fields. If it drops them, a cache that stores bytes does not store theirs.
    #[must_use]
    pub fn managed_fields(mut self, managed_fields: ManagedFields) -> Self {
        self.managed_fields = managed_fields;
        self
    }

    /// Sets a function that checks an object without decoding it for use.
    ///
    /// Every object that it accepts must be decodable, and have the labels that it passes to the callback.
    pub(crate) fn validate_with(
        mut self,
        cost: ValidationCost,
        validate: impl Fn(&Raw, &mut LabelsFn<'_>) -> Result<(), ItemError> + Send + Sync + 'static,
    ) -> Self {
        self.validate = Some(Validate { function: Arc::new(validate), cost });
        self
    }

    /// Returns the cost of [`validate`](Self::validate); `None` if this decoder can only decode.
    pub(crate) fn validation_cost(&self) -> Option<ValidationCost> {
        self.validate.as_ref().map(|validate| validate.cost)
    }

    /// Checks that an object can be decoded, and passes its labels to the callback. Without a function for that, the
    /// object is decoded.
    ///
    /// # Errors
    /// [`ItemError`] if it cannot be decoded.
    pub(crate) fn validate(&self, raw: &Raw, on_labels: &mut LabelsFn<'_>) -> Result<(), ItemError>
    where
        K: Resource,
    {
        match &self.validate {
            Some(validate) => catch_panic(raw, || (validate.function)(raw, on_labels)),
            None => {
                on_labels(self.decode(raw)?.meta().labels.as_ref());
                Ok(())
            }
        }
    }

    /// Decodes an object.
    ///
    /// # Errors
    /// [`ItemError`] if the bytes are malformed, or are not an object of this kind, or if the function panics.
    pub fn decode(&self, raw: &Raw) -> Result<K, ItemError> {
        catch_panic(raw, || (self.decode)(raw))
    }

    /// Returns a hash of the content that the decoder reads.
    pub(crate) fn content_hash(&self, raw: &Raw) -> ContentHash {
        raw.content_hash(self.managed_fields)
    }

    /// Returns the bytes that the decoder reads.
    pub(crate) fn needed(&self, raw: &Raw) -> Raw {
        match self.managed_fields {
            ManagedFields::Keep => raw.clone(),
            ManagedFields::Drop => raw.without_managed_fields(),
        }
    }

    /// Returns whether both are clones of the same decoder.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.decode, &other.decode)
    }
}

/// Turns a panic in the `Deserialize` implementation of a user into the error of one object.
fn catch_panic<T>(raw: &Raw, decode: impl FnOnce() -> Result<T, ItemError>) -> Result<T, ItemError> {
    catch_unwind(AssertUnwindSafe(decode)).unwrap_or_else(|_| Err(ItemError::panicked(raw)))
}

impl<K> RawObject<K> {
    /// Creates an object from bytes, which are decoded when the object is needed.
    #[must_use]
    pub fn encoded(raw: Raw, decoder: Decoder<K>) -> Self {
        Self(RawForm::Encoded { raw, decoder })
    }

    /// Returns the number of bytes on the wire; zero for objects that did not arrive as bytes.
    pub(crate) fn len(&self) -> usize {
        match &self.0 {
            RawForm::Decoded(_) => 0,
            RawForm::Encoded { raw, .. } => raw.bytes().len(),
        }
    }

    /// Returns the bytes and their decoder; `None` for objects that did not arrive as bytes.
    pub(crate) fn as_encoded(&self) -> Option<(&Raw, &Decoder<K>)> {
        match &self.0 {
            RawForm::Decoded(_) => None,
            RawForm::Encoded { raw, decoder } => Some((raw, decoder)),
        }
    }

    /// Returns the object if it did not arrive as bytes.
    pub(crate) fn as_decoded(&self) -> Option<&K> {
        match &self.0 {
            RawForm::Decoded(object) => Some(object),
            RawForm::Encoded { .. } => None,
        }
    }

    /// Returns a hash of the content; `None` for objects that did not arrive as bytes.
    pub(crate) fn content_hash(&self) -> Option<ContentHash> {
        self.as_encoded().map(|(raw, decoder)| decoder.content_hash(raw))
    }

    /// Decodes the object if it is not decoded yet.
    ///
    /// # Errors
    /// [`ItemError`] if it cannot be decoded.
    pub fn into_object(self) -> Result<K, ItemError> {
        match self.0 {
            RawForm::Decoded(object) => Ok(unshared(object)),
            RawForm::Encoded { raw, decoder } => decoder.decode(&raw),
        }
    }

    /// Decodes the object if it is not decoded yet, and returns it with its bytes. The `Arc` is not shared.
    pub(crate) fn into_parts(self) -> Result<RawObjectParts<K>, ItemError> {
        Ok(match self.0 {
            RawForm::Decoded(object) => RawObjectParts { object, bytes: None },
            RawForm::Encoded { raw, decoder } => {
                let object = Arc::new(decoder.decode(&raw)?);
                RawObjectParts { object, bytes: Some((raw, decoder)) }
            }
        })
    }
}

/// A decoded object, with the bytes from which it was decoded and their decoder.
pub(crate) struct RawObjectParts<K> {
    pub(crate) object: Arc<K>,
    /// `None` if the object did not arrive as bytes.
    pub(crate) bytes: Option<(Raw, Decoder<K>)>,
}

/// Moves an object out of an `Arc` that has one owner.
fn unshared<K>(object: Arc<K>) -> K {
    Arc::into_inner(object).expect("a raw object is not shared")
}

impl<K: Resource> RawObject<K> {
    /// Reads namespace, name, uid and version without decoding the object; `None` if the bytes do not show them.
    #[must_use]
    pub fn identity(&self) -> Option<Identity<'_>> {
        match &self.0 {
            RawForm::Decoded(object) => Some(Identity::of(&**object)),
            RawForm::Encoded { raw, .. } => raw.identity(),
        }
    }
}

impl<K> From<K> for RawObject<K> {
    fn from(object: K) -> Self {
        Self(RawForm::Decoded(Arc::new(object)))
    }
}

impl<K> Clone for Decoder<K> {
    fn clone(&self) -> Self {
        Self {
            decode: Arc::clone(&self.decode),
            validate: self.validate.clone(),
            managed_fields: self.managed_fields,
        }
    }
}

impl<K> fmt::Debug for Decoder<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder").field("managed_fields", &self.managed_fields).finish_non_exhaustive()
    }
}

/// Prints no objects, because they may contain secrets.
impl<K> fmt::Debug for RawObject<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.0 {
            RawForm::Decoded(_) => "RawObject::Decoded",
            RawForm::Encoded { .. } => "RawObject::Encoded",
        })
    }
}
