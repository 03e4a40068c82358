//! What a source hands over: an object, or its bytes with the way to decode them.

use super::kind::ItemError;
use kube_core::Resource;
use kube_informer_wire::{Identity, ManagedFields, Raw};
use std::{collections::BTreeMap, fmt, sync::Arc};

/// An object of a list or a watch.
///
/// A source that has objects gives them as they are (`Item::from`). One that has bytes gives those, and they are decoded
/// by whoever takes them in: an object that is known already, in the very same state, never is.
pub struct Item<K>(Form<K>);

/// Objects are large, and on their way pass through many hands: so they are put where a store keeps them, and stay there.
enum Form<K> {
    Object(Arc<K>),
    Wire(Wire<K>, Option<Arc<K>>),
    /// Bytes that are known to decode.
    Sound(Wire<K>),
}

/// What whoever takes an item in wants of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The object.
    Object,
    /// Its bytes, which are certain to decode.
    Bytes,
}

/// The bytes of an object, and the way to decode them.
pub(crate) struct Wire<K> {
    pub(crate) raw: Raw,
    pub(crate) decoder: Decoder<K>,
}

/// How a source decodes its objects.
///
/// It is made once for a source. What it makes of the same bytes must always be the same: a cache that keeps the bytes
/// ([`Keep`](crate::Keep)) decodes them at every read.
pub struct Decoder<K> {
    decode: Arc<Decode<K>>,
    probe: Option<Arc<Probe>>,
    looks_through: bool,
    managed_fields: ManagedFields,
}

type Decode<K> = dyn Fn(&Raw) -> Result<K, ItemError> + Send + Sync;

/// Says whether an object can be decoded, and shows its labels.
type Probe = dyn Fn(&Raw, &mut See<'_>) -> Result<(), ItemError> + Send + Sync;

/// The labels of an object, if it has some.
pub(crate) type Labels<'l> = Option<&'l BTreeMap<String, String>>;

/// Is shown the labels of an object.
pub(crate) type See<'s> = dyn FnMut(Labels<'_>) + 's;

impl<K> Decoder<K> {
    /// Decodes with this function.
    pub fn new(decode: impl Fn(&Raw) -> Result<K, ItemError> + Send + Sync + 'static) -> Self {
        Self {
            decode: Arc::new(decode),
            probe: None,
            looks_through: false,
            managed_fields: ManagedFields::Keep,
        }
    }

    /// Says what the function makes of managed fields, so that bytes nobody will look at are not kept.
    #[must_use]
    pub fn managed_fields(mut self, managed_fields: ManagedFields) -> Self {
        self.managed_fields = managed_fields;
        self
    }

    /// Finds out with this function whether an object can be decoded, where nobody looks at it yet. What it lets pass, the
    /// other must decode, into something with the labels that this one shows.
    pub(crate) fn probe(
        mut self,
        probe: impl Fn(&Raw, &mut See<'_>) -> Result<(), ItemError> + Send + Sync + 'static,
    ) -> Self {
        self.probe = Some(Arc::new(probe));
        self
    }

    /// Says that the probe takes much less time than decoding does.
    pub(crate) fn looks_through(mut self, looks_through: bool) -> Self {
        self.looks_through = looks_through;
        self
    }

    /// Shows the labels of an object, if that takes less than decoding it. Says whether it did.
    #[cfg(feature = "saved")]
    pub(crate) fn show_labels(&self, raw: &Raw, see: &mut See<'_>) -> bool {
        self.probe.as_ref().is_some_and(|probe| probe(raw, see).is_ok())
    }

    /// Decodes an object.
    ///
    /// # Errors
    /// [`ItemError`] says which object, and what is wrong with it.
    pub fn decode(&self, raw: &Raw) -> Result<K, ItemError> {
        (self.decode)(raw)
    }

    /// Those of the bytes that the function looks at.
    pub(crate) fn needed(&self, raw: &Raw) -> Raw {
        match self.managed_fields {
            ManagedFields::Keep => raw.clone(),
            ManagedFields::Drop => raw.without_managed_fields(),
        }
    }

    /// Whether both are one.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.decode, &other.decode)
    }
}

impl<K> Wire<K> {
    /// Finds out whether it can be decoded: by looking through it where nobody wants the object, and by decoding it otherwise.
    fn check(&self, wanted: Wanted) -> Result<Option<Arc<K>>, ItemError> {
        match &self.decoder.probe {
            Some(probe) if wanted == Wanted::Bytes && self.decoder.looks_through => {
                probe(&self.raw, &mut |_| {})?;
                Ok(None)
            }
            Some(_) | None => Ok(Some(Arc::new(self.decoder.decode(&self.raw)?))),
        }
    }

    fn found(self, object: Option<Arc<K>>) -> Form<K> {
        if object.is_some() { Form::Wire(self, object) } else { Form::Sound(self) }
    }
}

impl<K> Item<K> {
    /// An object that `decoder` decodes when it is needed.
    #[must_use]
    pub fn of_wire(raw: Raw, decoder: Decoder<K>) -> Self {
        Self(Form::Wire(Wire { raw, decoder }, None))
    }

    /// How many bytes it came in; none where it is an object.
    pub(crate) fn len(&self) -> usize {
        match &self.0 {
            Form::Object(_) => 0,
            Form::Wire(wire, _) | Form::Sound(wire) => wire.raw.bytes().len(),
        }
    }

    /// The object, if it is decoded.
    #[must_use]
    pub fn object(&self) -> Option<&K> {
        match &self.0 {
            Form::Object(object) => Some(object),
            Form::Wire(_, object) => object.as_deref(),
            Form::Sound(_) => None,
        }
    }

    /// The same item, decoded; its bytes stay beside it.
    ///
    /// # Errors
    /// [`ItemError`] if it cannot be.
    pub fn decoded(self) -> Result<Self, ItemError> {
        Ok(match self.0 {
            Form::Wire(wire, None) | Form::Sound(wire) => {
                let object = wire.decoder.decode(&wire.raw)?;
                Self(Form::Wire(wire, Some(Arc::new(object))))
            }
            form => Self(form),
        })
    }

    /// The same item once it is certain that it can be decoded.
    ///
    /// # Errors
    /// [`ItemError`] if it cannot be.
    pub(crate) fn checked(self, wanted: Wanted) -> Result<Self, ItemError> {
        Ok(match self.0 {
            Form::Wire(wire, None) => {
                let found = wire.check(wanted)?;
                Self(wire.found(found))
            }
            form => Self(form),
        })
    }

    /// The same item, checked if it can be.
    pub(crate) fn checked_or_not(self, wanted: Wanted) -> Self {
        Self(match self.0 {
            Form::Wire(wire, None) => match wire.check(wanted) {
                Ok(found) => wire.found(found),
                Err(_) => Form::Wire(wire, None),
            },
            form => form,
        })
    }

    /// Whether it is certain that it can be decoded, and it is not.
    pub(crate) fn is_sound(&self) -> bool {
        matches!(self.0, Form::Sound(_))
    }

    /// The object.
    ///
    /// # Errors
    /// [`ItemError`] if it cannot be decoded.
    pub fn into_object(self) -> Result<K, ItemError> {
        Ok(Self::alone(self.into_parts()?.0))
    }

    /// The bytes of an object that is not decoded, if they say which one it is and it is certain that they can be decoded
    /// without doing so. Its labels are shown.
    ///
    /// # Errors
    /// [`ItemError`] if it cannot be decoded.
    pub(crate) fn probed(
        &self,
        see: Option<&mut See<'_>>,
    ) -> Result<Option<(&Wire<K>, Identity<'_>)>, ItemError> {
        let (Form::Wire(wire, None) | Form::Sound(wire)) = &self.0 else { return Ok(None) };
        let (Some(probe), Some(identity)) = (&wire.decoder.probe, wire.raw.identity()) else {
            return Ok(None);
        };
        match see {
            None if self.is_sound() => {}
            None => probe(&wire.raw, &mut |_| {})?,
            Some(see) => probe(&wire.raw, see)?,
        }
        Ok(Some((wire, identity)))
    }

    /// The object out of the parts of an item, which nobody else has.
    pub(crate) fn alone(object: Arc<K>) -> K {
        Arc::into_inner(object).expect("an item is not shared")
    }

    /// The object, and its bytes where there are some. Nobody else has it.
    pub(crate) fn into_parts(self) -> Result<(Arc<K>, Option<Wire<K>>), ItemError> {
        Ok(match self.0 {
            Form::Object(object) => (object, None),
            Form::Wire(wire, Some(object)) => (object, Some(wire)),
            Form::Wire(wire, None) | Form::Sound(wire) => {
                (Arc::new(wire.decoder.decode(&wire.raw)?), Some(wire))
            }
        })
    }
}

impl<K: Resource> Item<K> {
    /// Which object it is, without decoding it; nothing if that cannot be told.
    #[must_use]
    pub fn identity(&self) -> Option<Identity<'_>> {
        match &self.0 {
            Form::Object(object) | Form::Wire(_, Some(object)) => Some(Identity::of(&**object)),
            Form::Wire(wire, None) | Form::Sound(wire) => wire.raw.identity(),
        }
    }
}

impl<K> From<K> for Item<K> {
    fn from(object: K) -> Self {
        Self(Form::Object(Arc::new(object)))
    }
}

impl<K> Clone for Decoder<K> {
    fn clone(&self) -> Self {
        Self {
            decode: Arc::clone(&self.decode),
            probe: self.probe.clone(),
            looks_through: self.looks_through,
            managed_fields: self.managed_fields,
        }
    }
}

impl<K> fmt::Debug for Decoder<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder").field("managed_fields", &self.managed_fields).finish_non_exhaustive()
    }
}

/// Says what there is of it, not what is in it: objects may hold secrets.
impl<K> fmt::Debug for Item<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.0 {
            Form::Object(_) => "Item(object)",
            Form::Wire(_, None) | Form::Sound(_) => "Item(bytes)",
            Form::Wire(_, Some(_)) => "Item(bytes and object)",
        })
    }
}
