//! Whose state a file holds, and how the file says so in its first bytes.

use serde::{Deserialize, Serialize};
use std::fmt;
use twox_hash::XxHash3_64;

/// What a saved state is a state of; only who asks for the very same gets it back.
///
/// Two informers that differ in any of this see different objects, or different bytes of them, so neither may go on
/// from what the other saved.
///
/// ```
/// use kube_informer_saved::Header;
///
/// let header = Header::new("apps", "v1", "deployments").cluster("5f1e").namespaces(["web", "db"]).labels("tier=front");
/// assert_eq!(header.to_string(), "deployments.v1.apps of cluster 5f1e in db,web where tier=front");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Header {
    /// The uid of the namespace `kube-system`, which stands for the cluster; nothing where it may not be read.
    pub cluster: Option<String>,
    /// The API group; empty for the core group.
    pub group: String,
    /// The version within the group.
    pub version: String,
    /// The plural name of the resource.
    pub plural: String,
    /// The namespaces that are followed, in order; none means all.
    pub namespaces: Vec<String>,
    /// The label selector; empty for everything.
    pub labels: String,
    /// The field selector; empty for everything.
    pub fields: String,
    /// The name of what is done to objects before they are kept; empty for nothing. A transform that changes what it does
    /// changes its name.
    pub transform: String,
    /// Which part of the objects is followed; empty for all.
    pub shard: String,
}

/// Where what is saved and what is asked for differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) field: &'static str,
    pub(crate) saved: String,
    pub(crate) wanted: String,
}

impl Header {
    /// The state of all objects of a resource, as a server sends them.
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

    /// Names the cluster by the uid of its namespace `kube-system`.
    #[must_use]
    pub fn cluster(self, uid: impl Into<String>) -> Self {
        Self { cluster: Some(uid.into()), ..self }
    }

    /// Of these namespaces alone, in whatever order they are named.
    #[must_use]
    pub fn namespaces<N: Into<String>>(self, namespaces: impl IntoIterator<Item = N>) -> Self {
        let mut namespaces: Vec<String> = namespaces.into_iter().map(Into::into).collect();
        namespaces.sort();
        namespaces.dedup();
        Self { namespaces, ..self }
    }

    /// Of objects with these labels alone.
    #[must_use]
    pub fn labels(self, selector: impl Into<String>) -> Self {
        Self { labels: selector.into(), ..self }
    }

    /// Of objects with these fields alone.
    #[must_use]
    pub fn fields(self, selector: impl Into<String>) -> Self {
        Self { fields: selector.into(), ..self }
    }

    /// After a transform of this name.
    #[must_use]
    pub fn transform(self, name: impl Into<String>) -> Self {
        Self { transform: name.into(), ..self }
    }

    /// Of this shard alone.
    #[must_use]
    pub fn shard(self, shard: impl Into<String>) -> Self {
        Self { shard: shard.into(), ..self }
    }

    /// The first field in which a saved state is not the one that is asked for.
    pub(crate) fn difference(saved: &Self, wanted: &Self) -> Option<Difference> {
        let fields = saved.parts().into_iter().zip(wanted.parts());
        let mut different = fields.filter(|((_, saved), (_, wanted))| saved != wanted);
        different.next().map(|((field, saved), (_, wanted))| Difference { field, saved, wanted })
    }

    fn parts(&self) -> [(&'static str, String); 9] {
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

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.plural, self.version)?;
        let (namespaces, cluster) = (self.namespaces.join(","), self.cluster.as_deref().unwrap_or_default());
        let parts: [(&str, &str); 7] = [
            (".", &self.group),
            (" of cluster ", cluster),
            (" in ", &namespaces),
            (" where ", &self.labels),
            (" where ", &self.fields),
            (" after ", &self.transform),
            (" of shard ", &self.shard),
        ];
        parts
            .iter()
            .filter(|(_, part)| !part.is_empty())
            .try_for_each(|(word, part)| write!(f, "{word}{part}"))
    }
}

/// The first bytes of a file: what it is, of which format, whose, and what its frames are checked with.
#[derive(Clone, Debug)]
pub(crate) struct Preamble {
    pub(crate) header: Header,
    /// Drawn for each file, so that no frame of another file passes for one of this.
    pub(crate) seed: u64,
    /// How many bytes it takes.
    pub(crate) length: u64,
}

/// Why the first bytes of a file are none of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoPreamble {
    /// The file does not begin as ours do.
    Foreign,
    /// The file was written by a newer release, in this format.
    Newer(u32),
    /// It begins as ours do, and is damaged.
    Damaged(&'static str),
}

const MAGIC: [u8; 8] = *b"kisaved\n";
/// The format that this release writes, and the only one that it reads.
pub(crate) const FORMAT: u32 = 1;
/// Magic, format, and length of the header.
const FIXED: usize = 16;
/// The seed, and the hash over all before it.
const TRAILER: usize = 16;
/// No header is longer than this.
const MAX_HEADER: usize = 1 << 20;
/// As many bytes as it takes to read any preamble.
pub(crate) const MAX_PREAMBLE: usize = FIXED + MAX_HEADER + TRAILER;

impl Preamble {
    /// The first bytes of a new file; nothing if the header is longer than a header may be.
    pub(crate) fn write(header: &Header, seed: u64) -> Option<(Self, Vec<u8>)> {
        let json = serde_json::to_vec(header).ok().filter(|json| json.len() <= MAX_HEADER)?;
        let mut bytes = Vec::with_capacity(FIXED + json.len() + TRAILER);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&FORMAT.to_le_bytes());
        bytes.extend_from_slice(&u32::try_from(json.len()).ok()?.to_le_bytes());
        bytes.extend_from_slice(&json);
        bytes.extend_from_slice(&seed.to_le_bytes());
        let hash = XxHash3_64::oneshot(&bytes);
        bytes.extend_from_slice(&hash.to_le_bytes());
        Some((Self { header: header.clone(), seed, length: bytes.len() as u64 }, bytes))
    }

    /// Reads the first bytes of a file, of which there may be more than it takes.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, NoPreamble> {
        let cut = NoPreamble::Damaged("it is cut short");
        let Some((magic, rest)) = bytes.split_first_chunk::<8>() else {
            return Err(if MAGIC.starts_with(bytes) { cut } else { NoPreamble::Foreign });
        };
        if *magic != MAGIC {
            return Err(NoPreamble::Foreign);
        }
        let (format, rest) = rest.split_first_chunk().ok_or(cut.clone())?;
        match u32::from_le_bytes(*format) {
            FORMAT => {}
            0 => return Err(NoPreamble::Damaged("it has no format")),
            newer => return Err(NoPreamble::Newer(newer)),
        }
        let (length, rest) = rest.split_first_chunk().ok_or(cut.clone())?;
        let length = u32::from_le_bytes(*length) as usize;
        if length > MAX_HEADER {
            return Err(NoPreamble::Damaged("its header has no end"));
        }
        let (json, rest) = rest.split_at_checked(length).ok_or(cut.clone())?;
        let (seed, rest) = rest.split_first_chunk().ok_or(cut.clone())?;
        let hash = rest.first_chunk().ok_or(cut)?;
        if XxHash3_64::oneshot(&bytes[..FIXED + length + 8]) != u64::from_le_bytes(*hash) {
            return Err(NoPreamble::Damaged("its header does not match its checksum"));
        }
        let header =
            serde_json::from_slice(json).map_err(|_| NoPreamble::Damaged("its header cannot be read"))?;
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

    #[test]
    fn reads_what_it_wrote_whatever_follows() {
        let (_, mut bytes) = Preamble::write(&header(), 7).unwrap();
        bytes.extend_from_slice(b"more");
        let read = Preamble::read(&bytes).unwrap();
        assert_eq!((read.header, read.seed, read.length), (header(), 7, bytes.len() as u64 - 4));
    }

    #[test]
    fn no_flipped_bit_goes_unnoticed() {
        let (_, bytes) = Preamble::write(&header(), 7).unwrap();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(Preamble::read(&flipped).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn tells_cut_foreign_and_newer_files_apart() {
        let (_, bytes) = Preamble::write(&header(), 7).unwrap();
        for length in 0..bytes.len() {
            let outcome = Preamble::read(&bytes[..length]).unwrap_err();
            assert_eq!(outcome, NoPreamble::Damaged("it is cut short"), "{length}");
        }
        assert_eq!(Preamble::read(b"#!/bin/sh").unwrap_err(), NoPreamble::Foreign);
        assert_eq!(Preamble::read(b"#!").unwrap_err(), NoPreamble::Foreign);
        let newer = [&MAGIC[..], &2_u32.to_le_bytes()].concat();
        assert_eq!(Preamble::read(&newer).unwrap_err(), NoPreamble::Newer(2));
    }
}
