//! One thing that is done to the world.

use kube_informer::subscription::{Policy, Replay};
use std::{fmt, num::NonZeroUsize, time::Duration};

/// Something that happens, with everything that chance had to say about it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Act {
    /// Makes an object, or changes it if it is there.
    Put(Place, Tier),
    /// Deletes an object.
    Delete(Place),
    /// Deletes an object and makes another of that name.
    Recreate(Place, Tier),
    /// Changes one object so many times.
    Burst(Place, u64, Crowd),
    /// Something goes wrong with requests to come, and with those that are made because of something else.
    Trouble(Trouble, Provoked),
    /// All watches break off.
    Cut,
    /// The server forgets its history.
    Compact,
    /// The server comes back with its data.
    Restart,
    /// Watches break off, so many objects change, and nobody remembers how.
    Forget(u64),
    /// A follower comes.
    Join(Manner),
    /// A follower leaves.
    Leave(usize),
    /// A follower that reads when it is told to reads so many events.
    Read(usize, usize),
    /// The informer ends, and after a while another one is started.
    Renew(Ending, Absence),
    /// Everything calms down, and is looked at.
    Settle,
}

/// An object: by the number of its namespace, and its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) namespace: usize,
    pub(crate) number: u64,
}

/// What a label of an object says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tier {
    Front,
    Back,
}

/// Whether somebody holds everyone up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Crowd {
    Free,
    /// One comes for whom others wait, and does not read.
    Stuck,
}

/// How an informer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It is told to, and waited for.
    Stopped,
    /// Its handle is dropped.
    Dropped,
    /// Its process is killed, and what it leaves behind is not as it should be.
    Killed(Damage),
}

/// What has happened to a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Damage {
    None,
    /// A file ends there.
    Torn(Spot),
    /// A bit is not what it was.
    Flipped(Spot),
    /// New files were begun, and come to there.
    Unfinished(Spot),
    /// It is of something else than what is asked for.
    OfAnother,
}

/// A place in one of some files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) file: u64,
    /// So many bytes before the last.
    pub(crate) back: u64,
}

/// What happens while there is no informer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Absence {
    /// So many objects are written to, from that place on.
    pub(crate) writes: u64,
    pub(crate) from: Place,
    /// The server forgets its history.
    pub(crate) is_forgotten: bool,
    /// The first watch of the next one is cut after its first event, and so long after the start one comes who wants to be told
    /// differences alone.
    pub(crate) late: Option<Duration>,
}

/// What makes an informer ask at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Provoked {
    /// Nothing does.
    Not,
    /// Its watch is cut.
    ByCut,
    /// Its version is forgotten.
    ByForgetting,
    /// It begins anew.
    ByRenewal,
}

/// Which requests something goes wrong with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    List,
    Watch,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    Answer {
        asked: Asked,
        code: u16,
        retry_after: Option<u64>,
        times: u32,
    },
    Stall {
        asked: Asked,
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
    Pieces {
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
    RefuseStreams {
        times: u32,
    },
    ExpireContinue,
    RefuseConnections {
        time: Duration,
    },
    /// A body ends after so many bytes.
    Tear {
        asked: Asked,
        bytes: usize,
        abruptly: bool,
    },
}

/// How a follower follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Manner {
    pub(crate) way: Way,
    pub(crate) policy: Policy,
    pub(crate) sees: Sees,
    /// How often it wants to be told again, in seconds.
    pub(crate) resync: Option<u64>,
    /// What it is told of what was restored.
    pub(crate) replay: Replay,
}

/// Who takes the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// A stream that is read when the script says so.
    Read,
    /// A callback.
    Handler,
    /// A callback that takes its time over each event.
    SlowHandler(Duration),
    /// A callback that panics at every so many events.
    Panics(u64),
}

/// What exists for a follower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sees {
    All,
    Namespace(usize),
    Tier(Tier),
}

impl Manner {
    /// One who is told everything, at once and with a callback.
    pub(crate) const EAGER: Self = Self {
        way: Way::Handler,
        policy: Policy::Unbounded,
        sees: Sees::All,
        resync: None,
        replay: Replay::All,
    };
    /// One for whom others wait from the first event on, and who reads when it is told to.
    pub(crate) const STUCK: Self =
        Self { way: Way::Read, policy: Policy::Block(NonZeroUsize::MIN), ..Self::EAGER };
}

/// The namespaces there are; every cluster has them.
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
    /// The kinds that there are.
    pub(crate) const KINDS: [&str; 5] =
        ["nothing else", "a torn file", "a flipped bit", "an unfinished file", "a folder of another"];

    pub(crate) const fn kind(self) -> &'static str {
        match self {
            Self::None => Self::KINDS[0],
            Self::Torn(_) => Self::KINDS[1],
            Self::Flipped(_) => Self::KINDS[2],
            Self::Unfinished(_) => Self::KINDS[3],
            Self::OfAnother => Self::KINDS[4],
        }
    }
}

impl Absence {
    /// Nothing happens.
    pub(crate) const NONE: Self =
        Self { writes: 0, from: Place { namespace: 0, number: 0 }, is_forgotten: false, late: None };
}

impl Place {
    pub(crate) fn namespace(self) -> &'static str {
        NAMESPACES[self.namespace]
    }

    pub(crate) fn name(self) -> String {
        format!("o{}", self.number)
    }
}

impl Trouble {
    /// The kinds that there are, by which a run can be asked what it has seen.
    pub(crate) const KINDS: [&str; 15] = [
        "answer to a list",
        "answer to a watch",
        "stalled list",
        "stalled watch",
        "cut after events",
        "cut after a time",
        "body in pieces",
        "no bookmarks",
        "late bookmarks",
        "no end of the initial state",
        "late end of the initial state",
        "no streaming lists",
        "expired page",
        "refused connections",
        "torn body",
    ];

    /// Which requests it strikes.
    pub(crate) const fn asked(self) -> Asked {
        match self {
            Self::Answer { asked, .. } | Self::Stall { asked, .. } | Self::Tear { asked, .. } => asked,
            Self::CutAfterEvents { .. } | Self::CutAfter { .. } | Self::Pieces { .. } => Asked::Watch,
            Self::DropBookmarks | Self::DelayBookmarks { .. } | Self::RefuseConnections { .. } => {
                Asked::Watch
            }
            Self::DropInitialEventsEnd | Self::DelayInitialEventsEnd { .. } => Asked::List,
            Self::RefuseStreams { .. } | Self::ExpireContinue => Asked::List,
        }
    }

    pub(crate) const fn kind(self) -> &'static str {
        match self {
            Self::Answer { asked: Asked::List, .. } => Self::KINDS[0],
            Self::Answer { asked: Asked::Watch, .. } => Self::KINDS[1],
            Self::Stall { asked: Asked::List, .. } => Self::KINDS[2],
            Self::Stall { asked: Asked::Watch, .. } => Self::KINDS[3],
            Self::CutAfterEvents { .. } => Self::KINDS[4],
            Self::CutAfter { .. } => Self::KINDS[5],
            Self::Pieces { .. } => Self::KINDS[6],
            Self::DropBookmarks => Self::KINDS[7],
            Self::DelayBookmarks { .. } => Self::KINDS[8],
            Self::DropInitialEventsEnd => Self::KINDS[9],
            Self::DelayInitialEventsEnd { .. } => Self::KINDS[10],
            Self::RefuseStreams { .. } => Self::KINDS[11],
            Self::ExpireContinue => Self::KINDS[12],
            Self::RefuseConnections { .. } => Self::KINDS[13],
            Self::Tear { .. } => Self::KINDS[14],
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/o{}", self.namespace(), self.number)
    }
}
