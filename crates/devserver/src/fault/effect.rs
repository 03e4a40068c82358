//! The effect of all faults on one request.

use crate::fault::{description::Manner, hit_count::HitCount};
use std::{sync::Arc, time::Duration};

/// The effect of all faults on one request.
#[derive(Debug, Default)]
pub(crate) struct Effect {
    /// The delays before the request is processed.
    pub(crate) stalls: Vec<Stall>,
    /// The response instead of the regular one: its code and `Retry-After`.
    pub(crate) answer: Option<(u16, Option<Duration>)>,
    /// True if a streaming list is refused.
    pub(crate) refuses_streaming: bool,
    /// True if the continue token is treated as expired.
    pub(crate) expires_continue: bool,
    /// The size of the chunks of the response body.
    pub(crate) pieces: Option<usize>,
    /// The effect on the watch that the request opens.
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
    /// The conditions of an early end.
    pub(crate) cuts: Vec<Cut>,
    /// The effect on its bookmarks.
    pub(crate) bookmarks: BookmarkEffect,
    /// The effect on the bookmark that ends the initial events.
    pub(crate) initial_events_end: BookmarkEffect,
}

/// A condition of the early end of a watch.
#[derive(Debug)]
pub(crate) struct Cut {
    /// After this number of events.
    pub(crate) events: Option<u64>,
    /// After this duration.
    pub(crate) time: Option<Duration>,
    pub(crate) manner: Manner,
    pub(crate) hits: Arc<HitCount>,
}

/// The effect on bookmarks.
#[derive(Debug, Default)]
pub(crate) enum BookmarkEffect {
    /// They are sent without a change.
    #[default]
    Kept,
    /// They are not sent.
    Dropped(Arc<HitCount>),
    /// They are sent later.
    Delayed(Duration, Arc<HitCount>),
}
