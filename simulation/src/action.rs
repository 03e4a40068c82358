//! The actions of a scenario: writes, faults, changes of subscribers, and replacements of the informer.

use kube_informer::subscription::{Policy, Replay};
use std::{fmt, num::NonZeroUsize, time::Duration};

/// An action with all its random choices.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    /// Creates an object, or changes it if it exists.
    Write(ObjectName, Tier),
    /// Deletes an object.
    Delete(ObjectName),
    /// Deletes an object and creates another one with the same name.
    Recreate(ObjectName, Tier),
    /// Changes one object this number of times.
    Burst(ObjectName, u64, Backpressure),
    /// Injects a fault into the next requests, and may cause such a request.
    Fault(RequestFault, Trigger),
    /// Closes all watches.
    Cut,
    /// Drops the history of the server.
    Compact,
    /// Restarts the server with its data.
    Restart,
    /// Closes all watches, changes this number of objects and drops the history, so that a relist is needed.
    Expire(u64),
    /// Adds a subscriber.
    Subscribe(SubscriberProfile),
    /// Removes a subscriber.
    Unsubscribe(usize),
    /// Reads a number of events from a subscriber that reads only on request.
    Read(usize, usize),
    /// Ends the informer, and starts another one later.
    Replace(Ending, Downtime),
    /// Upgrades the server, which then serves other content under the same versions, and makes all watches expire.
    Upgrade,
    /// Ends all faults, and compares cache, events and server.
    CheckCalm,
}

/// The number of a namespace, and of an object in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ObjectName {
    pub(crate) namespace: usize,
    pub(crate) number: u64,
}

/// The value of the label `tier`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tier {
    Front,
    Back,
}

/// Whether a subscriber delays all others during a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backpressure {
    None,
    /// A blocking subscriber joins and does not read.
    Blocked,
}

/// The end of an informer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It is stopped, and its end is awaited.
    Stopped,
    /// Its handle is dropped.
    Dropped,
    /// Its process is killed, and its files may be damaged.
    Killed(Damage),
}

/// The damage to a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Damage {
    None,
    /// A file is truncated at this position.
    Truncated(FilePosition),
    /// A bit is flipped at this position.
    Flipped(FilePosition),
    /// New files are incomplete from this position on.
    Unfinished(FilePosition),
    /// The folder belongs to another resource.
    OtherResource,
}

/// A position in one of several files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FilePosition {
    pub(crate) file: u64,
    /// The distance to the last byte.
    pub(crate) back: u64,
}

/// The changes while there is no informer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Downtime {
    /// The number of writes, to `from` and the following objects.
    pub(crate) writes: u64,
    pub(crate) from: ObjectName,
    /// Whether the history of the server is dropped.
    pub(crate) is_compacted: bool,
    /// If set, the first watch of the next informer is closed after its first event, and a subscriber with
    /// `Replay::Differences` joins this long after the start.
    pub(crate) late: Option<Duration>,
}

/// The event that causes a request immediately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trigger {
    None,
    /// The watch is closed.
    Cut,
    /// The version of the watch expires.
    Expiry,
    /// The informer is replaced.
    Replacement,
}

/// The type of the requests that a fault affects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestType {
    List,
    Watch,
}

/// A fault of the server or of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestFault {
    Answer {
        request_type: RequestType,
        code: u16,
        retry_after: Option<u64>,
        times: u32,
    },
    Stall {
        request_type: RequestType,
        time: Duration,
    },
    CutAfterEvents {
        events: u64,
        abruptly: bool,
    },
    CutAfter {
        time: Duration,
        abruptly: bool,
    },
    SmallChunks {
        size: usize,
    },
    DropBookmarks,
    DelayBookmarks {
        time: Duration,
    },
    DropInitialEventsEnd,
    DelayInitialEventsEnd {
        time: Duration,
    },
    RefuseStreamingLists {
        times: u32,
    },
    ExpireContinue,
    RefuseConnections {
        time: Duration,
    },
    /// A body ends after this number of bytes.
    TruncateBody {
        request_type: RequestType,
        bytes: usize,
        abruptly: bool,
    },
    /// A body stops after this number of bytes, and the connection stays open.
    DeadBody {
        request_type: RequestType,
        bytes: usize,
    },
}

/// The properties of a subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SubscriberProfile {
    pub(crate) consumption: Consumption,
    pub(crate) policy: Policy,
    pub(crate) sees: Visibility,
    /// The resync period in seconds.
    pub(crate) resync: Option<u64>,
    /// The events for restored objects.
    pub(crate) replay: Replay,
}

/// The way in which events are received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Consumption {
    /// A stream that is read by [`Action::Read`].
    Read,
    /// A handler.
    Handler,
    /// An async handler that needs this time for each event.
    SlowHandler(Duration),
    /// A handler that panics each time it has received this number of events.
    PanickingHandler(u64),
}

/// The objects that a subscriber receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visibility {
    All,
    Namespace(usize),
    Tier(Tier),
}

impl SubscriberProfile {
    /// A handler that receives every event.
    pub(crate) const UNBOUNDED: Self = Self {
        consumption: Consumption::Handler,
        policy: Policy::Unbounded,
        sees: Visibility::All,
        resync: None,
        replay: Replay::All,
    };
    /// A blocking subscriber that reads only on request, with a limit of one event.
    pub(crate) const BLOCKED: Self =
        Self { consumption: Consumption::Read, policy: Policy::Block(NonZeroUsize::MIN), ..Self::UNBOUNDED };
}

/// The namespaces of the scenario, which exist in every cluster.
pub(crate) const NAMESPACES: [&str; 3] = ["default", "kube-public", "kube-system"];

impl Tier {
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Front => "front",
            Self::Back => "back",
        }
    }
}

impl Damage {
    /// The names of all kinds of damage.
    pub(crate) const KINDS: [&str; 5] = [
        "no damage",
        "a truncated file",
        "a flipped bit",
        "an unfinished file",
        "a folder of another resource",
    ];

    pub(crate) const fn kind(self) -> &'static str {
        match self {
            Self::None => Self::KINDS[0],
            Self::Truncated(_) => Self::KINDS[1],
            Self::Flipped(_) => Self::KINDS[2],
            Self::Unfinished(_) => Self::KINDS[3],
            Self::OtherResource => Self::KINDS[4],
        }
    }
}

impl Downtime {
    /// No change.
    pub(crate) const NONE: Self =
        Self { writes: 0, from: ObjectName { namespace: 0, number: 0 }, is_compacted: false, late: None };
}

impl ObjectName {
    pub(crate) fn namespace(self) -> &'static str {
        NAMESPACES[self.namespace]
    }

    pub(crate) fn name(self) -> String {
        format!("o{}", self.number)
    }
}

impl RequestFault {
    /// The names of all kinds of faults, as they appear in the statistics.
    pub(crate) const KINDS: [&str; 17] = [
        "error response to a list",
        "error response to a watch",
        "stalled list",
        "stalled watch",
        "cut after events",
        "cut after a time",
        "body in small chunks",
        "no bookmarks",
        "late bookmarks",
        "no end of the initial list",
        "late end of the initial list",
        "no streaming lists",
        "expired page",
        "refused connections",
        "truncated body",
        "dead list",
        "dead watch",
    ];

    /// Returns the type of the affected requests.
    pub(crate) const fn request_type(self) -> RequestType {
        match self {
            Self::Answer { request_type, .. }
            | Self::Stall { request_type, .. }
            | Self::TruncateBody { request_type, .. }
            | Self::DeadBody { request_type, .. } => request_type,
            Self::CutAfterEvents { .. } | Self::CutAfter { .. } | Self::SmallChunks { .. } => {
                RequestType::Watch
            }
            Self::DropBookmarks | Self::DelayBookmarks { .. } | Self::RefuseConnections { .. } => {
                RequestType::Watch
            }
            Self::DropInitialEventsEnd | Self::DelayInitialEventsEnd { .. } => RequestType::List,
            Self::RefuseStreamingLists { .. } | Self::ExpireContinue => RequestType::List,
        }
    }

    pub(crate) const fn kind(self) -> &'static str {
        match self {
            Self::Answer { request_type: RequestType::List, .. } => Self::KINDS[0],
            Self::Answer { request_type: RequestType::Watch, .. } => Self::KINDS[1],
            Self::Stall { request_type: RequestType::List, .. } => Self::KINDS[2],
            Self::Stall { request_type: RequestType::Watch, .. } => Self::KINDS[3],
            Self::CutAfterEvents { .. } => Self::KINDS[4],
            Self::CutAfter { .. } => Self::KINDS[5],
            Self::SmallChunks { .. } => Self::KINDS[6],
            Self::DropBookmarks => Self::KINDS[7],
            Self::DelayBookmarks { .. } => Self::KINDS[8],
            Self::DropInitialEventsEnd => Self::KINDS[9],
            Self::DelayInitialEventsEnd { .. } => Self::KINDS[10],
            Self::RefuseStreamingLists { .. } => Self::KINDS[11],
            Self::ExpireContinue => Self::KINDS[12],
            Self::RefuseConnections { .. } => Self::KINDS[13],
            Self::TruncateBody { .. } => Self::KINDS[14],
            Self::DeadBody { request_type: RequestType::List, .. } => Self::KINDS[15],
            Self::DeadBody { request_type: RequestType::Watch, .. } => Self::KINDS[16],
        }
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/o{}", self.namespace(), self.number)
    }
}
