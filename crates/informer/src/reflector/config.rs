//! The configuration of a reflector.

use super::backoff::Backoff;
use std::{num::NonZeroU64, time::Duration};

/// Configures a reflector; the defaults are those of client-go, except for `idle_timeout`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Config {
    /// The way full lists are requested.
    pub strategy: Strategy,
    /// The number of objects per page. `None` means 500, except where a single response lets the server read from its
    /// cache.
    pub page_size: Option<NonZeroU64>,
    /// The delays between retries.
    pub backoff: Backoff,
    /// The minimum timeout of a watch; each watch gets a random timeout between this and twice this. The minimum is
    /// five minutes, the maximum one day. Watches of sources that send no bookmarks have a shorter timeout; see
    /// [`idle_timeout`](Self::idle_timeout).
    pub min_watch_timeout: Duration,
    /// The time without any data after which a watch is considered dead and is opened again from its last version. The default
    /// is 90 seconds, the minimum 10 seconds, the maximum one day.
    ///
    /// kube-apiserver sends a bookmark every 60 to 75 seconds. For a source that has not sent a bookmark yet, or with an
    /// `idle_timeout` below 80 seconds, watches request a timeout slightly below this one, so that the server ends a quiet watch
    /// before it is considered dead.
    pub idle_timeout: Duration,
    /// The state that the first LIST returns.
    pub initial_list: InitialList,
    /// The time for which internal errors (500) in an open watch are retried by watching again immediately. Zero, the
    /// default, means that they cause a relist.
    pub internal_error_retry_window: Duration,
    /// The resync period; zero means never.
    pub resync: Duration,
    /// The check of streaming lists.
    pub consistency: Consistency,
}

/// The way full lists are requested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// As a streaming list (`sendInitialEvents`), with a fallback to LIST.
    #[default]
    Stream,
    /// As a streaming list without a fallback: failures are retried with backoff. A source that does not
    /// [support](crate::source::ListerWatcher::can_stream_lists) streaming lists is listed.
    StreamOnly,
    /// With LIST.
    List,
}

/// The state that the first LIST returns. A streaming list always returns the most recent state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InitialList {
    /// Any state that the server has cached (`resourceVersion=0`), as in client-go. It is the cheapest for the server. It may be
    /// older than a state that an earlier process has seen, if another server responds that lags behind.
    #[default]
    Cached,
    /// The most recent state (no `resourceVersion`). Servers before Kubernetes 1.31 read it from etcd.
    MostRecent,
}

/// Whether a streaming list is compared with a LIST at exactly its version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Consistency {
    /// It is not compared.
    #[default]
    Trusted,
    /// Differences of keys, UIDs and versions are reported. Meanwhile, the watch is not read and the objects are in memory twice.
    /// Use this in tests.
    Checked,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            strategy: Strategy::default(),
            page_size: None,
            backoff: Backoff::default(),
            min_watch_timeout: Duration::from_secs(300),
            idle_timeout: Duration::from_secs(90),
            initial_list: InitialList::default(),
            internal_error_retry_window: Duration::ZERO,
            resync: Duration::ZERO,
            consistency: Consistency::default(),
        }
    }
}
