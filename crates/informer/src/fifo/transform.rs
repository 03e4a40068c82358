//! What is done to every object once, before anyone sees it.

#[cfg(feature = "compact")]
use crate::compact::Packer;
#[cfg(feature = "saved")]
use crate::{compact::Unpacker, list_watch::Decoder};
use crate::{
    list_watch::{BoxError, Item, ItemError},
    listing::Listing,
    object::{Keep, Object},
    reflector::{Collected, LeftOut},
};
use kube_core::Resource;
use kube_informer_wire::{Identity, Key, KeyError};
use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// An object that was not let into the queue, and why.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Rejected {
    /// The transform failed.
    #[error("transform of {key} failed")]
    Transform {
        /// The object, by its key before the transform.
        key: Key,
        /// What the transform said.
        #[source]
        cause: BoxError,
    },
    /// It cannot be decoded.
    #[error("object cannot be decoded")]
    Undecodable {
        /// What is wrong with it.
        #[source]
        cause: ItemError,
    },
    /// The object has no key, before or after the transform.
    #[error("object has no key")]
    Keyless {
        /// What is wrong with it.
        #[source]
        cause: KeyError,
    },
}

/// Decodes, runs the transform, works out the key, packs, and reports what fails.
pub(super) struct Gate<K> {
    reuse: Option<Reuse<K>>,
    transform: Option<Transform<K>>,
    #[cfg(feature = "compact")]
    packer: Option<Packer<K>>,
    report: Arc<dyn Fn(Rejected) + Send + Sync>,
    rejected: AtomicU64,
}

/// Finds the known state of an object that is the very state given.
type Reuse<K> = Arc<dyn Fn(&Identity<'_>) -> Option<(Key, Object<K>)> + Send + Sync>;

/// Whether an object is about to be looked at, which matters where it is not kept decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// It is news, and followers will look: it stays decoded until they have.
    Soon,
    /// It is one of many, and may never be.
    Later,
}

type Transform<K> = Arc<dyn Fn(K) -> Result<K, BoxError> + Send + Sync>;

impl<K: Resource> Gate<K> {
    /// Lets an object in. What cannot be decoded is not reported here.
    pub(super) fn admit(&self, item: Item<K>, look: Look) -> Collected<K> {
        #[cfg(feature = "compact")]
        if look == Look::Later
            && let Some(packed) = self.pack_unseen(&item)?
        {
            return Ok(packed);
        }
        let (object, wire) = item.into_parts().map_err(LeftOut::Undecodable)?;
        let outcome = match &self.transform {
            None => Ok(object),
            Some(transform) => {
                let key =
                    Key::of(&*object).map_err(|cause| self.reject(None, Rejected::Keyless { cause }))?;
                run(transform, *object).map(Box::new).map_err(|cause| (key, cause))
            }
        };
        let object = outcome
            .map_err(|(key, cause)| self.reject(Some(key.clone()), Rejected::Transform { key, cause }))?;
        let key = Key::of(&*object).map_err(|cause| self.reject(None, Rejected::Keyless { cause }))?;
        let object = Arc::<K>::from(object);
        #[cfg(feature = "compact")]
        if let (Some(packer), Some(wire)) = (&self.packer, &wire)
            && let Some(packed) = packer.pack(wire, &Identity::of(&*object), self.transform.as_ref())
        {
            let decoded = (look == Look::Soon || packer.stays_decoded()).then_some(object);
            return Ok((key.clone(), Object::packed(key, packed, decoded)));
        }
        #[cfg(not(feature = "compact"))]
        let _ = (wire, look);
        Ok((key, object.into()))
    }

    /// Packs an object that nobody looks at yet, once it is certain that it can be decoded. Nothing where that, or a transform,
    /// takes the object itself.
    #[cfg(feature = "compact")]
    fn pack_unseen(&self, item: &Item<K>) -> Result<Option<(Key, Object<K>)>, LeftOut> {
        let (Some(packer), None) = (&self.packer, &self.transform) else { return Ok(None) };
        if packer.stays_decoded() {
            return Ok(None);
        }
        let Some((wire, identity)) = item.probed().map_err(LeftOut::Undecodable)? else { return Ok(None) };
        let key = identity.key().map_err(|cause| self.reject(None, Rejected::Keyless { cause }))?;
        let packed = packer.pack(wire, &identity, None);
        Ok(packed.map(|packed| (key.clone(), Object::packed(key, packed, None))))
    }

    /// Lets an object of a list in, as the known one where that is the same, and then without decoding it.
    pub(super) fn admit_listed(&self, item: Item<K>) -> Collected<K> {
        if let Some(reuse) = &self.reuse
            && let Some(identity) = item.identity()
            && let Some(known) = reuse(&identity)
        {
            return Ok(known);
        }
        self.admit(item, Look::Later)
    }

    /// Makes the best of a list that is complete.
    pub(super) fn settle(&self, listing: &mut Listing<K>) {
        #[cfg(feature = "compact")]
        if let Some(packer) = &self.packer
            && packer.list_ended()
        {
            for (_, object) in &mut listing.objects {
                object.repack(|packed| packer.repack(packed));
            }
        }
        #[cfg(not(feature = "compact"))]
        let _ = listing;
    }

    /// Reports what was not let in, and tells its key, if it has one.
    pub(super) fn report(&self, left_out: LeftOut) -> Option<Key> {
        match left_out {
            LeftOut::Rejected(key) => key,
            LeftOut::Undecodable(cause) => {
                let key = cause.key().cloned();
                self.reject(None, Rejected::Undecodable { cause });
                key
            }
        }
    }

    fn reject(&self, key: Option<Key>, rejected: Rejected) -> LeftOut {
        self.rejected.fetch_add(1, Ordering::Relaxed);
        (self.report)(rejected);
        LeftOut::Rejected(key)
    }
}

/// Calls the transform, and makes an error of a panic: one bad object must not stop the source.
fn run<K>(transform: &Transform<K>, object: K) -> Result<K, BoxError> {
    match catch_unwind(AssertUnwindSafe(|| transform(object))) {
        Ok(outcome) => outcome,
        Err(_) => Err("transform panicked".into()),
    }
}

impl<K> Gate<K> {
    pub(super) fn rejected(&self) -> u64 {
        self.rejected.load(Ordering::Relaxed)
    }

    /// Adds a transform behind those there are.
    pub(super) fn then(&mut self, next: impl Fn(K) -> Result<K, BoxError> + Send + Sync + 'static)
    where
        K: 'static,
    {
        self.transform = Some(match self.transform.take() {
            None => Arc::new(next),
            Some(first) => Arc::new(move |object| next(first(object)?)),
        });
    }

    pub(super) fn reuse<F>(&mut self, known: F)
    where
        F: Fn(&Identity<'_>) -> Option<(Key, Object<K>)> + Send + Sync + 'static,
    {
        self.reuse = Some(Arc::new(known));
    }

    pub(super) fn keep(&mut self, keep: Keep) {
        match keep {
            #[cfg(feature = "compact")]
            Keep::Whole => self.packer = None,
            #[cfg(feature = "compact")]
            Keep::Compact => self.packer = Some(Packer::new()),
            #[cfg(not(feature = "compact"))]
            Keep::Whole => {}
        }
    }

    /// Keeps the bytes of objects too, to be saved.
    #[cfg(feature = "saved")]
    pub(super) fn keep_bytes(&mut self) {
        self.packer.get_or_insert_with(Packer::beside);
    }

    /// Whether objects are changed on their way.
    #[cfg(feature = "saved")]
    pub(super) fn has_transform(&self) -> bool {
        self.transform.is_some()
    }

    /// What takes in objects that were let in, and packed, in an earlier life. Nothing where bytes are not kept.
    #[cfg(feature = "saved")]
    pub(super) fn unpacker(&self, decoder: Decoder<K>) -> Option<Unpacker<K>> {
        Some(Unpacker::new(self.packer.clone()?, decoder, self.transform.clone()))
    }

    pub(super) fn report_to(&mut self, report: impl Fn(Rejected) + Send + Sync + 'static) {
        self.report = Arc::new(report);
    }
}

impl<K> Default for Gate<K> {
    fn default() -> Self {
        let report = Arc::new(|rejected: Rejected| {
            let cause = std::error::Error::source(&rejected).map(ToString::to_string);
            tracing::warn!(%rejected, cause, "object left out");
        });
        Self {
            reuse: None,
            transform: None,
            #[cfg(feature = "compact")]
            packer: None,
            report,
            rejected: AtomicU64::new(0),
        }
    }
}

/// Does the same with what has been learned, and has left nothing out yet.
impl<K> Clone for Gate<K> {
    fn clone(&self) -> Self {
        Self {
            reuse: self.reuse.clone(),
            transform: self.transform.clone(),
            #[cfg(feature = "compact")]
            packer: self.packer.clone(),
            report: Arc::clone(&self.report),
            rejected: AtomicU64::new(0),
        }
    }
}

impl<K> fmt::Debug for Gate<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("rejected", &self.rejected).finish_non_exhaustive()
    }
}
