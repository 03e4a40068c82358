//! Packs the objects of one cache.

#[cfg(feature = "saved")]
use super::dictionary::QUICK;
#[cfg(feature = "saved")]
use super::loose::Transform;
use super::{
    codec::Codec,
    dictionary::{Dictionary, SMALL},
    hot::Hot,
    loose::{Loose, groups},
    packed::{HotObjects, Method, Packed},
};
#[cfg(feature = "saved")]
use crate::source::Decoder;
#[cfg(feature = "saved")]
use kube_informer_wire::Format;
use std::sync::{Arc, Mutex, PoisonError};

/// Packs objects. Clones share what they learn of them.
pub(crate) struct Packer<K> {
    shared: Arc<Shared<K>>,
}

struct Shared<K> {
    codec: Codec,
    hot: Arc<HotObjects<K>>,
    stays_decoded: bool,
    /// Whether each object is packed by itself.
    is_apart: bool,
    /// The few ways that are in use: one for each source and format, with the dictionary of the day.
    methods: Mutex<Vec<Arc<Method<K>>>>,
}

impl<K> Packer<K> {
    pub(crate) fn new() -> Self {
        Self::with(SMALL, false, false)
    }

    /// Packs each object by itself, as it is saved.
    #[cfg(feature = "saved")]
    pub(crate) fn apart() -> Self {
        Self::with(SMALL, false, true)
    }

    /// Packs objects that stay decoded all the same, so that their bytes are at hand to be saved.
    #[cfg(feature = "saved")]
    pub(crate) fn beside() -> Self {
        Self::with(QUICK, true, true)
    }

    fn with(level: i32, stays_decoded: bool, is_apart: bool) -> Self {
        let (codec, hot) = (Codec::new(level), Arc::new(Hot::new()));
        Self { shared: Arc::new(Shared { codec, hot, stays_decoded, is_apart, methods: Mutex::default() }) }
    }

    /// Whether what is packed here stays decoded all the same.
    pub(crate) fn stays_decoded(&self) -> bool {
        self.shared.stays_decoded
    }

    /// Packs objects, neighbours together where they may be. It answers for each, in order.
    pub(crate) fn pack(&self, objects: &[&Loose<K>]) -> Vec<Packed<K>> {
        let mut packed = Vec::with_capacity(objects.len());
        let most = if self.shared.is_apart { 1 } else { usize::MAX };
        for group in groups(objects, most) {
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
        self.shared.codec.resume(content)
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
