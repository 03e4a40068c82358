//! A local, indexed copy of a resource, with one writer and many readers.
//!
//! # Why a persistent trie
//!
//! A controller lists its cache while the watch is running. With a map behind a lock, readers can starve the writer.
//! The objects and the index values are therefore stored in persistent hash tries. The writer copies only the nodes on
//! the path to an object that it changes, and publishes the new root atomically. Readers load the root and iterate over
//! it without a lock. They never block the writer, and they always see a consistent state: objects, indexes and version
//! match, and a relist is visible either completely or not at all.
//!
//! While the store is not read, batches of changes are applied in place and not published, and replaced objects are freed at once. The
//! next reader publishes them. It may wait for the end of the batch that is being applied, but never for a list.
//!
//! `cargo bench -p kube-informer --bench store` compares this with a map behind a reader-writer lock and with a
//! general-purpose persistent map.

mod trie;
mod entry;
mod index;
mod snapshot;
mod cell;
mod writer;
mod bulk;
mod lister;
mod store;

#[cfg(test)]
mod encoded_tests;
#[cfg(test)]
mod publication_tests;
#[cfg(test)]
mod tests;

pub use entry::Entry;
pub use index::{IndexConflictError, NAMESPACE, UnknownIndexError};
pub use lister::{Lister, NotFoundError};
pub use snapshot::Snapshot;
pub use store::{Store, StoreBuilder, WaitError};
pub use writer::{Edit, Writer};
pub(crate) use writer::{EventSink, Scope};
