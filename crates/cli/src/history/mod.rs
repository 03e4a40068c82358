//! Reads recordings: `informer history`, `changes`, `get` and `diff`.

pub(crate) mod last_recording;
mod reader;
mod entry;
mod printer;
mod versions;
mod changes;
mod get;
mod diff;

pub(crate) use changes::run as changes;
pub(crate) use diff::run as diff;
pub(crate) use get::run as get;
pub(crate) use versions::run as versions;
