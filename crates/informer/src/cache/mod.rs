//! What is true now: a local, indexed copy of a resource, with one writer and many readers.
//!
//! # Why a persistent trie
//!
//! A controller lists its cache while the watch goes on, and a map behind a lock lets the readers starve the writer.
//! Here the objects and the index values live in hash tries that share structure. The writer changes its own copy,
//! which costs it the few nodes on the path to what it touches, and publishes the new root in one atomic step; a
//! reader loads that root and walks it for as long as it likes. So reads take no lock, never wait and never make
//! anyone wait, and what a reader sees is one moment: objects, indexes and version that belong together, never half
//! a relist.
//!
//! `cargo bench -p kube-informer --bench store` measures this against the alternatives: a map behind a reader-writer
//! lock, and a general persistent map.

mod trie;
mod entry;
mod index;
mod snapshot;
mod cell;
mod writer;
#[cfg(feature = "saved")]
mod bulk;
mod lister;
mod store;

#[cfg(test)]
mod encoded_tests;
#[cfg(test)]
mod tests;

pub use entry::Entry;
pub use index::{IndexConflictError, NAMESPACE, UnknownIndexError};
pub use lister::{Lister, NotFoundError};
pub use snapshot::Snapshot;
pub use store::{Store, StoreBuilder, WaitError};
pub use writer::{Edit, Writer};
pub(crate) use writer::{EventSink, Scope};
