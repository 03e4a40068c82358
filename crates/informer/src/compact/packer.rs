//! Packs the objects of one cache.

#[cfg(feature = "saved")]
use super::dictionary::Book;
use super::{
    codec::Codec,
    dictionary::Dictionary,
    hot::Hot,
    packed::{HotObjects, Method, Packed, Transform},
    stamp::Stamp,
};
use crate::list_watch::{Decoder, Wire};
use kube_informer_wire::{Format, Identity};
use std::sync::{Arc, Mutex, PoisonError};

/// Packs objects. Clones share what they learn of them.
pub(crate) struct Packer<K> {
    shared: Arc<Shared<K>>,
}

struct Shared<K> {
    codec: Codec,
    hot: Arc<HotObjects<K>>,
    stays_decoded: bool,
    /// The few ways that are in use: one for each source and format, with the dictionary of the day.
    methods: Mutex<Vec<Arc<Method<K>>>>,
}

impl<K> Packer<K> {
    pub(crate) fn new() -> Self {
        Self::with(false)
    }

    /// Packs objects that stay decoded all the same, so that their bytes are at hand to be saved.
    #[cfg(feature = "saved")]
    pub(crate) fn beside() -> Self {
        Self::with(true)
    }

    fn with(stays_decoded: bool) -> Self {
        let (codec, hot) = (Codec::new(), Arc::new(Hot::new()));
        Self { shared: Arc::new(Shared { codec, hot, stays_decoded, methods: Mutex::default() }) }
    }

    /// Whether what is packed here stays decoded all the same.
    pub(crate) fn stays_decoded(&self) -> bool {
        self.shared.stays_decoded
    }

    /// Packs what was decoded of these bytes into something of this identity. Nothing if it cannot be packed.
    pub(crate) fn pack(
        &self,
        wire: &Wire<K>,
        identity: &Identity<'_>,
        transform: Option<&Transform<K>>,
    ) -> Option<Packed<K>> {
        let raw = wire.decoder.needed(&wire.raw);
        Packed::new(&self.shared.codec, raw.bytes(), Stamp::of(identity), |dictionary| {
            self.method(dictionary, raw.format(), &wire.decoder, transform)
        })
    }

    /// A list has come to its end. Says whether there is a dictionary, and so something in packing [again](Self::repack).
    pub(crate) fn list_ended(&self) -> bool {
        self.shared.codec.list_ended()
    }

    /// Packs what was packed before there was a dictionary.
    pub(crate) fn repack(&self, packed: &Packed<K>) -> Option<Packed<K>> {
        if !packed.is_loose() {
            return None;
        }
        let Method { format, decoder, transform, .. } = packed.method();
        Packed::new(&self.shared.codec, &packed.bytes(), packed.stamp().cloned(), |dictionary| {
            self.method(dictionary, *format, decoder, transform.as_ref())
        })
    }

    /// The way to read what is packed so.
    fn method(
        &self,
        dictionary: Option<&Arc<Dictionary>>,
        format: Format,
        decoder: &Decoder<K>,
        transform: Option<&Transform<K>>,
    ) -> Arc<Method<K>> {
        let mut methods = self.shared.methods.lock().unwrap_or_else(PoisonError::into_inner);
        let is_current =
            |method: &Method<K>| method.dictionary.as_ref().map(Arc::as_ptr) == dictionary.map(Arc::as_ptr);
        // One of an older dictionary is not used again; the objects that need it hold it.
        methods.retain(|method| is_current(method));
        let found = methods.iter().find(|method| method.format == format && method.decoder.is(decoder));
        if let Some(method) = found {
            return Arc::clone(method);
        }
        let method = Arc::new(Method {
            format,
            dictionary: dictionary.cloned(),
            decoder: decoder.clone(),
            transform: transform.cloned(),
            stays_decoded: self.shared.stays_decoded,
            hot: Arc::downgrade(&self.shared.hot),
        });
        methods.push(Arc::clone(&method));
        method
    }
}

#[cfg(feature = "saved")]
impl<K> Packer<K> {
    /// Goes on packing with a dictionary of an earlier life, unless there is one. Gives it, to read what was packed with it; nothing
    /// if it is none.
    pub(super) fn resume(&self, content: &[u8]) -> Option<Arc<Dictionary>> {
        let book = Book::new(content)?;
        let dictionary = Arc::clone(&book.dictionary);
        self.shared.codec.resume(book);
        Some(dictionary)
    }

    /// The way to read what was packed in an earlier life.
    pub(super) fn earlier(
        &self,
        dictionary: Option<Arc<Dictionary>>,
        format: Format,
        decoder: &Decoder<K>,
        transform: Option<&Transform<K>>,
    ) -> Arc<Method<K>> {
        Arc::new(Method {
            format,
            dictionary,
            decoder: decoder.clone(),
            transform: transform.cloned(),
            stays_decoded: self.shared.stays_decoded,
            hot: Arc::downgrade(&self.shared.hot),
        })
    }
}

impl<K> Clone for Packer<K> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}
