//! What a reflector tells of itself: failures as they happen, and where it stands.

use super::{
    inventory::Differences,
    step::{Reading, Then},
};
use crate::source::{BoxError, Encoded, Error, KindError};
use kube_informer_wire::{ObjectError, ResourceVersion};
use std::{fmt, sync::Arc, time::Duration};

/// A failure, what was being done, and what happens next.
#[derive(Debug)]
#[non_exhaustive]
pub struct Report<'r> {
    /// Which reflector.
    pub name: &'r str,
    /// Which kind of objects, in words such as `apps/v1 Deployment`.
    pub resource: &'r str,
    /// What was being done.
    pub activity: Activity,
    /// What went wrong.
    pub cause: Cause<'r>,
    /// What happens next.
    pub outlook: Outlook,
}

/// What a reflector is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Activity {
    /// Listing.
    List,
    /// Reading the initial state as the beginning of a watch.
    Stream,
    /// Watching.
    Watch,
    /// Handing on what was seen.
    Deliver,
    /// Holding a streamed state against a list.
    Check,
}

impl Activity {
    /// What a watch is read for.
    pub(super) fn of(reading: Reading) -> Self {
        match reading {
            Reading::Collect => Self::Stream,
            Reading::Deliver => Self::Watch,
        }
    }
}

/// What went wrong.
#[derive(Debug)]
#[non_exhaustive]
pub enum Cause<'r> {
    /// The server, or the way to it.
    Source(&'r Error),
    /// One object, which is left out.
    Object(&'r ObjectError),
    /// One object of another kind, which is left out.
    Kind(&'r KindError),
    /// One object that was not let in, and is left out: it has no key, or the transform failed.
    Rejected(&'r (dyn std::error::Error + 'static)),
    /// The sink.
    Sink(&'r BoxError),
    /// A watch that ended within a second without an event.
    VeryShortWatch,
    /// A stream that ended, or fell silent, before its initial state was complete.
    BrokenStream,
    /// A streamed state that is not what a list finds.
    Inconsistent(&'r Differences),
}

/// What happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outlook {
    /// It goes on with the next event or item.
    GoesOn,
    /// It tries another way at once.
    TriesAnotherWay,
    /// It waits, then opens the watch again from where it stands.
    WatchesAgain(Duration),
    /// It waits, then begins again with the whole state, or by asking whether a watch can go on from what was restored.
    BeginsAgain(Duration),
}

/// Hears of every failure.
pub(super) type ErrorHandler = Arc<dyn Fn(&Report<'_>) + Send + Sync>;

/// Where a reflector stands.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// What it is doing.
    pub phase: Phase,
    /// Up to which version everything has reached the sink.
    pub version: Option<ResourceVersion>,
    /// The last failure, in words; nothing once a watch has gone on since.
    pub last_error: Option<String>,
    /// What was done so far.
    pub counts: Counts,
    /// How much has come of the whole state that was asked for last. That this grows wakes nobody who waits for a change.
    pub progress: Progress,
    /// What the last answer of the source was encoded in, where it tells.
    pub encoded: Option<Encoded>,
}

/// How much of the whole state has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// So many objects have come; some may have come more than once, or be gone since.
    pub received: u64,
    /// So many there will be, about, where the server tells: it does so where a list comes in pages (`remainingItemCount`)
    /// and no selector narrows it.
    pub expected: Option<u64>,
}

/// What a reflector is doing, as its status tells it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// It has not begun.
    #[default]
    Idle,
    /// It asks for the whole state.
    Listing,
    /// It follows the changes.
    Watching,
    /// It waits after a failure.
    Waiting,
    /// It was stopped.
    Stopped,
}

/// How often a reflector did something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Lists begun, whatever their number of pages.
    pub lists: u64,
    /// Watches opened to read the initial state.
    pub streams: u64,
    /// Watches opened to follow changes.
    pub watches: u64,
    /// States handed on whole.
    pub replaces: u64,
    /// How many of these came as a stream, and not as a list.
    pub streamed: u64,
    /// Changes handed on.
    pub events: u64,
    /// Failures reported.
    pub errors: u64,
}

impl Outlook {
    pub(super) fn of(waiting: Option<(Duration, Then)>) -> Self {
        match waiting {
            None => Self::TriesAnotherWay,
            Some((delay, Then::Watch)) => Self::WatchesAgain(delay),
            Some((delay, Then::Round | Then::Stream | Then::Probe)) => Self::BeginsAgain(delay),
        }
    }
}

impl Default for Status {
    fn default() -> Self {
        Self {
            phase: Phase::Idle,
            version: None,
            last_error: None,
            counts: Counts::default(),
            progress: Progress::default(),
            encoded: None,
        }
    }
}

impl Cause<'_> {
    /// A word for it, as the [metrics](super::metrics) call it: that of [`Error::label`], or `object`, `kind`, `rejected`, `sink`,
    /// `very_short_watch`, `broken_stream`, `inconsistent`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Source(error) => error.label(),
            Self::Object(_) => "object",
            Self::Kind(_) => "kind",
            Self::Rejected(_) => "rejected",
            Self::Sink(_) => "sink",
            Self::VeryShortWatch => "very_short_watch",
            Self::BrokenStream => "broken_stream",
            Self::Inconsistent(_) => "inconsistent",
        }
    }
}

/// So many characters of an error are told.
const LONGEST: usize = 4096;

/// The error and its causes, one after the other, cut where that is long.
impl fmt::Display for Cause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut error: &dyn std::error::Error = match self {
            Self::Source(error) => error,
            Self::Object(error) => error,
            Self::Kind(error) => error,
            Self::Rejected(error) => *error,
            Self::Sink(error) => &***error,
            Self::VeryShortWatch => return f.write_str("watch lasted less than a second and no event came"),
            Self::BrokenStream => return f.write_str("stream ended before the initial state was complete"),
            Self::Inconsistent(differences) => return differences.fmt(f),
        };
        let mut text = error.to_string();
        while let Some(cause) = error.source() {
            text = format!("{text}: {cause}");
            error = cause;
        }
        // What a server calls things may be as long as it likes, and this goes to logs.
        match text.char_indices().nth(LONGEST) {
            None => f.write_str(&text),
            Some((end, _)) => write!(f, "{}…", &text[..end]),
        }
    }
}

impl Report<'_> {
    /// Logs the failure, quietly where it is part of the usual course: what happens where nobody else hears of it.
    pub fn log(&self) {
        let Self { name, resource, activity, cause, outlook } = self;
        match cause {
            Cause::Source(error) if error.is_expired() => {
                tracing::debug!(reflector = name, resource, ?activity, %cause, ?outlook, "version expired");
            }
            _ => tracing::warn!(reflector = name, resource, ?activity, %cause, ?outlook, "reflector failed"),
        }
    }
}
