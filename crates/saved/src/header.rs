//! The header of a file, which describes the saved state.

use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

/// Describes the resource and options of a saved state. A state is only restored for an equal header.
///
/// Informers that differ in any field see different objects or different content, so they must not share a saved state.
///
/// ```
/// use kube_informer_saved::Header;
///
/// let header = Header::new("apps", "v1", "deployments").cluster("5f1e").namespaces(["web", "db"]).labels("tier=front");
/// assert_eq!(header.namespaces, ["db", "web"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Header {
    /// The uid of the namespace `kube-system`, which identifies the cluster; `None` if it is unknown.
    pub cluster: Option<String>,
    /// The API group; empty for the core group.
    pub group: String,
    /// The version within the group.
    pub version: String,
    /// The plural name of the resource.
    pub plural: String,
    /// The watched namespaces, sorted; empty for all.
    pub namespaces: Vec<String>,
    /// The label selector; empty for none.
    pub labels: String,
    /// The field selector; empty for none.
    pub fields: String,
    /// The name of the transform that is applied to objects before they are cached; empty for none. A transform whose output
    /// changes needs a new name.
    pub transform: String,
    /// The shard of the objects; empty for all.
    pub shard: String,
}

/// The first field in which two headers differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) field: &'static str,
    pub(crate) saved: String,
    pub(crate) expected: String,
}

impl Header {
    /// Creates a header for all objects of a resource.
    #[must_use]
    pub fn new(group: impl Into<String>, version: impl Into<String>, plural: impl Into<String>) -> Self {
        Self {
            cluster: None,
            group: group.into(),
            version: version.into(),
            plural: plural.into(),
            namespaces: Vec::new(),
            labels: String::new(),
            fields: String::new(),
            transform: String::new(),
            shard: String::new(),
        }
    }

    /// Sets the cluster, identified by the uid of its namespace `kube-system`.
    #[must_use]
    pub fn cluster(self, uid: impl Into<String>) -> Self {
        Self { cluster: Some(uid.into()), ..self }
    }

    /// Sets the namespaces, in any order.
    #[must_use]
    pub fn namespaces<N: Into<String>>(self, namespaces: impl IntoIterator<Item = N>) -> Self {
        let mut namespaces: Vec<String> = namespaces.into_iter().map(Into::into).collect();
        namespaces.sort();
        namespaces.dedup();
        Self { namespaces, ..self }
    }

    /// Sets the label selector.
    #[must_use]
    pub fn labels(self, selector: impl Into<String>) -> Self {
        Self { labels: selector.into(), ..self }
    }

    /// Sets the field selector.
    #[must_use]
    pub fn fields(self, selector: impl Into<String>) -> Self {
        Self { fields: selector.into(), ..self }
    }

    /// Sets the name of the transform.
    #[must_use]
    pub fn transform(self, name: impl Into<String>) -> Self {
        Self { transform: name.into(), ..self }
    }

    /// Sets the shard.
    #[must_use]
    pub fn shard(self, shard: impl Into<String>) -> Self {
        Self { shard: shard.into(), ..self }
    }

    /// Returns the first field in which a saved header differs from the expected one.
    pub(crate) fn difference(saved: &Self, expected: &Self) -> Option<Difference> {
        let mut fields = saved.to_fields().into_iter().zip(expected.to_fields());
        let ((field, saved), (_, expected)) = fields.find(|(saved, expected)| saved != expected)?;
        Some(Difference { field, saved, expected })
    }

    fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("strings can be written as JSON")
    }

    fn to_fields(&self) -> [(&'static str, String); 9] {
        [
            ("cluster", self.cluster.clone().unwrap_or_default()),
            ("group", self.group.clone()),
            ("version", self.version.clone()),
            ("plural", self.plural.clone()),
            ("namespaces", self.namespaces.join(",")),
            ("labels", self.labels.clone()),
            ("fields", self.fields.clone()),
            ("transform", self.transform.clone()),
            ("shard", self.shard.clone()),
        ]
    }
}

/// The start of a file: magic number, format, header and checksum seed.
#[derive(Clone, Debug)]
pub(crate) struct Preamble {
    pub(crate) header: Header,
    /// Random for each file, so that frames of another file fail the checksum.
    pub(crate) seed: u64,
    /// The size in bytes.
    pub(crate) length: u64,
}

/// Reports why the start of a file is not a valid preamble.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PreambleError {
    /// The file does not start with the magic number.
    UnknownFile,
    /// The file has a newer format.
    UnsupportedFormat(u32),
    /// The file starts with the magic number but is corrupt.
    Corrupt(&'static str),
}

const MAGIC: [u8; 8] = *b"kisaved\n";
/// The only format that this release reads and writes.
pub(crate) const FORMAT: u32 = 1;
/// The size of the magic number, the format and the length of the header.
const FIXED: usize = 16;
/// The size of the seed and the checksum of everything before it.
const TRAILER: usize = 16;
const MAX_HEADER: usize = 1 << 20;
/// The maximum size of a preamble.
pub(crate) const MAX_PREAMBLE: usize = FIXED + MAX_HEADER + TRAILER;

impl Preamble {
    /// Creates the preamble of a new file; `None` if the header is too long.
    pub(crate) fn new(header: Header, seed: u64) -> Option<Self> {
        let json = header.to_json();
        let length = (FIXED + json.len() + TRAILER) as u64;
        (json.len() <= MAX_HEADER).then_some(Self { header, seed, length })
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let json = self.header.to_json();
        let json_length = u32::try_from(json.len()).expect("a header is at most 1 MiB long");
        let mut bytes = Vec::with_capacity(FIXED + json.len() + TRAILER);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&FORMAT.to_le_bytes());
        bytes.extend_from_slice(&json_length.to_le_bytes());
        bytes.extend_from_slice(&json);
        bytes.extend_from_slice(&self.seed.to_le_bytes());
        let hash = XxHash3_64::oneshot(&bytes);
        bytes.extend_from_slice(&hash.to_le_bytes());
        bytes
    }

    /// Decodes the start of a file. More bytes may follow.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, PreambleError> {
        let truncated = PreambleError::Corrupt("the header is truncated");
        let Some((magic, rest)) = bytes.split_first_chunk::<8>() else {
            return Err(if MAGIC.starts_with(bytes) { truncated } else { PreambleError::UnknownFile });
        };
        if *magic != MAGIC {
            return Err(PreambleError::UnknownFile);
        }
        let (format, rest) = rest.split_first_chunk().ok_or(truncated.clone())?;
        match u32::from_le_bytes(*format) {
            FORMAT => {}
            0 => return Err(PreambleError::Corrupt("invalid format 0")),
            newer => return Err(PreambleError::UnsupportedFormat(newer)),
        }
        let (length, rest) = rest.split_first_chunk().ok_or(truncated.clone())?;
        let length = u32::from_le_bytes(*length) as usize;
        if length > MAX_HEADER {
            return Err(PreambleError::Corrupt("the header is too long"));
        }
        let (json, rest) = rest.split_at_checked(length).ok_or(truncated.clone())?;
        let (seed, rest) = rest.split_first_chunk().ok_or(truncated.clone())?;
        let hash = rest.first_chunk().ok_or(truncated)?;
        if XxHash3_64::oneshot(&bytes[..FIXED + length + 8]) != u64::from_le_bytes(*hash) {
            return Err(PreambleError::Corrupt("checksum mismatch in the header"));
        }
        let header = serde_json::from_slice(json)
            .map_err(|_| PreambleError::Corrupt("the header is not valid JSON"))?;
        let length = (FIXED + length + TRAILER) as u64;
        Ok(Self { header, seed: u64::from_le_bytes(*seed), length })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header::new("", "v1", "pods").cluster("c").namespaces(["b", "a", "b"]).shard("1/2")
    }

    fn encoded() -> Vec<u8> {
        Preamble::new(header(), 7).unwrap().encode()
    }

    #[test]
    fn decodes_what_it_encoded() {
        let mut bytes = encoded();
        bytes.extend_from_slice(b"more");
        let read = Preamble::decode(&bytes).unwrap();
        assert_eq!((read.header, read.seed, read.length), (header(), 7, bytes.len() as u64 - 4));
    }

    #[test]
    fn detects_every_flipped_bit() {
        let bytes = encoded();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(Preamble::decode(&flipped).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn distinguishes_truncated_unknown_and_newer_files() {
        let bytes = encoded();
        for length in 0..bytes.len() {
            let outcome = Preamble::decode(&bytes[..length]).unwrap_err();
            assert_eq!(outcome, PreambleError::Corrupt("the header is truncated"), "{length}");
        }
        assert_eq!(Preamble::decode(b"#!/bin/sh").unwrap_err(), PreambleError::UnknownFile);
        assert_eq!(Preamble::decode(b"#!").unwrap_err(), PreambleError::UnknownFile);
        let newer = [&MAGIC[..], &2_u32.to_le_bytes()].concat();
        assert_eq!(Preamble::decode(&newer).unwrap_err(), PreambleError::UnsupportedFormat(2));
    }
}
