//! Turns raw objects into objects of the cache, and decides which objects are decoded.

mod known_objects;
mod rejected;
mod parallel;

#[cfg(test)]
mod tests;

pub(crate) use known_objects::KnownObjects;
pub(crate) use parallel::{IngestedItem, IngestedObject, ParallelIngest, event_len, ingest_events};
pub use rejected::RejectedError;

use crate::{
    boxed::BoxError,
    object::{
        Decoder, IndexInput, IndexValues, ListedObject, Listing, Object, RawObject, RawObjectParts, Storage,
        ValidationCost,
        encoded::{EncodeInput, EncodedObject, Encoder},
    },
};
use kube_core::Resource;
use kube_informer_wire::{ContentHash, Format, Identity, Key, ManagedFields, Raw};
use serde::Serialize;
use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

/// Decodes, transforms and encodes the objects of one cache.
///
/// Clones share the dictionary of compressed objects. A [`Sink`](crate::reflector::Sink) returns one to
/// configure the storage of its objects.
pub struct Ingest<K> {
    known: Option<Arc<dyn KnownObjects<K>>>,
    transform: Option<Transform<K>>,
    /// `None` if objects are stored decoded, without their bytes.
    encoder: Option<Encoder<K>>,
    storage: Storage,
    managed_fields: ManagedFields,
}

/// A function that changes objects, and how the result is encoded.
struct Transform<K> {
    run: Arc<TransformFn<K>>,
    encode: fn(&K) -> Result<Vec<u8>, serde_json::Error>,
}

type TransformFn<K> = dyn Fn(K) -> Result<K, BoxError> + Send + Sync;

/// How an object arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arrival {
    /// In a list. Most objects of a list are not read soon.
    Listed,
    /// In a watch event. Subscribers are about to read the object.
    Watched,
}

/// The way in which a raw object is processed before it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plan {
    /// Decode it.
    Decode,
    /// Check that it can be decoded, and store its bytes.
    Validate,
}

/// An object that is accepted, and not encoded yet.
enum Accepted<K> {
    /// With the hash of the bytes from which it was decoded.
    Decoded(Arc<K>, Option<ContentHash>),
    ToEncode(EncodeInput<K>, Extra<K>),
}

/// The values that are passed on with the bytes of an object.
struct Extra<K> {
    decoded: Option<Arc<K>>,
    index_values: Option<Box<IndexValues>>,
}

impl<K> Ingest<K> {
    /// Creates a stage that decodes objects and stores them decoded.
    #[must_use]
    pub fn new() -> Self {
        Self {
            known: None,
            transform: None,
            encoder: None,
            storage: Storage::Decoded,
            managed_fields: ManagedFields::Keep,
        }
    }

    /// Adds a function that changes every object before it is stored. Several functions run in the order in which they were added. If
    /// objects are stored encoded, the result is encoded as JSON and decoded again.
    ///
    /// An object for which it fails or panics is skipped and reported. The cache keeps its previous state, and a deletion is
    /// delivered without the final state. Such an object is identified by the key with which it arrived, so a transform that
    /// changes names must not fail.
    #[must_use]
    pub fn transform(mut self, next: impl Fn(K) -> Result<K, BoxError> + Send + Sync + 'static) -> Self
    where
        K: Serialize + 'static,
    {
        let run: Arc<TransformFn<K>> = match self.transform.take() {
            None => Arc::new(next),
            Some(first) => Arc::new(move |object| next((first.run)(object)?)),
        };
        self.transform = Some(Transform { run, encode: |object| serde_json::to_vec(object) });
        self
    }

    /// Returns the storage.
    pub(crate) fn storage_format(&self) -> Storage {
        self.storage
    }

    /// Sets the form in which objects are stored. The default is [`Storage::Decoded`].
    #[must_use]
    pub fn storage(mut self, storage: Storage) -> Self {
        self.storage = storage;
        self.encoder = Encoder::for_storage(storage);
        self
    }

    /// Sets whether managed fields are removed from objects that did not arrive as bytes. For bytes, the decoder removes them.
    #[must_use]
    pub(crate) fn managed_fields(mut self, managed_fields: ManagedFields) -> Self {
        self.managed_fields = managed_fields;
        self
    }

    /// Reuses the objects of this cache where a list shows the same version, instead of decoding them again.
    #[must_use]
    pub(crate) fn known_objects(mut self, known: Arc<dyn KnownObjects<K>>) -> Self {
        self.known = Some(known);
        self
    }

    /// Keeps the bytes of objects in the form of this encoder, to save them.
    pub(crate) fn keep_bytes(&mut self, encoder: impl FnOnce(Storage) -> Encoder<K>) {
        self.encoder = Some(encoder(self.storage));
    }

    /// Whether a transform was added.
    pub(crate) fn has_transform(&self) -> bool {
        self.transform.is_some()
    }

    /// Returns the encoder of stored objects; `None` if bytes are not kept.
    pub(crate) fn encoder(&self) -> Option<&Encoder<K>> {
        self.encoder.as_ref()
    }
}

impl<K: Resource> Ingest<K> {
    /// Ingests the object of a watch event.
    ///
    /// # Errors
    /// [`RejectedError`] if the object is skipped.
    pub fn watched(&self, object: RawObject<K>) -> Result<(Key, Object<K>), RejectedError> {
        let (key, accepted) = self.accept(object, Arrival::Watched)?;
        Ok(match accepted {
            Accepted::Decoded(object, content) => (key, Object::decoded_from(object, content)),
            Accepted::ToEncode(input, extra) => {
                let encoded = self.encode(&[&input]).pop().expect("one object is encoded to one");
                (key, Object::encoded(encoded, extra.decoded, extra.index_values))
            }
        })
    }

    /// Ingests objects that follow each other in a list; returns one result for each, in order. An object that the cache has in
    /// the same version, with the same content, is not decoded.
    #[must_use]
    pub fn listed(&self, objects: Vec<RawObject<K>>) -> Vec<Result<(Key, ListedObject<K>), RejectedError>> {
        enum Found<K> {
            Known(ListedObject<K>),
            New(Accepted<K>),
        }
        let find = |object: RawObject<K>| {
            let known = self.known.as_ref().zip(object.identity());
            match known.and_then(|(known, identity)| known.find_same(&identity, &|| object.content_hash())) {
                Some((key, known)) => Ok((key, Found::Known(known))),
                None => {
                    let (key, accepted) = self.accept(object, Arrival::Listed)?;
                    Ok((key, Found::New(accepted)))
                }
            }
        };
        let found: Vec<Result<_, RejectedError>> = objects.into_iter().map(find).collect();
        // Neighbors in a list are similar, so they are encoded together.
        let inputs = found.iter().flatten().filter_map(|(_, found)| match found {
            Found::New(Accepted::ToEncode(input, _)) => Some(input),
            Found::New(Accepted::Decoded(..)) | Found::Known(_) => None,
        });
        let mut encoded = self.encode(&inputs.collect::<Vec<_>>()).into_iter();
        let mut finish = |(key, found): (Key, Found<K>)| {
            let listed = match found {
                Found::Known(known) => known,
                Found::New(Accepted::Decoded(object, content)) => {
                    Object::decoded_from(object, content).into()
                }
                Found::New(Accepted::ToEncode(_, extra)) => {
                    let encoded = encoded.next().expect("every input is encoded");
                    Object::encoded(encoded, extra.decoded, extra.index_values).into()
                }
            };
            (key, listed)
        };
        found.into_iter().map(|found| found.map(&mut finish)).collect()
    }

    /// Encodes the objects of a complete list again, if they can be made smaller by now.
    pub(crate) fn list_completed(&self, listing: &mut Listing<K>) {
        let Some(encoder) = self.encoder.as_ref().filter(|encoder| encoder.list_completed()) else { return };
        let objects = listing.objects.iter_mut().map(|(_, object)| object);
        let objects: Vec<_> = objects.filter(|object| object.shrinkable().is_some()).collect();
        let large: Vec<_> = objects.iter().filter_map(|object| object.shrinkable().cloned()).collect();
        for (object, smaller) in objects.into_iter().zip(encoder.reencode(&large)) {
            object.set_encoded(smaller);
        }
    }

    /// Decides whether an object is decoded. There is no other place for this.
    fn plan(&self, object: &RawObject<K>, arrival: Arrival) -> Plan {
        let Some(encoder) = &self.encoder else { return Plan::Decode };
        let needs_object = encoder.keeps_decoded()
            || self.transform.is_some()
            || self.known.as_ref().is_some_and(|known| known.has_index_functions());
        let Some((raw, decoder)) = object.as_encoded() else { return Plan::Decode };
        if needs_object || raw.identity().is_none() {
            return Plan::Decode;
        }
        match (arrival, decoder.validation_cost()) {
            (Arrival::Listed, Some(_)) | (Arrival::Watched, Some(ValidationCost::Scan)) => Plan::Validate,
            (Arrival::Listed, None) | (Arrival::Watched, Some(ValidationCost::Full) | None) => Plan::Decode,
        }
    }

    fn accept(&self, object: RawObject<K>, arrival: Arrival) -> Result<(Key, Accepted<K>), RejectedError> {
        if self.plan(&object, arrival) == Plan::Validate
            && let Some((raw, decoder)) = object.as_encoded()
            && let Some(accepted) = self.validate(raw, decoder)?
        {
            return Ok(accepted);
        }
        self.decode(object, arrival)
    }

    /// Validates the bytes of an object. `None` if they are too long to be encoded.
    fn validate(&self, raw: &Raw, decoder: &Decoder<K>) -> Result<Option<(Key, Accepted<K>)>, RejectedError> {
        let known = self.known.as_ref().filter(|known| known.caches_labels() || known.has_index_paths());
        let mut label_value = None;
        decoder
            .validate(raw, &mut |labels| label_value = known.and_then(|known| known.label_value(labels)))
            .map_err(|cause| RejectedError::Undecodable { cause })?;
        let Some(identity) = raw.identity() else { return Ok(None) };
        let key = identity.key().map_err(|cause| RejectedError::NoKey { cause })?;
        let Some(input) = EncodeInput::new(raw, decoder, &identity) else { return Ok(None) };
        let index_values = known.map(|known| {
            let mut values = known.index_values(&key, &IndexInput { object: None, raw: Some(input.raw()) });
            values.values.extend(label_value);
            Box::new(values)
        });
        Ok(Some((key, Accepted::ToEncode(input, Extra { decoded: None, index_values }))))
    }

    /// Decodes and transforms an object.
    fn decode(&self, object: RawObject<K>, arrival: Arrival) -> Result<(Key, Accepted<K>), RejectedError> {
        let RawObjectParts { mut object, bytes } =
            object.into_parts().map_err(|cause| RejectedError::Undecodable { cause })?;
        if self.managed_fields == ManagedFields::Drop
            && bytes.is_none()
            && let Some(object) = Arc::get_mut(&mut object)
        {
            object.meta_mut().managed_fields = None;
        }
        // Only a cache compares contents.
        let content = bytes.as_ref().filter(|_| self.known.is_some());
        let content = content.map(|(raw, decoder)| decoder.content_hash(raw));
        let mut bytes = bytes.filter(|_| self.encoder.is_some());
        if let Some(transform) = &self.transform {
            let key = Key::of(&*object).map_err(|cause| RejectedError::NoKey { cause })?;
            let transformed = transform.run(object);
            object = transformed.map_err(|cause| RejectedError::Transform { key: key.clone(), cause })?;
            if let Some((raw, decoder)) = &mut bytes {
                // Decoded again, because reads cannot fail and must return what subscribers receive: a type may serialize to
                // something that it does not deserialize.
                let encoded = (transform.encode)(&object).map_err(BoxError::from).and_then(|json| {
                    *raw = Raw::new(Format::Json, json.into());
                    Ok(Arc::new(decoder.decode(raw)?))
                });
                object = encoded.map_err(|cause| RejectedError::Transform { key, cause })?;
            }
        }
        let key = Key::of(&*object).map_err(|cause| RejectedError::NoKey { cause })?;
        let input =
            bytes.and_then(|(raw, decoder)| EncodeInput::new(&raw, &decoder, &Identity::of(&*object)));
        Ok(match input {
            None => (key, Accepted::Decoded(object, content)),
            Some(input) => {
                let input = input.with_content(content);
                let extra = self.extra(&key, object, &input, arrival);
                (key, Accepted::ToEncode(input, extra))
            }
        })
    }

    /// Returns the values that are passed on with the bytes of a decoded object.
    fn extra(&self, key: &Key, object: Arc<K>, input: &EncodeInput<K>, arrival: Arrival) -> Extra<K> {
        let keeps_decoded = self.encoder.as_ref().is_some_and(Encoder::keeps_decoded);
        let known = self.known.as_ref().filter(|_| !keeps_decoded);
        let has_paths = known.is_some_and(|known| known.has_index_paths());
        // The values of index functions and the labels of a watched object, which stays decoded, are computed when it is
        // stored. Its bytes would have to be decompressed then.
        let is_needed = |known: &&Arc<dyn KnownObjects<K>>| match arrival {
            Arrival::Listed => has_paths || known.caches_labels() || known.has_index_functions(),
            Arrival::Watched => has_paths,
        };
        let index_values = known.filter(is_needed).map(|known| {
            let raw = has_paths.then(|| input.raw());
            Box::new(known.index_values(key, &IndexInput { object: Some(&object), raw }))
        });
        let decoded = (arrival == Arrival::Watched || keeps_decoded).then_some(object);
        Extra { decoded, index_values }
    }

    fn encode(&self, inputs: &[&EncodeInput<K>]) -> Vec<EncodedObject<K>> {
        self.encoder.as_ref().map(|encoder| encoder.encode(inputs)).unwrap_or_default()
    }
}

impl<K> Transform<K> {
    /// Runs the transform. A panic becomes an error: one object must not stop the reflector.
    fn run(&self, object: Arc<K>) -> Result<Arc<K>, BoxError> {
        let object = Arc::into_inner(object).expect("a raw object is not shared");
        match catch_unwind(AssertUnwindSafe(|| (self.run)(object))) {
            Ok(result) => result.map(Arc::new),
            Err(_) => Err("transform panicked".into()),
        }
    }
}

impl<K> Clone for Transform<K> {
    fn clone(&self) -> Self {
        Self { run: Arc::clone(&self.run), encode: self.encode }
    }
}

impl<K> Clone for Ingest<K> {
    fn clone(&self) -> Self {
        Self {
            known: self.known.clone(),
            transform: self.transform.clone(),
            encoder: self.encoder.clone(),
            storage: self.storage,
            managed_fields: self.managed_fields,
        }
    }
}

impl<K> Default for Ingest<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K> fmt::Debug for Ingest<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ingest")
            .field("transforms", &self.transform.is_some())
            .field("encodes", &self.encoder.is_some())
            .finish_non_exhaustive()
    }
}
