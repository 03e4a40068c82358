//! Packs the objects of one cache.

use super::{
    codec::Codec,
    dictionary::Dictionary,
    hot::Hot,
    loose::{Loose, groups},
    packed::{HotObjects, Method, Packed},
};
use std::sync::{Arc, Mutex, PoisonError};

/// Packs objects. Clones share what they learn of them.
pub(crate) struct Packer<K> {
    shared: Arc<Shared<K>>,
}

struct Shared<K> {
    codec: Codec,
    hot: Arc<HotObjects<K>>,
    /// The few ways that are in use: one for each source and format, with the dictionary of the day.
    methods: Mutex<Vec<Arc<Method<K>>>>,
}

impl<K> Packer<K> {
    pub(crate) fn new() -> Self {
        let (codec, hot) = (Codec::new(), Arc::new(Hot::new()));
        Self { shared: Arc::new(Shared { codec, hot, methods: Mutex::default() }) }
    }

    /// Packs objects, neighbours together. It answers for each, in order.
    pub(crate) fn pack(&self, objects: &[&Loose<K>]) -> Vec<Packed<K>> {
        let mut packed = Vec::with_capacity(objects.len());
        for group in groups(objects) {
            let method = |dictionary: Option<&_>| self.method(dictionary, group[0]);
            Packed::together(&self.shared.codec, group, method, |object| packed.push(object));
        }
        packed
    }

    /// A list has come to its end. Says whether there is a dictionary, and so something in packing [again](Self::repack).
    pub(crate) fn list_ended(&self) -> bool {
        self.shared.codec.list_ended()
    }

    /// Packs what was packed before there was a dictionary.
    pub(crate) fn repack(&self, packed: &[Packed<K>]) -> Vec<Packed<K>> {
        let loose: Vec<_> = packed.iter().map(Packed::loosen).collect();
        self.pack(&loose.iter().collect::<Vec<_>>())
    }

    /// The way to read what is packed so.
    fn method(&self, dictionary: Option<&Arc<Dictionary>>, object: &Loose<K>) -> Arc<Method<K>> {
        let Loose { raw, decoder, transform, .. } = object;
        let mut methods = self.shared.methods.lock().unwrap_or_else(PoisonError::into_inner);
        let is_current =
            |method: &Method<K>| method.dictionary.as_ref().map(Arc::as_ptr) == dictionary.map(Arc::as_ptr);
        // One of an older dictionary is not used again; the objects that need it hold it.
        methods.retain(|method| is_current(method));
        let found = methods.iter().find(|method| method.format == raw.format() && method.decoder.is(decoder));
        if let Some(method) = found {
            return Arc::clone(method);
        }
        let method = Arc::new(Method {
            format: raw.format(),
            dictionary: dictionary.cloned(),
            decoder: decoder.clone(),
            transform: transform.clone(),
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
