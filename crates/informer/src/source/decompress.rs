//! Decompresses the responses to lists.

use super::error::Error;
use bytes::Bytes;
use flate2::write::GzDecoder;
use http::{HeaderMap, header::CONTENT_ENCODING};
use std::io::{self, Write};

/// The compression of lists that is requested from the server.
///
/// Watches are never compressed, because a compressed event would be delayed until its block is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ListCompression {
    /// No compression.
    #[default]
    None,
    /// gzip. A server that does not support it sends the list without compression. kube-apiserver compresses lists of 128 KiB and
    /// more.
    ///
    /// A compressed list takes a fraction of the bytes and more CPU time, of the server too. It takes less time only if the
    /// connection is slow; see [concepts.md](https://github.com/kube-informer/kube-informer/blob/main/docs/concepts.md#the-client).
    Gzip,
}

impl ListCompression {
    /// Returns the value of the header `Accept-Encoding`.
    pub(super) fn accept_encoding(self) -> &'static str {
        match self {
            Self::None => "identity",
            Self::Gzip => "gzip",
        }
    }

    /// Returns the decompressor of a response to a request with this compression.
    ///
    /// # Errors
    /// If the response has a content encoding that was not requested.
    pub(super) fn decompressor(self, headers: &HeaderMap) -> Result<Decompressor, Error> {
        let encoding = headers.get(CONTENT_ENCODING).map_or(&[][..], |encoding| encoding.as_bytes());
        let encoding = String::from_utf8_lossy(encoding).trim().to_ascii_lowercase();
        match (encoding.as_str(), self) {
            ("" | "identity", _) => Ok(Decompressor::Identity),
            ("gzip" | "x-gzip", Self::Gzip) => Ok(Decompressor::Gzip(Box::new(Gunzip::new()))),
            (encoding, _) => {
                let encoding = encoding.escape_debug();
                let text = format!("response has content encoding {encoding}, which was not requested");
                Err(Error::Transport(text.into()))
            }
        }
    }
}

/// Decompresses a response.
#[derive(Debug)]
pub(super) enum Decompressor {
    Identity,
    Gzip(Box<Gunzip>),
}

impl Decompressor {
    /// Decompresses received bytes. All parts must be read before further bytes are added.
    pub(super) fn push(&mut self, bytes: Bytes) -> Decompressed<'_> {
        Decompressed { decompressor: self, received: bytes }
    }

    /// Checks that the response is complete.
    pub(super) fn finish(&mut self) -> Result<(), Error> {
        match self {
            Self::Identity => Ok(()),
            Self::Gzip(gunzip) => gunzip.finish().map_err(invalid_gzip),
        }
    }
}

/// The decompressed bytes of one received chunk, in parts of limited size.
#[derive(Debug)]
pub(super) struct Decompressed<'d> {
    decompressor: &'d mut Decompressor,
    received: Bytes,
}

/// The maximum number of compressed bytes of a part. They expand to at most about a thousand times as many bytes.
const PART: usize = 1 << 10;

impl Decompressed<'_> {
    /// Returns the next part; `None` at the end of the chunk.
    pub(super) fn next(&mut self) -> Result<Option<Bytes>, Error> {
        if self.received.is_empty() {
            return Ok(None);
        }
        match self.decompressor {
            Decompressor::Identity => Ok(Some(std::mem::take(&mut self.received))),
            Decompressor::Gzip(gunzip) => {
                let part = self.received.split_to(self.received.len().min(PART));
                gunzip.decompress(&part).map(Some).map_err(invalid_gzip)
            }
        }
    }
}

/// A gzip stream of one member, as servers send it.
pub(super) struct Gunzip(GzDecoder<Vec<u8>>);

impl Gunzip {
    fn new() -> Self {
        Self(GzDecoder::new(Vec::new()))
    }

    fn decompress(&mut self, mut compressed: &[u8]) -> io::Result<Bytes> {
        while !compressed.is_empty() {
            match self.0.write(compressed)? {
                0 => {
                    return Err(io::Error::new(
                        io::ErrorKind::InvalidData,
                        "data after the end of the stream",
                    ));
                }
                written => compressed = &compressed[written..],
            }
        }
        // Without this, the decoder retains up to a window of decompressed bytes.
        self.0.flush()?;
        Ok(std::mem::take(self.0.get_mut()).into())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.try_finish()
    }
}

impl std::fmt::Debug for Gunzip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Gunzip")
    }
}

fn invalid_gzip(error: io::Error) -> Error {
    #[derive(Debug, thiserror::Error)]
    #[error("invalid gzip response")]
    struct InvalidGzip(#[source] io::Error);
    Error::Transport(Box::new(InvalidGzip(error)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use proptest::prelude::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// Decompresses chunks, and returns the parts.
    fn decompress<'c>(chunks: impl Iterator<Item = &'c [u8]>) -> Result<Vec<Bytes>, Error> {
        let mut decompressor = Decompressor::Gzip(Box::new(Gunzip::new()));
        let mut parts = Vec::new();
        for chunk in chunks {
            let mut decompressed = decompressor.push(Bytes::copy_from_slice(chunk));
            while let Some(part) = decompressed.next()? {
                parts.push(part);
            }
        }
        decompressor.finish()?;
        Ok(parts)
    }

    fn message(result: Result<Vec<Bytes>, Error>) -> String {
        let error = result.unwrap_err();
        let cause = std::error::Error::source(&error).unwrap();
        format!("{cause}: {}", cause.source().unwrap())
    }

    proptest! {
        #[test]
        fn any_split_is_decompressed(
            bytes in prop::collection::vec(0_u8..4, 0..5000),
            chunk in 1_usize..3000,
        ) {
            let parts = decompress(gzip(&bytes).chunks(chunk)).unwrap();
            prop_assert_eq!(parts.concat(), bytes);
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_are_an_error_or_decompressed(
            bytes in prop::collection::vec(any::<u8>(), 1..300),
            position in any::<prop::sample::Index>(),
            with_header in any::<bool>(),
        ) {
            // Random bytes rarely get past the header, so half of the inputs are damaged streams.
            let mut stream = if with_header { gzip(&bytes) } else { bytes.clone() };
            let position = position.index(stream.len());
            stream[position] ^= bytes[0] | 1;
            let result = decompress(stream.chunks(7));
            if let Err(error) = result {
                prop_assert!(matches!(error, Error::Transport(_)));
            }
        }
    }

    #[test]
    fn a_part_is_limited_however_well_it_is_compressed() {
        let bomb = gzip(&vec![0; 64 << 20]);
        let parts = decompress(std::iter::once(&bomb[..])).unwrap();
        assert_eq!(parts.iter().map(Bytes::len).sum::<usize>(), 64 << 20);
        let largest = parts.iter().map(Bytes::len).max().unwrap();
        assert!(largest <= 2 << 20, "{largest} bytes in one part");
    }

    #[test]
    fn an_invalid_stream_is_an_error() {
        let valid = gzip(b"some text, some text, some text");
        let once = |bytes: &[u8]| message(decompress(std::iter::once(bytes)));
        for end in 1..valid.len() {
            assert!(once(&valid[..end]).starts_with("invalid gzip response: "), "{end} bytes");
        }
        let mut wrong_checksum = valid.clone();
        wrong_checksum[valid.len() - 8] ^= 1;
        assert!(once(&wrong_checksum).starts_with("invalid gzip response: "));
        assert!(once(b"<html>502</html>").starts_with("invalid gzip response: "));
        let twice = [&valid[..], &valid].concat();
        assert_eq!(once(&twice), "invalid gzip response: data after the end of the stream");
    }

    #[test]
    fn only_a_requested_encoding_is_accepted() {
        let headers = |encoding: &str| [(CONTENT_ENCODING, encoding.parse().unwrap())].into_iter().collect();
        let accepts = |compression: ListCompression, encoding: &str| {
            compression.decompressor(&headers(encoding)).is_ok()
        };
        for compression in [ListCompression::None, ListCompression::Gzip] {
            assert!(accepts(compression, "identity") && accepts(compression, " "));
            assert!(!accepts(compression, "br") && !accepts(compression, "gzip, gzip"));
        }
        assert!(accepts(ListCompression::Gzip, "GZIP") && !accepts(ListCompression::None, "gzip"));
        assert!(matches!(ListCompression::Gzip.decompressor(&HeaderMap::new()), Ok(Decompressor::Identity)));
    }
}
