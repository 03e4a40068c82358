//! A scenario: the configuration and the actions that a seed determines.

use crate::{
    action::{
        Action, Backpressure, Consumption, Damage, Downtime, Ending, FilePosition, NAMESPACES, ObjectName,
        RequestFault, RequestType, SubscriberProfile, Tier, Trigger, Visibility,
    },
    planted_bug::PlantedBug,
};
use kube_informer::{
    Storage,
    reflector::Strategy,
    source::Encoding,
    subscription::{Policy, Replay},
};
use std::{fmt, time::Duration};
use testkit::Random;

/// The configuration of server and informer, and the actions.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    pub(crate) seed: u64,
    pub(crate) setup: Setup,
    pub(crate) script: Vec<ScriptEntry>,
}

/// An action and the pause after it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ScriptEntry {
    pub(crate) action: Action,
    pub(crate) pause: Duration,
}

/// The configuration of server and informer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Setup {
    /// The maximum number of objects in each namespace.
    pub(crate) objects: u64,
    /// The number of objects that exist before the informer starts.
    pub(crate) before: u64,
    /// The number of namespaces of the informer; `None` for one watch of all namespaces.
    pub(crate) namespaces: Option<usize>,
    /// Whether the informer has a label selector.
    pub(crate) is_selective: bool,
    pub(crate) storage: Storage,
    pub(crate) strategy: Strategy,
    pub(crate) encoding: Encoding,
    pub(crate) page_size: u64,
    pub(crate) is_checked: bool,
    pub(crate) is_patient: bool,
    pub(crate) resync: u64,
    /// The length of the server's history, in events.
    pub(crate) history: usize,
    pub(crate) bookmarks: Duration,
    /// The options of the saved cache; `None` if it is not saved.
    pub(crate) saving: Option<Saving>,
    pub(crate) planted: Option<PlantedBug>,
}

/// The options of a saved cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Saving {
    pub(crate) names_cluster: bool,
    /// The events of the first subscriber of each informer for restored objects.
    pub(crate) replay: Replay,
}

impl Scenario {
    /// Returns the scenario of a seed.
    #[must_use]
    pub fn generate(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let setup = Setup::generate(&mut random);
        let length = random.between(10, 70);
        let mut script = Vec::new();
        for _ in 0..length {
            script.push(ScriptEntry::generate(&mut random, &setup));
            // Later actions could hide a difference that a burst has caused.
            if matches!(script.last(), Some(ScriptEntry { action: Action::Burst(..), .. }))
                && random.one_in(2)
            {
                script.push(ScriptEntry { action: Action::CheckCalm, pause: Duration::ZERO });
            }
        }
        Self { seed, setup, script }
    }

    /// Returns the same scenario with a planted bug.
    #[must_use]
    pub fn with_planted(mut self, bug: PlantedBug) -> Self {
        self.setup.planted = Some(bug);
        self
    }

    /// Returns the number of actions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.script.len()
    }

    /// Returns true if there is no action.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.script.is_empty()
    }

    /// Returns the same configuration with other actions.
    pub(crate) fn with(&self, script: Vec<ScriptEntry>) -> Self {
        Self { script, ..self.clone() }
    }
}

impl Setup {
    fn generate(random: &mut Random) -> Self {
        let objects = random.between(1, 8);
        Self {
            objects,
            before: random.below(objects * 3),
            namespaces: *random.pick(&[None, None, Some(1), Some(2), Some(3)]),
            is_selective: random.one_in(4),
            storage: *random.pick(&[
                Storage::Decoded,
                Storage::Decoded,
                Storage::Decoded,
                Storage::Compressed,
            ]),
            strategy: *random.pick(&[
                Strategy::Stream,
                Strategy::Stream,
                Strategy::List,
                Strategy::List,
                Strategy::StreamOnly,
            ]),
            encoding: *random.pick(&[Encoding::Auto, Encoding::Json]),
            page_size: *random.pick(&[0, 0, 1, 2, 3, 5]),
            is_checked: random.one_in(6),
            is_patient: random.one_in(3),
            resync: *random.pick(&[0, 0, 0, 30, 120]),
            history: *random.pick(&[4, 16, 16_384]),
            bookmarks: *random.pick(&[
                Duration::from_secs(60),
                Duration::from_secs(20),
                Duration::from_secs(5),
            ]),
            saving: random.one_in(2).then(|| Saving {
                names_cluster: random.one_in(2),
                replay: *random.pick(&[Replay::All, Replay::Differences, Replay::Differences]),
            }),
            planted: None,
        }
    }
}

impl ScriptEntry {
    fn generate(random: &mut Random, setup: &Setup) -> Self {
        let action = Action::generate(random, setup);
        let pause = match random.below(20) {
            0..=6 => Duration::ZERO,
            7..=12 => random.millis(1, 20),
            13..=16 => random.millis(20, 1000),
            17 | 18 => random.millis(1000, 5000),
            _ if random.one_in(5) => random.millis(60_000, 900_000),
            _ => random.millis(5000, 60_000),
        };
        Self { action, pause }
    }
}

impl Action {
    fn generate(random: &mut Random, setup: &Setup) -> Self {
        let object = ObjectName { namespace: random.below(3) as usize, number: random.below(setup.objects) };
        let tier = *random.pick(&[Tier::Front, Tier::Front, Tier::Back]);
        if setup.saving.is_some() && random.one_in(20) {
            return Self::Replace(Ending::generate(random, setup), Downtime::generate(random, setup, object));
        }
        match random.below(200) {
            0..=71 => Self::Write(object, tier),
            72..=98 => Self::Delete(object),
            99..=108 => Self::Recreate(object, tier),
            109..=113 => {
                let backpressure = *random.pick(&[
                    Backpressure::None,
                    Backpressure::Blocked,
                    Backpressure::Blocked,
                    Backpressure::Blocked,
                ]);
                // Twice the largest capacity of a subscriber fills every queue; a few bursts also fill a file of a saved state.
                let times = if random.one_in(8) { random.between(70, 120) } else { random.between(14, 30) };
                Self::Burst(object, times, backpressure)
            }
            114..=145 => Self::generate_fault(random),
            146..=151 => Self::Cut,
            152..=154 => Self::Compact,
            155..=157 => Self::Restart,
            158..=162 => Self::Expire(random.between(1, 3)),
            163..=176 => Self::Subscribe(SubscriberProfile::generate(random)),
            177..=181 => Self::Unsubscribe(random.below(6) as usize),
            182..=188 => Self::Read(random.below(6) as usize, random.between(1, 8) as usize),
            189..=193 => {
                Self::Replace(Ending::generate(random, setup), Downtime::generate(random, setup, object))
            }
            194 | 195 => Self::Upgrade,
            _ => Self::CheckCalm,
        }
    }
}

impl Action {
    fn generate_fault(random: &mut Random) -> Self {
        let request_fault = RequestFault::generate(random);
        // A fault of full lists has an effect only if one is requested.
        let trigger = match request_fault.request_type() {
            RequestType::Watch => [Trigger::None, Trigger::Cut],
            RequestType::List => [Trigger::Expiry, *random.pick(&[Trigger::None, Trigger::Replacement])],
        };
        Self::Fault(request_fault, *random.pick(&trigger))
    }
}

impl Ending {
    fn generate(random: &mut Random, setup: &Setup) -> Self {
        let back = *random.pick(&[40, 400, 1 << 16]);
        let spot = FilePosition { file: random.below(3), back: random.below(back) };
        let damage = match random.below(10) {
            0..=3 => Damage::None,
            4..=6 => Damage::Truncated(spot),
            7 => Damage::Flipped(spot),
            8 => Damage::Unfinished(spot),
            _ => Damage::OtherResource,
        };
        let ending =
            *random.pick(&[Self::Stopped, Self::Dropped, Self::Killed(damage), Self::Killed(damage)]);
        match ending {
            Self::Killed(_) if setup.saving.is_none() => Self::Dropped,
            ending => ending,
        }
    }
}

impl Downtime {
    fn generate(random: &mut Random, setup: &Setup, from: ObjectName) -> Self {
        let late = random.one_in(2).then(|| random.millis(1, 50)).filter(|_| setup.saving.is_some());
        Self { writes: random.below(5), from, is_compacted: random.one_in(4), late }
    }
}

impl RequestFault {
    fn generate(random: &mut Random) -> Self {
        let request_type = *random.pick(&[RequestType::Watch, RequestType::Watch, RequestType::List]);
        let abruptly = random.one_in(2);
        let times = *random.pick(&[1, 1, 2, 5]);
        match random.below(22) {
            0..=4 => Self::Answer {
                request_type,
                code: *random.pick(&[429, 500, 503, 504, 410, 403, 404]),
                retry_after: random.one_in(3).then(|| random.between(1, 5)),
                times,
            },
            5 | 6 => Self::Stall {
                request_type,
                time: *random.pick(&[10, 3000, 90_000, 3_000_000].map(Duration::from_millis)),
            },
            7 | 8 => Self::CutAfterEvents { events: random.below(5), abruptly },
            9 => Self::CutAfter { time: random.millis(0, 5000), abruptly },
            10 => Self::SmallChunks { size: random.between(1, 60) as usize },
            11 => Self::DropBookmarks,
            12 => Self::DelayBookmarks { time: random.millis(0, 60_000) },
            13 => Self::DropInitialEventsEnd,
            14 => Self::DelayInitialEventsEnd { time: random.millis(0, 90_000) },
            15 => Self::RefuseStreamingLists { times },
            16 => Self::ExpireContinue,
            17 => Self::RefuseConnections { time: random.millis(0, 20_000) },
            18 | 19 => Self::DeadBody { request_type, bytes: random.below(1500) as usize },
            _ => Self::TruncateBody {
                request_type,
                bytes: random.below(1500) as usize,
                abruptly: abruptly || request_type == RequestType::List,
            },
        }
    }
}

impl SubscriberProfile {
    fn generate(random: &mut Random) -> Self {
        let events = random.between(1, 12) as usize;
        let policies =
            [Policy::Unbounded, Policy::coalesce(events), Policy::coalesce(events), Policy::block(events)];
        let time = random.millis(1, 300);
        let ways = [
            Consumption::Read,
            Consumption::Read,
            Consumption::Handler,
            Consumption::SlowHandler(time),
            Consumption::PanickingHandler(events as u64 + 1),
        ];
        let namespace = random.below(NAMESPACES.len() as u64) as usize;
        let sees = [
            Visibility::All,
            Visibility::All,
            Visibility::All,
            Visibility::Namespace(namespace),
            Visibility::Tier(Tier::Front),
        ];
        Self {
            consumption: *random.pick(&ways),
            policy: *random.pick(&policies),
            sees: *random.pick(&sees),
            resync: *random.pick(&[None, None, Some(0), Some(30), Some(90)]),
            replay: *random.pick(&[Replay::All, Replay::All, Replay::All, Replay::Differences]),
        }
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?}", self.setup)?;
        for (number, ScriptEntry { action, pause }) in self.script.iter().enumerate() {
            writeln!(f, "{number:>4} {action:?}, then {pause:?}")?;
        }
        Ok(())
    }
}
