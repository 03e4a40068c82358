//! JSON text, read from value to value or passed over.

mod scan;

mod reader;

pub(crate) use reader::{JsonError, JsonReader, Number};
pub(crate) use scan::{skip, string_end};
