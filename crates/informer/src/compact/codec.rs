//! Compresses and expands bytes, with a dictionary as soon as there is one.

use super::{
    dictionary::{Dictionary, LEVEL, Packing, made_of},
    sample::{Ratio, Sample},
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use zstd_safe::{CCtx, DCtx};

/// Compresses the objects of one cache.
///
/// Sampling -> Packing -> Sampling, when objects come to look different -> Packing. Packing goes on while it samples, with the
/// dictionary there is, if there is one.
pub(super) struct Codec {
    state: Mutex<State>,
}

struct State {
    context: CCtx<'static>,
    dictionary: Option<(Arc<Dictionary>, Packing)>,
    /// What the next dictionary is made of, if there is to be one.
    sample: Option<Sample>,
    ratio: Ratio,
    buffer: Vec<u8>,
}

/// What it takes to expand. They are large, so whoever reads borrows one.
static EXPANDERS: Mutex<Vec<DCtx<'static>>> = Mutex::new(Vec::new());

/// So many are kept for the next who reads.
const SPARE: usize = 8;

impl Codec {
    pub(super) fn new() -> Self {
        let state = State {
            context: CCtx::create(),
            dictionary: None,
            sample: Some(Sample::new()),
            ratio: Ratio::default(),
            buffer: Vec::new(),
        };
        Self { state: Mutex::new(state) }
    }

    /// Compresses `bytes`, and hands the outcome to `take` with the dictionary that it takes to expand it.
    pub(super) fn compress<R>(
        &self,
        bytes: &[u8],
        take: impl FnOnce(&[u8], Option<&Arc<Dictionary>>) -> R,
    ) -> R {
        let mut state = self.state();
        state.sample(bytes);
        state.compress(bytes);
        let State { dictionary, ratio, buffer, sample, .. } = &mut *state;
        if dictionary.is_some() && ratio.count(bytes.len(), buffer.len()) && sample.is_none() {
            *sample = Some(Sample::new());
        }
        take(buffer, dictionary.as_ref().map(|(dictionary, _)| dictionary))
    }

    /// All objects there are have come, so that there is nothing to wait for: what there is makes the dictionary. Says
    /// whether there is one.
    pub(super) fn list_ended(&self) -> bool {
        let mut state = self.state();
        if state.dictionary.is_none() && state.sample.as_ref().is_some_and(Sample::suffices) {
            state.settle();
        }
        // What a large object took is given back.
        state.buffer = Vec::new();
        state.dictionary.is_some()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn sample(&mut self, bytes: &[u8]) {
        let Some(sample) = &mut self.sample else { return };
        sample.add(bytes);
        if sample.is_full() {
            self.settle();
        }
    }

    /// Makes a dictionary of the sample, which takes a millisecond.
    fn settle(&mut self) {
        let Some(sample) = self.sample.take() else { return };
        if let Some((dictionary, packing)) = made_of(&sample.content()) {
            self.dictionary = Some((Arc::new(dictionary), packing));
            self.ratio = Ratio::default();
        }
    }

    /// Compresses into the buffer.
    fn compress(&mut self, bytes: &[u8]) {
        self.buffer.clear();
        self.buffer.reserve(zstd_safe::compress_bound(bytes.len()));
        let compressed = match &self.dictionary {
            Some((_, packing)) => self.context.compress_using_cdict(&mut self.buffer, bytes, packing),
            None => self.context.compress(&mut self.buffer, bytes, LEVEL),
        };
        compressed.expect("there is room for whatever comes out");
    }
}

/// Expands what was compressed of so many bytes.
pub(super) fn expand(compressed: &[u8], dictionary: Option<&Dictionary>, length: usize) -> Vec<u8> {
    let spare = || EXPANDERS.lock().unwrap_or_else(PoisonError::into_inner);
    let borrowed = spare().pop();
    let mut context = borrowed.unwrap_or_else(DCtx::create);
    let mut bytes = Vec::with_capacity(length);
    let expanded = match dictionary {
        Some(dictionary) => context.decompress_using_ddict(&mut bytes, compressed, &dictionary.expand),
        None => context.decompress(&mut bytes, compressed),
    };
    expanded.expect("it was compressed here");
    let mut spare = spare();
    if spare.len() < SPARE {
        spare.push(context);
    }
    bytes
}
