//! The objects in memory: encoded once, with versions from one counter, and a bounded history.

mod record;

mod raw;

mod selection;

mod event;

mod history;

mod collection;

mod token;

mod page;

mod journal;

mod store;

#[cfg(test)]
mod tests;

pub(crate) use event::End;
pub use journal::DataError;
pub(crate) use journal::{Journal, SavedChange};
pub(crate) use page::{Page, Span};
pub(crate) use record::{Content, Part, Record, head};
pub(crate) use selection::Selection;
pub(crate) use store::{Batch, CollectionId, Position, ReadError, Store, StoreSnapshot, Write, WriteError};
pub(crate) use token::Token;
