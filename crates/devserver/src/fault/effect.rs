//! The effect of all faults on one request.

use crate::fault::{description::Manner, hit_count::HitCount};
use std::{sync::Arc, time::Duration};

/// The effect of all faults on one request.
#[derive(Debug, Default)]
pub(crate) struct Effect {
    /// The delays before the request is processed.
    pub(crate) stalls: Vec<Stall>,
    /// The response: its code and `Retry-After`.
    pub(crate) answer: Option<(u16, Option<Duration>)>,
    /// Whether a streaming list is refused.
    pub(crate) refuses_streaming: bool,
    /// Whether its continue token has expired.
    pub(crate) expires_continue: bool,
    /// The size of the chunks of the response body.
    pub(crate) pieces: Option<usize>,
    /// The effect on the watch that it opens.
    pub(crate) watch: WatchEffect,
}

/// The delay of a request.
#[derive(Debug)]
pub(crate) enum Stall {
    /// A duration.
    For(Duration),
    /// Until the fault with this number is removed.
    UntilWithdrawn(u64),
}

/// The effect of all faults on a watch.
#[derive(Debug, Default)]
pub(crate) struct WatchEffect {
    /// The early end.
    pub(crate) cuts: Vec<Cut>,
    /// Its bookmarks.
    pub(crate) bookmarks: BookmarkEffect,
    /// The bookmark that ends the initial events.
    pub(crate) initial_events_end: BookmarkEffect,
}

/// The early end of a watch.
#[derive(Debug)]
pub(crate) struct Cut {
    /// After this number of events.
    pub(crate) events: Option<u64>,
    /// After this duration.
    pub(crate) time: Option<Duration>,
    pub(crate) manner: Manner,
    pub(crate) hits: Arc<HitCount>,
}

/// Whether bookmarks are sent.
#[derive(Debug, Default)]
pub(crate) enum BookmarkEffect {
    /// They are sent.
    #[default]
    Kept,
    /// They are not sent.
    Dropped(Arc<HitCount>),
    /// They are sent later.
    Delayed(Duration, Arc<HitCount>),
}
