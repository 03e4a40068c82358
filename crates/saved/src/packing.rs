//! Payloads are packed one by one against a dictionary of their kind, and expanded when somebody asks for them.

use bytes::Bytes;
use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};
use zstd_safe::{CCtx, CDict, DCtx, DDict};

/// What many payloads have in common: some of them, as they are.
///
/// Training finds nothing better in payloads of one kind, and takes a second.
pub(crate) struct Dictionary {
    bytes: Bytes,
    expand: DDict<'static>,
}

/// Packs payloads.
pub(crate) struct Packer {
    context: CCtx<'static>,
    level: i32,
    dictionary: Option<(Arc<Dictionary>, CDict<'static>)>,
    packed: Vec<u8>,
}

/// Some payloads that stand for all.
#[derive(Default)]
pub(crate) struct Samples {
    content: Vec<u8>,
    count: usize,
}

/// A dictionary is of this size at most. Twice as much packs a tenth better, and costs that in speed.
pub(crate) const MAX_DICTIONARY: usize = 64 << 10;
/// The part of a payload that goes into a dictionary at most, so that one large object is not all there is in it.
const MAX_SAMPLE: usize = 16 << 10;
/// With fewer payloads than this there is nothing to be had in common.
const MIN_SAMPLES: usize = 16;
/// What is shorter than this stays as it is.
const MIN_PACKED: usize = 64;
/// So many contexts are kept for the next who expands.
const SPARE: usize = 8;

/// What it takes to expand. They are large, so whoever reads borrows one.
static EXPANDERS: Mutex<Vec<DCtx<'static>>> = Mutex::new(Vec::new());

impl Dictionary {
    /// A dictionary of these bytes; nothing if they cannot serve as one.
    pub(crate) fn new(bytes: Bytes) -> Option<Self> {
        let sound = !bytes.is_empty() && bytes.len() <= MAX_DICTIONARY;
        let expand = DDict::try_create(&bytes).filter(|_| sound)?;
        Some(Self { bytes, expand })
    }

    pub(crate) fn bytes(&self) -> &Bytes {
        &self.bytes
    }
}

impl fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dictionary({} bytes)", self.bytes.len())
    }
}

impl fmt::Debug for Packer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Packer").field("level", &self.level).finish_non_exhaustive()
    }
}

impl Samples {
    pub(crate) fn add(&mut self, payload: &[u8]) {
        let room = (MAX_DICTIONARY - self.content.len()).min(MAX_SAMPLE);
        self.content.extend_from_slice(&payload[..payload.len().min(room)]);
        self.count += 1;
    }

    pub(crate) fn of<'a>(payloads: impl IntoIterator<Item = &'a Bytes>) -> Self {
        let mut samples = Self::default();
        let mut payloads = payloads.into_iter();
        while let Some(payload) = payloads.next().filter(|_| !samples.is_full()) {
            samples.add(payload);
        }
        samples
    }

    pub(crate) fn is_full(&self) -> bool {
        self.content.len() >= MAX_DICTIONARY
    }

    /// The dictionary that they make, if there are enough of them.
    pub(crate) fn dictionary(self) -> Option<Arc<Dictionary>> {
        let enough = self.count >= MIN_SAMPLES || self.is_full();
        enough.then(|| Dictionary::new(self.content.into()).map(Arc::new)).flatten()
    }
}

impl Packer {
    pub(crate) fn new(level: i32) -> Self {
        Self { context: CCtx::create(), level, dictionary: None, packed: Vec::new() }
    }

    pub(crate) fn dictionary(&self) -> Option<&Arc<Dictionary>> {
        self.dictionary.as_ref().map(|(dictionary, _)| dictionary)
    }

    /// Packs with this dictionary from here on.
    pub(crate) fn set_dictionary(&mut self, dictionary: Option<Arc<Dictionary>>) {
        let made = dictionary.and_then(|dictionary| {
            let pack = CDict::try_create(&dictionary.bytes, self.level)?;
            Some((dictionary, pack))
        });
        self.dictionary = made;
    }

    /// How many bytes these take, packed.
    pub(crate) fn size_of(&mut self, payloads: &[Bytes]) -> usize {
        payloads.iter().map(|plain| self.pack(plain).map_or(plain.len(), <[u8]>::len)).sum()
    }

    /// The packed bytes; nothing if they are better left as they are.
    pub(crate) fn pack(&mut self, plain: &[u8]) -> Option<&[u8]> {
        if plain.len() < MIN_PACKED {
            return None;
        }
        self.packed.clear();
        self.packed.reserve(zstd_safe::compress_bound(plain.len()));
        let packed = match &self.dictionary {
            Some((_, pack)) => self.context.compress_using_cdict(&mut self.packed, plain, pack),
            None => self.context.compress(&mut self.packed, plain, self.level),
        };
        packed.ok().filter(|&length| length < plain.len()).map(|_| &*self.packed)
    }
}

/// Expands what was packed of `length` bytes; nothing if it was not.
///
/// No more than `length` bytes are taken, whatever the packed bytes say of themselves.
pub(crate) fn expand(packed: &[u8], length: usize, dictionary: Option<&Dictionary>) -> Option<Vec<u8>> {
    let spare = || EXPANDERS.lock().unwrap_or_else(PoisonError::into_inner);
    let borrowed = spare().pop();
    let mut context = borrowed.unwrap_or_else(DCtx::create);
    let mut plain = Vec::with_capacity(length);
    let expanded = match dictionary {
        Some(dictionary) => context.decompress_using_ddict(&mut plain, packed, &dictionary.expand),
        None => context.decompress(&mut plain, packed),
    };
    let mut spare = spare();
    if spare.len() < SPARE {
        spare.push(context);
    }
    expanded.ok().filter(|&expanded| expanded == length).map(|_| plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(number: usize) -> Vec<u8> {
        format!("{{\"metadata\":{{\"name\":\"pod-{number}\",\"uid\":\"u{}\"}}}}", number * 7919)
            .repeat(3)
            .into()
    }

    fn dictionary() -> Arc<Dictionary> {
        let mut samples = Samples::default();
        (0..MIN_SAMPLES).for_each(|number| samples.add(&text(number)));
        samples.dictionary().unwrap()
    }

    #[test]
    fn expands_what_it_packed_with_and_without_a_dictionary() {
        for dictionary in [None, Some(dictionary())] {
            let mut packer = Packer::new(3);
            packer.set_dictionary(dictionary.clone());
            for number in 100..200 {
                let plain = text(number);
                let packed = packer.pack(&plain).unwrap().to_vec();
                assert_eq!(expand(&packed, plain.len(), dictionary.as_deref()), Some(plain.clone()));
                assert_eq!(expand(&packed, plain.len() - 1, dictionary.as_deref()), None);
                assert_eq!(expand(&packed, plain.len() + 1, dictionary.as_deref()), None);
            }
        }
    }

    #[test]
    fn leaves_what_does_not_shrink() {
        let mut packer = Packer::new(3);
        assert_eq!(packer.pack(b"short"), None);
        let mut number = 1_u64;
        let noise = std::iter::repeat_with(|| {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            number.to_be_bytes()[0]
        });
        assert_eq!(packer.pack(&noise.take(500).collect::<Vec<u8>>()), None);
    }

    #[test]
    fn a_few_payloads_make_no_dictionary() {
        let mut samples = Samples::default();
        samples.add(&text(1));
        assert!(samples.dictionary().is_none());
    }

    #[test]
    fn a_large_payload_leaves_room_for_others() {
        let mut samples = Samples::default();
        samples.add(&[7; 1 << 20]);
        assert!(!samples.is_full());
        assert_eq!(samples.content.len(), MAX_SAMPLE);
    }

    #[test]
    fn garbage_expands_to_nothing() {
        assert_eq!(expand(b"garbage", 1 << 20, None), None);
        assert_eq!(expand(b"", 1, None), None);
    }
}
