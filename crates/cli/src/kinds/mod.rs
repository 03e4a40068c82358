//! Which kinds a server has, and which one a word means.

mod kind;
mod whole;
mod likeness;
mod documents;
mod catalog;
mod discovery;

pub(crate) use catalog::Catalog;
pub(crate) use discovery::{discover, read};
pub(crate) use kind::Kind;
pub(crate) use whole::whole;
