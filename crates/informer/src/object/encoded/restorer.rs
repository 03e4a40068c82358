//! Takes in what was packed in an earlier life.

use super::{
    dictionary::Dictionary,
    loose::Transform,
    packed::{Method, Packed},
    packer::Packer,
    stamp::Stamp,
};
use crate::source::Decoder;
use kube_informer_wire::{Format, ResourceVersion};
use std::{collections::HashMap, sync::Arc};

/// Makes packed objects of saved ones.
pub(crate) struct Unpacker<K> {
    packer: Packer<K>,
    decoder: Decoder<K>,
    transform: Option<Transform<K>>,
    dictionaries: HashMap<u32, Arc<Dictionary>>,
    /// The few ways that are in use.
    methods: Vec<(Format, Option<u32>, Arc<Method<K>>)>,
}

/// The longest object that is taken in; fifty times what an API server stores.
const LONGEST: u64 = 64 << 20;

impl<K> Unpacker<K> {
    /// Makes objects that `decoder` decodes, for a cache that `packer` packs for.
    pub(crate) fn new(packer: Packer<K>, decoder: Decoder<K>, transform: Option<Transform<K>>) -> Self {
        Self { packer, decoder, transform, dictionaries: HashMap::new(), methods: Vec::new() }
    }

    /// Adds a dictionary under a number. The first that is added is packed with from now on. Says whether it is one.
    pub(crate) fn dictionary(&mut self, number: u32, content: &[u8]) -> bool {
        let dictionary = self.packer.resume(content);
        let is_one = dictionary.is_some();
        self.dictionaries.extend(dictionary.map(|dictionary| (number, dictionary)));
        is_one
    }

    /// The dictionaries, by number.
    pub(crate) fn dictionaries(&self) -> impl Iterator<Item = (u32, &Arc<Dictionary>)> {
        self.dictionaries.iter().map(|(number, dictionary)| (*number, dictionary))
    }

    /// Takes in an object that was packed with the dictionary of this number, or with none. Nothing if it is not such an object.
    pub(crate) fn unpack(
        &mut self,
        compressed: &[u8],
        (format, dictionary): (Format, Option<u32>),
        (uid, version): (&str, &ResourceVersion),
    ) -> Option<Packed<K>> {
        let length = zstd_safe::get_frame_content_size(compressed).ok()??;
        let length = u32::try_from(length).ok().filter(|_| length <= LONGEST)?;
        let method = self.method(format, dictionary)?;
        Some(Packed::of(compressed, length, Stamp::read(uid, version), method))
    }

    fn method(&mut self, format: Format, number: Option<u32>) -> Option<Arc<Method<K>>> {
        let found = self.methods.iter().find(|(known, of, _)| (*known, *of) == (format, number));
        if let Some((.., method)) = found {
            return Some(Arc::clone(method));
        }
        let dictionary = match number {
            None => None,
            Some(number) => Some(Arc::clone(self.dictionaries.get(&number)?)),
        };
        let method = self.packer.earlier(dictionary, format, &self.decoder, self.transform.as_ref());
        self.methods.push((format, number, Arc::clone(&method)));
        Some(method)
    }
}
