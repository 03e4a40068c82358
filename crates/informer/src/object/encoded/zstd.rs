//! Compresses and decompresses blocks with zstd, with a dictionary once enough objects were sampled.

use super::{
    dictionary::{Dictionary, EncoderDictionary},
    sample::{CompressionRatio, Sample},
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use zstd_safe::{CCtx, CDict, DCtx};

/// Compresses the objects of one cache, from several threads at once.
///
/// It samples objects until the list is complete, and creates a dictionary from the sample. When objects compress much worse
/// than at first, it samples again for a new dictionary; until that exists, the old one is used.
pub(super) struct ZstdCompressor {
    level: i32,
    state: Mutex<State>,
}

struct State {
    level: i32,
    dictionary: Option<EncoderDictionary>,
    /// Objects for the next dictionary, while one is to be created.
    sample: Option<Sample>,
    /// The ratio for blocks with one object, and for blocks with several objects.
    ratios: [CompressionRatio; 2],
}

/// A compression context with its buffers.
struct CompressContext {
    context: CCtx<'static>,
    input: Vec<u8>,
    output: Vec<u8>,
}

/// Contexts are large and slow to create, so all caches share them.
struct ContextPool<T>(Mutex<Vec<T>>);

#[derive(Clone, Copy)]
enum Mode<'d> {
    Level(i32),
    Dictionary(&'d CDict<'static>),
}

static COMPRESS_CONTEXTS: ContextPool<CompressContext> = ContextPool::new();
static DECOMPRESS_CONTEXTS: ContextPool<DCtx<'static>> = ContextPool::new();

/// The maximum number of idle contexts in a pool.
const MAX_IDLE_CONTEXTS: usize = 8;

/// An output buffer with a larger capacity is freed instead of reused.
const MAX_BUFFER_CAPACITY: usize = 1 << 20;

/// The maximum number of objects in one block.
pub(super) const MAX_OBJECTS_PER_BLOCK: usize = 16;

/// The level for objects that are stored compressed. Level 6 makes pods a tenth smaller for four times the CPU time.
pub(super) const DEFAULT_LEVEL: i32 = 3;

/// The level for objects that are stored decoded, and compressed only to be saved: a fifth larger for a quarter of the CPU time.
#[cfg(feature = "saved")]
pub(super) const FAST_LEVEL: i32 = 1;

impl ZstdCompressor {
    pub(super) fn new(level: i32) -> Self {
        let state =
            State { level, dictionary: None, sample: Some(Sample::new()), ratios: Default::default() };
        Self { level, state: Mutex::new(state) }
    }

    /// Loads a saved dictionary, and compresses with it unless there is one already. `None` if it is invalid.
    #[cfg(feature = "saved")]
    pub(super) fn load_dictionary(&self, content: &[u8]) -> Option<Arc<Dictionary>> {
        // Sources of one cache share a compressor, and each has saved its dictionary: load equal dictionaries once.
        if let Some(current) = &self.state().dictionary
            && current.dictionary.content == content
        {
            return Some(Arc::clone(&current.dictionary));
        }
        let loaded = EncoderDictionary::new(content, self.level)?;
        let dictionary = Arc::clone(&loaded.dictionary);
        let mut state = self.state();
        if state.dictionary.is_none() {
            state.dictionary = Some(loaded);
            state.sample = None;
        }
        Some(dictionary)
    }

    /// Compresses the concatenation of `objects`, and passes the result to `take` with the dictionary needed to decompress it.
    pub(super) fn compress<R>(
        &self,
        objects: &[&[u8]],
        take: impl FnOnce(&[u8], Option<&Arc<Dictionary>>) -> R,
    ) -> R {
        let dictionary = self.state().sampled(objects);
        match dictionary {
            None => compress(objects, Mode::Level(self.level), |compressed| take(compressed, None)),
            Some(current) => compress(objects, Mode::Dictionary(&current.compress), |compressed| {
                self.state().record(objects, compressed.len());
                take(compressed, Some(&current.dictionary))
            }),
        }
    }

    /// Creates the dictionary now if there are enough objects, since no more are expected. Returns whether there is one.
    pub(super) fn list_completed(&self) -> bool {
        let mut state = self.state();
        if state.dictionary.is_none() && state.sample.as_ref().is_some_and(Sample::suffices) {
            state.create_dictionary();
        }
        if state.dictionary.is_some() {
            state.sample = None;
        }
        state.dictionary.is_some()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Adds objects to the sample, if there is one. Returns the dictionary to compress them with.
    fn sampled(&mut self, objects: &[&[u8]]) -> Option<EncoderDictionary> {
        for object in objects {
            let Some(sample) = &mut self.sample else { break };
            sample.add(object);
            if sample.is_due() {
                self.create_dictionary();
            }
        }
        self.dictionary.clone()
    }

    fn create_dictionary(&mut self) {
        let Some(sample) = &self.sample else { return };
        let created = EncoderDictionary::from_sample(sample, self.level);
        if sample.is_complete() {
            self.sample = None;
        }
        if created.is_some() {
            self.dictionary = created;
            self.ratios = Default::default();
        }
    }

    /// Records how well a block was compressed, and samples again if objects compress much worse than at first.
    fn record(&mut self, objects: &[&[u8]], compressed: usize) {
        let original = objects.iter().map(|object| object.len()).sum();
        let ratio = &mut self.ratios[usize::from(objects.len() > 1)];
        if ratio.record(objects.len(), original, compressed) && self.sample.is_none() {
            self.sample = Some(Sample::new());
        }
    }
}

impl<T> ContextPool<T> {
    const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    fn take(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn put(&self, context: T) {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MAX_IDLE_CONTEXTS {
            idle.push(context);
        }
    }
}

impl CompressContext {
    fn new() -> Self {
        Self { context: CCtx::create(), input: Vec::new(), output: Vec::new() }
    }
}

/// Compresses `bytes` without a dictionary.
#[cfg(feature = "saved")]
pub(super) fn compress_without_dictionary(bytes: &[u8]) -> Vec<u8> {
    compress(&[bytes], Mode::Level(DEFAULT_LEVEL), <[u8]>::to_vec)
}

/// Compresses the concatenation of `objects` and passes the result to `take`.
fn compress<R>(objects: &[&[u8]], mode: Mode<'_>, take: impl FnOnce(&[u8]) -> R) -> R {
    let mut pooled = COMPRESS_CONTEXTS.take().unwrap_or_else(CompressContext::new);
    let CompressContext { context, input, output } = &mut pooled;
    let bytes = match objects {
        [object] => *object,
        objects => {
            input.clear();
            objects.iter().for_each(|object| input.extend_from_slice(object));
            input
        }
    };
    output.clear();
    output.reserve(zstd_safe::compress_bound(bytes.len()));
    let compressed = match mode {
        Mode::Level(level) => context.compress(output, bytes, level),
        Mode::Dictionary(dictionary) => context.compress_using_cdict(output, bytes, dictionary),
    };
    compressed.expect("the output buffer has the capacity that zstd requires");
    let taken = take(output);
    if output.capacity() > MAX_BUFFER_CAPACITY {
        *output = Vec::new();
    }
    COMPRESS_CONTEXTS.put(pooled);
    taken
}

/// Returns the `length` bytes that were compressed into `block`. `None` if it is invalid.
pub(super) fn decompress(block: &[u8], dictionary: Option<&Dictionary>, length: usize) -> Option<Vec<u8>> {
    let mut context = DECOMPRESS_CONTEXTS.take().unwrap_or_else(DCtx::create);
    let mut bytes = Vec::with_capacity(length);
    let decompressed = match dictionary {
        Some(dictionary) => context.decompress_using_ddict(&mut bytes, block, &dictionary.decompress),
        None => context.decompress(&mut bytes, block),
    };
    DECOMPRESS_CONTEXTS.put(context);
    decompressed.ok().filter(|decompressed| *decompressed == length)?;
    Some(bytes)
}

/// Returns the length that the block's header states. `None` if it is invalid.
#[cfg(feature = "saved")]
pub(super) fn decompressed_length(block: &[u8]) -> Option<u64> {
    zstd_safe::get_frame_content_size(block).ok().flatten()
}
