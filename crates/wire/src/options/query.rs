//! A query string as a server reads it.

use super::{
    list::ListOptions,
    parameter::{QueryError, Reader},
    watch::WatchOptions,
};

/// What a query string asks for: the parameter `watch` decides which.
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
    /// Reads a query string, without the `?` before it, as the API server does.
    ///
    /// Parameters that it does not know are ignored, the first of several with one name counts, and bytes that are no
    /// UTF-8 become replacement characters.
    ///
    /// # Errors
    /// If a parameter cannot be read, or [breaks a rule](QueryError::is_rule).
    pub fn parse(query: &str) -> Result<Self, QueryError> {
        let query = Reader::new(query);
        if query.flag("watch") == Some(true) {
            WatchOptions::read(&query).map(Self::Watch)
        } else {
            ListOptions::read(&query).map(Self::List)
        }
    }
}
