//! How a reflector goes about its work.

use super::backoff::Backoff;
use std::{num::NonZeroU64, time::Duration};

/// What can be set on a reflector; the defaults are client-go's.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Config {
    /// How the initial state is asked for.
    pub strategy: Strategy,
    /// How many objects a page has. Nothing leaves it to the reflector: pages of 500, except where one answer lets the
    /// server read from its cache.
    pub page_size: Option<NonZeroU64>,
    /// How waits grow while something fails.
    pub backoff: Backoff,
    /// The shortest time after which the server is asked to end a watch; a time between this and its double is drawn for
    /// each. Less than five minutes counts as five.
    pub min_watch_timeout: Duration,
    /// How long internal errors of the server (500) within a watch are answered by watching again at once.
    pub internal_error_patience: Duration,
    /// How often everything known is told again; zero means never.
    pub resync: Duration,
    /// Whether a streamed state is held against a list.
    pub consistency: Consistency,
}

/// How the initial state is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// As the beginning of the watch (`sendInitialEvents`), and by a list where that does not work.
    #[default]
    Stream,
    /// As the beginning of the watch, and in no other way: where that does not work, it is tried again, with waits that
    /// grow. A source that [says](crate::source::ListerWatcher::can_stream_lists) that it has no streams is listed.
    StreamOnly,
    /// By a list.
    List,
}

/// Whether a streamed state is held against a list at exactly its version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Consistency {
    /// It is trusted.
    #[default]
    Trusted,
    /// It is checked, and differences of keys, uids and versions are reported. The watch waits meanwhile, and everything
    /// is in memory twice: this is for tests.
    Checked,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            strategy: Strategy::default(),
            page_size: None,
            backoff: Backoff::default(),
            min_watch_timeout: Duration::from_secs(300),
            internal_error_patience: Duration::ZERO,
            resync: Duration::ZERO,
            consistency: Consistency::default(),
        }
    }
}
