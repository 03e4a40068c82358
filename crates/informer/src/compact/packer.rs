//! Packs the objects of one cache.

use super::{
    codec::Codec,
    dictionary::Dictionary,
    hot::Hot,
    packed::{Method, Packed, Transform},
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
    hot: Arc<Hot<K>>,
    /// The few ways that are in use: one for each source and format, with the dictionary of the day.
    methods: Mutex<Vec<Arc<Method<K>>>>,
}

impl<K> Packer<K> {
    pub(crate) fn new() -> Self {
        let (codec, hot) = (Codec::new(), Arc::new(Hot::new()));
        Self { shared: Arc::new(Shared { codec, hot, methods: Mutex::default() }) }
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
            hot: Arc::downgrade(&self.shared.hot),
        });
        methods.push(Arc::clone(&method));
        method
    }
}

impl<K> Clone for Packer<K> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}
