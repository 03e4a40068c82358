//! What the faults of a script amount to for one request.

use crate::fault::{description::Manner, tally::Tally};
use std::{sync::Arc, time::Duration};

/// What is done to one request.
#[derive(Debug, Default)]
pub(crate) struct Effect {
    /// It waits this long for each of these first, or until the fault is withdrawn.
    pub(crate) stalls: Vec<Stall>,
    /// It is answered with this code, and told when to come again.
    pub(crate) answer: Option<(u16, Option<Duration>)>,
    /// It is refused because it asks for a streaming list.
    pub(crate) refuses_streaming: bool,
    /// Its continue token is taken for expired.
    pub(crate) expires_continue: bool,
    /// The answer's body goes out in pieces of so many bytes.
    pub(crate) pieces: Option<usize>,
    /// What is done to the watch that it begins.
    pub(crate) watch: WatchEffect,
}

/// How long a request waits.
#[derive(Debug)]
pub(crate) enum Stall {
    /// This long.
    For(Duration),
    /// Until the fault with this number is withdrawn.
    UntilWithdrawn(u64),
}

/// What is done to a watch.
#[derive(Debug, Default)]
pub(crate) struct WatchEffect {
    /// It ends before its time.
    pub(crate) cuts: Vec<Cut>,
    /// Its bookmarks.
    pub(crate) bookmarks: Notice,
    /// The bookmark that ends its initial events.
    pub(crate) initial_events_end: Notice,
}

/// When and how a watch ends.
#[derive(Debug)]
pub(crate) struct Cut {
    /// After so many events.
    pub(crate) events: Option<u64>,
    /// After this long.
    pub(crate) time: Option<Duration>,
    pub(crate) manner: Manner,
    pub(crate) tally: Arc<Tally>,
}

/// What becomes of something that the watch has to tell.
#[derive(Debug, Default)]
pub(crate) enum Notice {
    /// It is told.
    #[default]
    Kept,
    /// It is not told.
    Dropped(Arc<Tally>),
    /// It is told later.
    Delayed(Duration, Arc<Tally>),
}
