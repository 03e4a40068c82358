//! The forms other than itself in which an object is served.

mod partial;

mod age;

mod table;

pub(crate) use table::{Include, TableOptions, table};
