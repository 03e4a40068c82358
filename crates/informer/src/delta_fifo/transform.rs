//! What is done to every object once, before anyone sees it.

use super::rejected::Rejected;
#[cfg(feature = "saved")]
use crate::{object::encoded::Restorer, source::Decoder};
use crate::{
    object::listing::{Listing, Shown},
    object::{
        Keep, Object,
        encoded::{EncodeInput, EncodedObject, Encoder},
    },
    reflector::{Collected, LeftOut},
    source::{BoxError, Item, Wanted},
};
use crate::{
    source::{Labels, See},
    tags::{Tagger, Tags},
};
use kube_core::Resource;
use kube_informer_wire::{Identity, Key};
use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// Decodes, runs the transform, works out the key, packs, and reports what fails.
pub(super) struct Gate<K> {
    reuse: Option<Reuse<K>>,
    transform: Option<Transform<K>>,
    packer: Option<Encoder<K>>,
    tagger: Option<Arc<Tagger<K>>>,
    report: Arc<dyn Fn(Rejected) + Send + Sync>,
    rejected: AtomicU64,
}

/// Finds the known state of an object that is the very state given.
type Reuse<K> = Arc<dyn Fn(&Identity<'_>) -> Option<(Key, Shown<K>)> + Send + Sync>;

/// Whether an object is about to be looked at, which matters where it is not kept decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// It is news, and followers will look: it stays decoded until they have.
    Soon,
    /// It is one of many, and may never be.
    Later,
}

/// An object that is let in, and not packed yet.
enum Prepared<K> {
    /// It stays as it is.
    As(Object<K>),
    /// It is to be packed.
    Loose(EncodeInput<K>, Extras<K>),
}

/// What there is beside an object that is packed.
enum Extras<K> {
    None,
    /// The object: somebody is about to look at it.
    Decoded(Arc<K>),
    /// The index values under which it stands, and its labels where they are kept.
    Tags(Box<Tags>),
}

/// An object of a list.
enum Found<K> {
    /// It is known, in this very state.
    Known(Shown<K>),
    New(Prepared<K>),
}

impl<K> Found<K> {
    fn loose(&self) -> Option<&EncodeInput<K>> {
        match self {
            Self::Known(_) | Self::New(Prepared::As(_)) => None,
            Self::New(Prepared::Loose(loose, _)) => Some(loose),
        }
    }
}

type Transform<K> = Arc<dyn Fn(K) -> Result<K, BoxError> + Send + Sync>;

impl<K: Resource> Gate<K> {
    /// Lets an object in. What cannot be decoded is not reported here.
    pub(super) fn admit(&self, item: Item<K>, look: Look) -> Result<(Key, Object<K>), LeftOut> {
        let (key, prepared) = self.prepare(item, look)?;
        let object = match prepared {
            Prepared::As(object) => object,
            Prepared::Loose(loose, extras) => packed(&key, self.pack_all(&[&loose]).pop(), extras),
        };
        Ok((key, object))
    }

    /// Lets objects of a list in, in order: as the known one where that is the same, and then without decoding it.
    pub(super) fn admit_listed(&self, items: Vec<Item<K>>) -> Vec<Collected<K>> {
        let prepare = |item: Item<K>| {
            let known =
                item.identity().zip(self.reuse.as_ref()).and_then(|(identity, reuse)| reuse(&identity));
            match known {
                Some((key, shown)) => Ok((key, Found::Known(shown))),
                None => self.prepare(item, Look::Later).map(|(key, prepared)| (key, Found::New(prepared))),
            }
        };
        self.finish(items.into_iter().map(prepare).collect())
    }

    /// Decodes, transforms, and works out the key. What is left to do is to pack it.
    fn prepare(&self, item: Item<K>, look: Look) -> Result<(Key, Prepared<K>), LeftOut> {
        if (look == Look::Later || item.is_sound())
            && let Some(unseen) = self.prepare_unseen(&item)?
        {
            return Ok(unseen);
        }
        let (object, wire) = item.into_parts().map_err(LeftOut::Undecodable)?;
        let outcome = match &self.transform {
            None => Ok(object),
            Some(transform) => {
                let key =
                    Key::of(&*object).map_err(|cause| self.reject(None, Rejected::Keyless { cause }))?;
                run(transform, Item::alone(object)).map(Arc::new).map_err(|cause| (key, cause))
            }
        };
        let object = outcome
            .map_err(|(key, cause)| self.reject(Some(key.clone()), Rejected::Transform { key, cause }))?;
        let key = Key::of(&*object).map_err(|cause| self.reject(None, Rejected::Keyless { cause }))?;
        if let (Some(packer), Some(wire)) = (&self.packer, &wire)
            && self.transform.is_none()
            && let Some(loose) = EncodeInput::new(&wire.raw, &wire.decoder, &Identity::of(&*object))
        {
            let extras = match &self.tagger {
                _ if look == Look::Soon || packer.keeps_decoded() => Extras::Decoded(object),
                Some(tagger) if tagger.labels.is_some() || (tagger.looks)() => {
                    Extras::Tags(Box::new((tagger.tags)(&key, &object)))
                }
                Some(_) | None => Extras::None,
            };
            return Ok((key, Prepared::Loose(loose, extras)));
        }
        Ok((key, Prepared::As(object.into())))
    }

    /// Prepares an object that nobody looks at yet, once it is certain that it can be decoded. Nothing where that, a
    /// transform or an index takes the object itself.
    fn prepare_unseen(&self, item: &Item<K>) -> Result<Option<(Key, Prepared<K>)>, LeftOut> {
        let (Some(packer), None, false) = (&self.packer, &self.transform, self.is_looked_at()) else {
            return Ok(None);
        };
        if packer.keeps_decoded() {
            return Ok(None);
        }
        let (labels, mut extras) =
            (self.tagger.as_ref().and_then(|tagger| tagger.labels.as_ref()), Extras::None);
        let mut see = |seen: Labels<'_>| {
            extras = labels.map_or(Extras::None, |tags| Extras::Tags(Box::new(tags(seen))));
        };
        let probed = item.probed(labels.map(|_| &mut see as &mut See<'_>)).map_err(LeftOut::Undecodable)?;
        let Some((wire, identity)) = probed else { return Ok(None) };
        let key = identity.key().map_err(|cause| self.reject(None, Rejected::Keyless { cause }))?;
        Ok(EncodeInput::new(&wire.raw, &wire.decoder, &identity)
            .map(|loose| (key, Prepared::Loose(loose, extras))))
    }

    /// Packs together what is to be packed, and leaves everything in its place.
    fn finish(&self, found: Vec<Result<(Key, Found<K>), LeftOut>>) -> Vec<Collected<K>> {
        let loose = found.iter().flatten().filter_map(|(_, found)| found.loose()).collect::<Vec<_>>();
        let mut all = self.pack_all(&loose).into_iter();
        let mut finish = |(key, found): (Key, Found<K>)| {
            let shown = match found {
                Found::Known(shown) => shown,
                Found::New(Prepared::As(object)) => object.into(),
                Found::New(Prepared::Loose(_, extras)) => packed(&key, all.next(), extras).into(),
            };
            (key, shown)
        };
        found.into_iter().map(|found| found.map(&mut finish)).collect()
    }

    /// What is wanted of the objects of events: bytes, where they are packed and nothing takes the object itself.
    pub(super) fn wants(&self) -> Wanted {
        if let (Some(packer), None, false) = (&self.packer, &self.transform, self.is_looked_at())
            && !packer.keeps_decoded()
        {
            return Wanted::Bytes;
        }
        Wanted::Object
    }

    /// Whether there are indexes that look at objects.
    fn is_looked_at(&self) -> bool {
        self.tagger.as_ref().is_some_and(|tagger| (tagger.looks)())
    }

    fn pack_all(&self, loose: &[&EncodeInput<K>]) -> Vec<EncodedObject<K>> {
        self.packer.as_ref().map(|packer| packer.encode(loose)).unwrap_or_default()
    }

    /// Makes the best of a list that is complete.
    pub(super) fn settle(&self, listing: &mut Listing<K>) {
        if let Some(packer) = &self.packer
            && packer.list_completed()
        {
            let objects = listing.objects.iter_mut().map(|(_, object)| object);
            let objects: Vec<_> = objects.filter(|object| object.loose().is_some()).collect();
            let loose: Vec<_> = objects.iter().filter_map(|object| object.loose().cloned()).collect();
            for (object, packed) in objects.into_iter().zip(packer.reencode(&loose)) {
                object.pack_as(packed);
            }
        }
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

/// An object that was packed.
fn packed<K>(key: &Key, packed: Option<EncodedObject<K>>, extras: Extras<K>) -> Object<K> {
    let (decoded, tags) = match extras {
        Extras::None => (None, None),
        Extras::Decoded(object) => (Some(object), None),
        Extras::Tags(tags) => (None, Some(tags)),
    };
    Object::packed(key.clone(), packed.expect("what is to be packed is"), decoded, tags)
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
        F: Fn(&Identity<'_>) -> Option<(Key, Shown<K>)> + Send + Sync + 'static,
    {
        self.reuse = Some(Arc::new(known));
    }

    /// Finds with this the index values of objects that are not kept decoded.
    pub(super) fn tag_with(&mut self, tagger: Tagger<K>) {
        self.tagger = Some(Arc::new(tagger));
    }

    pub(super) fn keep(&mut self, keep: Keep) {
        match keep {
            Keep::Whole => self.packer = None,
            Keep::Encoded => self.packer = Some(Encoder::uncompressed()),
            #[cfg(feature = "compressed")]
            Keep::Compact => self.packer = Some(Encoder::compressed()),
        }
    }

    /// Keeps the bytes of objects too, to be saved.
    #[cfg(feature = "saved")]
    pub(super) fn keep_bytes(&mut self) {
        use crate::object::Storage;
        self.packer = Some(Encoder::for_saving(match self.packer {
            Some(_) => Storage::Compressed,
            None => Storage::Decoded,
        }));
    }

    /// Whether objects are changed on their way.
    #[cfg(feature = "saved")]
    pub(super) fn has_transform(&self) -> bool {
        self.transform.is_some()
    }

    /// What takes in objects that were let in, and packed, in an earlier life. Nothing where bytes are not kept.
    #[cfg(feature = "saved")]
    pub(super) fn restorer(&self, decoder: Decoder<K>) -> Option<Restorer<K>> {
        Some(Restorer::new(self.packer.clone()?, decoder))
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
        Self { reuse: None, transform: None, packer: None, tagger: None, report, rejected: AtomicU64::new(0) }
    }
}

/// Does the same with what has been learned, and has left nothing out yet.
impl<K> Clone for Gate<K> {
    fn clone(&self) -> Self {
        Self {
            reuse: self.reuse.clone(),
            transform: self.transform.clone(),
            packer: self.packer.clone(),
            tagger: self.tagger.clone(),
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
