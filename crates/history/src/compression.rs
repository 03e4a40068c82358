//! zstd with an earlier version of the same object, or a dictionary, as the reference.

use std::fmt;
use zstd_safe::{CCtx, CDict, DCtx, DDict};

/// Compresses and decompresses objects.
pub(crate) struct Codec {
    level: i32,
    compress: CCtx<'static>,
    output: Vec<u8>,
}

/// Decompresses objects.
pub(crate) struct Decoder {
    context: DCtx<'static>,
    input: Vec<u8>,
}

/// The dictionary of a kind, to decompress with.
pub(crate) struct Dictionary {
    content: Box<[u8]>,
    decompress: DDict<'static>,
}

/// The dictionary of a kind, to compress with.
pub(crate) struct EncoderDictionary(CDict<'static>);

/// The bytes that a compressed object refers to.
#[derive(Clone, Copy)]
pub(crate) enum Base<'a> {
    None,
    Version(&'a [u8]),
}

/// Every zstd frame starts with these bytes, which are not stored.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The maximum size of an object. The API server accepts requests with at most 3 MiB.
pub(crate) const MAX_OBJECT: usize = 64 << 20;

/// The maximum size of a dictionary.
const MAX_DICTIONARY: usize = 100 << 10;

/// The maximum number of bytes of one object in a dictionary.
const MAX_SAMPLE: usize = 16 << 10;

/// The minimum number of objects for a dictionary.
pub(crate) const MIN_SAMPLES: usize = 16;

impl Codec {
    pub(crate) fn new(level: i32) -> Self {
        Self { level, compress: CCtx::create(), output: Vec::new() }
    }

    /// Compresses an object against a reference.
    pub(crate) fn compress(&mut self, object: &[u8], base: Base<'_>) -> &[u8] {
        self.reserve(object);
        let result = match base {
            Base::None => self.compress.compress(&mut self.output, object, self.level),
            Base::Version(version) => {
                self.compress.compress_using_dict(&mut self.output, object, version, self.level)
            }
        };
        self.without_magic(result)
    }

    /// Compresses an object with the dictionary of its kind.
    pub(crate) fn compress_with(&mut self, object: &[u8], dictionary: &EncoderDictionary) -> &[u8] {
        self.reserve(object);
        let result = self.compress.compress_using_cdict(&mut self.output, object, &dictionary.0);
        self.without_magic(result)
    }

    fn reserve(&mut self, object: &[u8]) {
        self.output.clear();
        self.output.reserve(zstd_safe::compress_bound(object.len()));
    }

    fn without_magic(&self, result: zstd_safe::SafeResult) -> &[u8] {
        result.expect("the output buffer has the capacity that zstd requires");
        self.output.strip_prefix(&MAGIC).expect("a zstd frame starts with its magic number")
    }
}

impl Decoder {
    pub(crate) fn new() -> Self {
        Self { context: DCtx::create(), input: Vec::new() }
    }

    /// Decompresses an object; `None` if it is invalid.
    pub(crate) fn decompress(&mut self, compressed: &[u8], base: Base<'_>) -> Option<Vec<u8>> {
        let mut object = self.prepare(compressed)?;
        let result = match base {
            Base::None => self.context.decompress(&mut object, &self.input),
            Base::Version(version) => self.context.decompress_using_dict(&mut object, &self.input, version),
        };
        result.ok()?;
        Some(object)
    }

    /// Decompresses an object that was compressed with a dictionary; `None` if it is invalid.
    pub(crate) fn decompress_with(&mut self, compressed: &[u8], dictionary: &Dictionary) -> Option<Vec<u8>> {
        let mut object = self.prepare(compressed)?;
        self.context.decompress_using_ddict(&mut object, &self.input, &dictionary.decompress).ok()?;
        Some(object)
    }

    /// Restores the frame and allocates memory for the object.
    fn prepare(&mut self, compressed: &[u8]) -> Option<Vec<u8>> {
        self.input.clear();
        self.input.extend_from_slice(&MAGIC);
        self.input.extend_from_slice(compressed);
        let size = usize::try_from(zstd_safe::get_frame_content_size(&self.input).ok()??).ok()?;
        (size <= MAX_OBJECT).then(|| Vec::with_capacity(size))
    }
}

impl Dictionary {
    /// Returns `None` if zstd rejects the content.
    pub(crate) fn new(content: &[u8]) -> Option<Self> {
        Some(Self { content: content.into(), decompress: DDict::try_create(content)? })
    }

    pub(crate) fn content(&self) -> &[u8] {
        &self.content
    }

    /// Returns `None` if zstd rejects the content.
    pub(crate) fn encoder(&self, level: i32) -> Option<EncoderDictionary> {
        CDict::try_create(&self.content, level).map(EncoderDictionary)
    }

    /// Creates a dictionary from objects that are evenly spread over `objects`; `None` if there are too few.
    pub(crate) fn from_objects<'a>(objects: &[&'a [u8]]) -> Option<Self> {
        if objects.len() < MIN_SAMPLES {
            return None;
        }
        let part = |object: &'a [u8]| &object[..object.len().min(MAX_SAMPLE)];
        let total: usize = objects.iter().map(|object| part(object).len()).sum();
        let mut content = Vec::with_capacity(total.min(MAX_DICTIONARY));
        let mut visited = 0;
        for object in objects.iter().map(|object| part(object)) {
            let share = visited * MAX_DICTIONARY / total.max(MAX_DICTIONARY);
            if content.len() <= share && content.len() + object.len() <= MAX_DICTIONARY {
                content.extend_from_slice(object);
            }
            visited += object.len();
        }
        Self::new(&content)
    }
}

impl fmt::Debug for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Codec").field("level", &self.level).finish_non_exhaustive()
    }
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Decoder")
    }
}

/// Prints no content, because it consists of objects.
impl fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dictionary").field("bytes", &self.content.len()).finish()
    }
}

impl fmt::Debug for EncoderDictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EncoderDictionary")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_decompressed_with_the_reference_they_were_compressed_with() {
        let objects: Vec<_> =
            (0..32).map(|n| format!("{{\"name\":\"pod-{n}\",\"phase\":\"Running\"}}").repeat(9)).collect();
        let objects: Vec<_> = objects.iter().map(String::as_bytes).collect();
        let dictionary = Dictionary::from_objects(&objects).unwrap();
        let (mut codec, mut decoder) = (Codec::new(3), Decoder::new());
        let encoder = dictionary.encoder(3).unwrap();
        for pair in objects.windows(2) {
            let [previous, object] = [pair[0], pair[1]];
            let with_dictionary = codec.compress_with(object, &encoder).to_vec();
            assert_eq!(decoder.decompress_with(&with_dictionary, &dictionary).unwrap(), object);
            for base in [Base::None, Base::Version(previous)] {
                let compressed = codec.compress(object, base).to_vec();
                assert_eq!(decoder.decompress(&compressed, base).unwrap(), object);
            }
        }
        assert!(Dictionary::from_objects(&objects[..MIN_SAMPLES - 1]).is_none());
    }

    #[test]
    fn invalid_bytes_are_rejected() {
        let mut decoder = Decoder::new();
        let huge = [0xa0, 0xff, 0xff, 0xff, 0x7f];
        for invalid in [&b""[..], b"x", &[0xff; 40], &huge] {
            assert_eq!(decoder.decompress(invalid, Base::None), None);
            assert_eq!(decoder.decompress(invalid, Base::Version(b"abc")), None);
        }
    }
}
