//! Compresses and expands bytes, with a dictionary as soon as there is one.

use super::{
    dictionary::{Book, Dictionary, LEVEL},
    sample::{Ratio, Sample},
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use zstd_safe::{CCtx, DCtx};

/// Compresses the objects of one cache, for several threads at once.
///
/// Sampling -> Packing -> Sampling, when objects come to look different -> Packing. Packing goes on while it samples, with the
/// dictionary there is, if there is one.
pub(super) struct Codec {
    state: Mutex<State>,
}

struct State {
    book: Option<Book>,
    /// What the next dictionary is made of, if there is to be one.
    sample: Option<Sample>,
    ratio: Ratio,
}

/// What it takes to compress, and where the outcome goes.
struct Press {
    context: CCtx<'static>,
    buffer: Vec<u8>,
}

/// What it takes to compress and to expand is large, so whoever does borrows one.
static PRESSES: Mutex<Vec<Press>> = Mutex::new(Vec::new());
static EXPANDERS: Mutex<Vec<DCtx<'static>>> = Mutex::new(Vec::new());

/// So many are kept for the next who needs one.
const SPARE: usize = 8;

/// A buffer that a large object made longer than this is given back.
const LONG: usize = 1 << 20;

impl Codec {
    pub(super) fn new() -> Self {
        let state = State { book: None, sample: Some(Sample::new()), ratio: Ratio::default() };
        Self { state: Mutex::new(state) }
    }

    /// Goes on with a dictionary of an earlier life, unless there is one.
    #[cfg(feature = "saved")]
    pub(super) fn resume(&self, book: Book) {
        let mut state = self.state();
        if state.book.is_none() {
            (state.book, state.sample) = (Some(book), None);
        }
    }

    /// Compresses `bytes`, and hands the outcome to `take` with the dictionary that it takes to expand it.
    pub(super) fn compress<R>(
        &self,
        bytes: &[u8],
        take: impl FnOnce(&[u8], Option<&Arc<Dictionary>>) -> R,
    ) -> R {
        let book = self.state().sampled(bytes);
        compress(bytes, book.as_ref(), |compressed| {
            if book.is_some() {
                self.state().count(bytes.len(), compressed.len());
            }
            take(compressed, book.as_ref().map(|book| &book.dictionary))
        })
    }

    /// All objects there are have come, so that there is nothing to wait for: what there is makes the dictionary. Says
    /// whether there is one.
    pub(super) fn list_ended(&self) -> bool {
        let mut state = self.state();
        if state.book.is_none() && state.sample.as_ref().is_some_and(Sample::suffices) {
            state.settle();
        }
        if state.book.is_some() {
            state.sample = None;
        }
        state.book.is_some()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes an object into the sample, if there is one, and gives the dictionary to pack it with.
    fn sampled(&mut self, bytes: &[u8]) -> Option<Book> {
        if let Some(sample) = &mut self.sample {
            sample.add(bytes);
            if sample.is_due() {
                self.settle();
            }
        }
        self.book.clone()
    }

    /// Makes a dictionary of the sample.
    fn settle(&mut self) {
        let Some(sample) = &self.sample else { return };
        let (book, is_full) = (Book::of(sample), sample.is_full());
        if let Some(book) = book {
            (self.book, self.ratio) = (Some(book), Ratio::default());
        }
        if is_full {
            self.sample = None;
        }
    }

    fn count(&mut self, before: usize, after: usize) {
        if self.ratio.count(before, after) && self.sample.is_none() {
            self.sample = Some(Sample::new());
        }
    }
}

/// Compresses `bytes` without a dictionary.
#[cfg(feature = "saved")]
pub(super) fn compress_alone(bytes: &[u8]) -> Vec<u8> {
    compress(bytes, None, <[u8]>::to_vec)
}

/// Compresses `bytes`, and hands the outcome to `take`.
fn compress<R>(bytes: &[u8], book: Option<&Book>, take: impl FnOnce(&[u8]) -> R) -> R {
    let spare = || PRESSES.lock().unwrap_or_else(PoisonError::into_inner);
    let borrowed = spare().pop();
    let mut press = borrowed.unwrap_or_else(|| Press { context: CCtx::create(), buffer: Vec::new() });
    let Press { context, buffer } = &mut press;
    buffer.clear();
    buffer.reserve(zstd_safe::compress_bound(bytes.len()));
    let compressed = match book {
        Some(book) => context.compress_using_cdict(buffer, bytes, &book.packing),
        None => context.compress(buffer, bytes, LEVEL),
    };
    compressed.expect("there is room for whatever comes out");
    let taken = take(buffer);
    if buffer.capacity() > LONG {
        *buffer = Vec::new();
    }
    let mut spare = spare();
    if spare.len() < SPARE {
        spare.push(press);
    }
    taken
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
