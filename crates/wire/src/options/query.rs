//! Parses query strings.

use super::{
    list::ListOptions,
    parameter::{QueryError, Reader},
    watch::WatchOptions,
};

/// The options in a query string: watch options if the parameter `watch` is set, otherwise list options.
///
/// ```
/// use kube_informer_wire::Query;
///
/// assert!(matches!(Query::parse("limit=5")?, Query::List(options) if options.limit.is_some()));
/// assert!(matches!(Query::parse("watch=1")?, Query::Watch(_)));
/// # Ok::<(), kube_informer_wire::QueryError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Query {
    /// A list.
    List(ListOptions),
    /// A watch.
    Watch(WatchOptions),
}

impl Query {
    /// Parses a query string, without a leading `?`, as the API server does.
    ///
    /// Unknown parameters are ignored, the first of duplicate parameters counts, and invalid UTF-8 is replaced.
    ///
    /// # Errors
    /// [`QueryError`] if a parameter is invalid.
    pub fn parse(query: &str) -> Result<Self, QueryError> {
        let query = Reader::new(query);
        if query.flag("watch") == Some(true) {
            WatchOptions::read(&query).map(Self::Watch)
        } else {
            ListOptions::read(&query).map(Self::List)
        }
    }
}
