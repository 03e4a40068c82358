//! What a reflector can be told to do.

use kube_informer_wire::{ListOptions, ResourceVersion, WatchOptions};
use std::time::Duration;
use tokio::time::Instant;

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Ask at which version the server is, by a list of one object of which nothing is kept.
    Probe(ListOptions),
    /// List a page and collect its items; those collected before it stay if it is a further page.
    List(ListOptions, Page),
    /// Open a watch that begins with the initial state, waiting no longer than this, and collect that anew.
    Stream(WatchOptions, Instant),
    /// Open a watch, waiting no longer than this.
    Watch(WatchOptions, Instant),
    /// Read an event of the open watch, waiting no longer than this.
    Read(Reading, Instant),
    /// Hand on what was collected, at this version.
    Replace(Option<ResourceVersion>),
    /// Tell that the watch goes on from what was restored.
    Resumed,
    /// Wait.
    Wait(Duration),
}

/// How the whole state is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Via {
    List,
    Stream,
}

/// Which page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Page {
    First,
    Further,
}

/// What an event is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// To collect the initial state.
    Collect,
    /// To hand it on.
    Deliver,
}

/// What kind of event was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// An addition, which may be made up by the server to tell the initial state.
    Added,
    /// A change, a deletion, or something unknown: it happened just then.
    Happened,
}

/// What follows a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// A new round: the initial state again.
    Round,
    /// Another stream.
    Stream,
    /// A watch from where the last one ended.
    Watch,
    /// The question whether the watch can go on from what was restored.
    Probe,
}
