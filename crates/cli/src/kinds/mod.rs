//! The kinds of a server, and their names.

mod kind;
mod whole;
mod similar_names;
mod documents;
mod catalog;
mod discovery;

pub(crate) use catalog::Catalog;
pub(crate) use discovery::{discover, read};
pub(crate) use kind::Kind;
pub(crate) use whole::whole;
