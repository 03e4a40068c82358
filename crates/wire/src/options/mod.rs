//! The options of a list and of a watch, and their query strings.

mod parameter;

mod list;

mod watch;

mod streaming;

mod query;

#[cfg(test)]
mod tests;

#[cfg(test)]
mod properties;

pub use list::{ListOptions, VersionMatch};
pub use parameter::QueryError;
pub use query::Query;
pub use watch::WatchOptions;
