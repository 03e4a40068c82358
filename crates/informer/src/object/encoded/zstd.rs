//! Compresses and expands bytes, with a dictionary as soon as there is one.

use super::{
    dictionary::{Book, Dictionary},
    sample::{Ratio, Sample},
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use zstd_safe::{CCtx, DCtx};

/// Compresses the objects of one cache, for several threads at once.
///
/// Sampling -> Packing -> Sampling, when objects come to look different -> Packing. Packing goes on while it samples, with the
/// dictionary there is, if there is one.
pub(super) struct Codec {
    level: i32,
    state: Mutex<State>,
}

struct State {
    level: i32,
    book: Option<Book>,
    /// What the next dictionary is made of, if there is to be one.
    sample: Option<Sample>,
    /// Of objects alone, and of several together, which pack much better.
    ratios: [Ratio; 2],
}

/// What it takes to compress, and where the outcome goes.
struct Press {
    context: CCtx<'static>,
    input: Vec<u8>,
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
    pub(super) fn new(level: i32) -> Self {
        let state = State { level, book: None, sample: Some(Sample::new()), ratios: Default::default() };
        Self { level, state: Mutex::new(state) }
    }

    /// Goes on with a dictionary of an earlier life, unless there is one. Gives it, to read what was packed with it; nothing if it is
    /// none.
    #[cfg(feature = "saved")]
    pub(super) fn resume(&self, content: &[u8]) -> Option<Arc<Dictionary>> {
        let known = self.state().book.as_ref().map(|book| Arc::clone(&book.dictionary));
        // Several sources share a packer, and each has saved it: were they told apart, each would save the others', at every start.
        if let Some(known) = known.filter(|known| known.content == content) {
            return Some(known);
        }
        let book = Book::new(content, self.level)?;
        let (mut state, dictionary) = (self.state(), Arc::clone(&book.dictionary));
        if state.book.is_none() {
            (state.book, state.sample) = (Some(book), None);
        }
        Some(dictionary)
    }

    /// Compresses objects as one, and hands the outcome to `take` with the dictionary that it takes to expand it.
    pub(super) fn compress<R>(
        &self,
        objects: &[&[u8]],
        take: impl FnOnce(&[u8], Option<&Arc<Dictionary>>) -> R,
    ) -> R {
        let book = self.state().sampled(objects);
        compress(objects, book.as_ref().ok_or(self.level), |compressed| {
            if book.is_some() {
                self.state().count(objects, compressed.len());
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
    /// Takes objects into the sample, if there is one, and gives the dictionary to pack them with.
    fn sampled(&mut self, objects: &[&[u8]]) -> Option<Book> {
        for object in objects {
            let Some(sample) = &mut self.sample else { break };
            sample.add(object);
            if sample.is_due() {
                self.settle();
            }
        }
        self.book.clone()
    }

    /// Makes a dictionary of the sample.
    fn settle(&mut self) {
        let Some(sample) = &self.sample else { return };
        let (book, is_full) = (Book::of(sample, self.level), sample.is_full());
        if let Some(book) = book {
            (self.book, self.ratios) = (Some(book), Default::default());
        }
        if is_full {
            self.sample = None;
        }
    }

    fn count(&mut self, objects: &[&[u8]], after: usize) {
        let before = objects.iter().map(|object| object.len()).sum();
        let ratio = &mut self.ratios[usize::from(objects.len() > 1)];
        if ratio.count(objects.len(), before, after) && self.sample.is_none() {
            self.sample = Some(Sample::new());
        }
    }
}

/// Compresses `bytes` without a dictionary, at this level.
#[cfg(feature = "saved")]
pub(super) fn compress_alone(bytes: &[u8], level: i32) -> Vec<u8> {
    compress(&[bytes], Err(level), <[u8]>::to_vec)
}

/// Compresses objects as one, with a dictionary or at this level without, and hands the outcome to `take`.
fn compress<R>(objects: &[&[u8]], book: Result<&Book, i32>, take: impl FnOnce(&[u8]) -> R) -> R {
    let spare = || PRESSES.lock().unwrap_or_else(PoisonError::into_inner);
    let borrowed = spare().pop();
    let mut press = borrowed.unwrap_or_else(Press::new);
    let Press { context, input, buffer } = &mut press;
    let bytes = match objects {
        [object] => *object,
        objects => {
            input.clear();
            objects.iter().for_each(|object| input.extend_from_slice(object));
            input
        }
    };
    buffer.clear();
    buffer.reserve(zstd_safe::compress_bound(bytes.len()));
    let compressed = match book {
        Ok(book) => context.compress_using_cdict(buffer, bytes, &book.packing),
        Err(level) => context.compress(buffer, bytes, level),
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

impl Press {
    fn new() -> Self {
        Self { context: CCtx::create(), input: Vec::new(), buffer: Vec::new() }
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
