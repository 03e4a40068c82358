//! What a seed says: how the world is set up, and what happens in it.

use crate::{
    act::{
        Absence, Act, Asked, Crowd, Damage, Ending, Manner, NAMESPACES, Place, Provoked, Sees, Spot, Tier,
        Trouble, Way,
    },
    random::Random,
};
use kube_informer::{
    Storage,
    reflector::Strategy,
    source::Encoding,
    subscription::{Policy, Replay},
};
use std::{fmt, time::Duration};

/// A world, and what happens in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    pub(crate) seed: u64,
    pub(crate) setup: Setup,
    pub(crate) script: Vec<Entry>,
}

/// An act, and how long nothing is done after it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) act: Act,
    pub(crate) pause: Duration,
}

/// How the world is set up.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Setup {
    /// How many objects there may be in each namespace.
    pub(crate) objects: u64,
    /// So many are there before anyone looks.
    pub(crate) before: u64,
    /// How many namespaces the informer asks for; nothing is all of them at once.
    pub(crate) namespaces: Option<usize>,
    /// Whether it asks only for objects of one tier.
    pub(crate) selects: bool,
    pub(crate) keep: Storage,
    pub(crate) strategy: Strategy,
    pub(crate) encoding: Encoding,
    pub(crate) page_size: u64,
    pub(crate) is_checked: bool,
    pub(crate) is_patient: bool,
    pub(crate) resync: u64,
    /// How many events the server remembers.
    pub(crate) history: usize,
    pub(crate) bookmarks: Duration,
    /// How its cache is saved, if it is.
    pub(crate) saving: Option<Saving>,
}

/// How a cache is saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Saving {
    pub(crate) names_cluster: bool,
    /// What the first follower of each life is told of what was restored.
    pub(crate) replay: Replay,
}

impl Scenario {
    /// What this seed says.
    #[must_use]
    pub fn draw(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let setup = Setup::draw(&mut random);
        let length = random.between(10, 70);
        let mut script = Vec::new();
        for _ in 0..length {
            script.push(Entry::draw(&mut random, &setup));
            // What follows would mend what a burst has broken.
            if matches!(script.last(), Some(Entry { act: Act::Burst(..), .. })) && random.once_in(2) {
                script.push(Entry { act: Act::Settle, pause: Duration::ZERO });
            }
        }
        Self { seed, setup, script }
    }

    /// How many acts there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.script.len()
    }

    /// Whether nothing happens.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.script.is_empty()
    }

    /// The same world, in which only these happen.
    pub(crate) fn with(&self, script: Vec<Entry>) -> Self {
        Self { script, ..self.clone() }
    }
}

impl Setup {
    fn draw(random: &mut Random) -> Self {
        let objects = random.between(1, 8);
        Self {
            objects,
            before: random.below(objects * 3),
            namespaces: random.pick(&[None, None, Some(1), Some(2), Some(3)]),
            selects: random.once_in(4),
            keep: random.pick(&[Storage::Decoded, Storage::Decoded, Storage::Decoded, Storage::Compressed]),
            strategy: random.pick(&[
                Strategy::Stream,
                Strategy::Stream,
                Strategy::List,
                Strategy::List,
                Strategy::StreamOnly,
            ]),
            encoding: random.pick(&[Encoding::Auto, Encoding::Json]),
            page_size: random.pick(&[0, 0, 1, 2, 3, 5]),
            is_checked: random.once_in(6),
            is_patient: random.once_in(3),
            resync: random.pick(&[0, 0, 0, 30, 120]),
            history: random.pick(&[4, 16, 16_384]),
            bookmarks: random.pick(&[
                Duration::from_secs(60),
                Duration::from_secs(20),
                Duration::from_secs(5),
            ]),
            saving: random.once_in(2).then(|| Saving {
                names_cluster: random.once_in(2),
                replay: random.pick(&[Replay::All, Replay::Differences, Replay::Differences]),
            }),
        }
    }
}

impl Entry {
    fn draw(random: &mut Random, setup: &Setup) -> Self {
        let act = Act::draw(random, setup);
        let pause = match random.below(20) {
            0..=6 => Duration::ZERO,
            7..=12 => random.millis(1, 20),
            13..=16 => random.millis(20, 1000),
            17 | 18 => random.millis(1000, 5000),
            _ if random.once_in(5) => random.millis(60_000, 900_000),
            _ => random.millis(5000, 60_000),
        };
        Self { act, pause }
    }
}

impl Act {
    fn draw(random: &mut Random, setup: &Setup) -> Self {
        let place = Place { namespace: random.below(3) as usize, number: random.below(setup.objects) };
        let tier = random.pick(&[Tier::Front, Tier::Front, Tier::Back]);
        if setup.saving.is_some() && random.once_in(20) {
            return Self::Renew(Ending::draw(random, setup), Absence::draw(random, setup, place));
        }
        match random.below(200) {
            0..=71 => Self::Put(place, tier),
            72..=98 => Self::Delete(place),
            99..=108 => Self::Recreate(place, tier),
            109..=113 => {
                let crowd = random.pick(&[Crowd::Free, Crowd::Stuck, Crowd::Stuck, Crowd::Stuck]);
                Self::Burst(place, random.between(70, 120), crowd)
            }
            114..=145 => Self::trouble(random),
            146..=151 => Self::Cut,
            152..=154 => Self::Compact,
            155..=157 => Self::Restart,
            158..=162 => Self::Forget(random.between(1, 3)),
            163..=176 => Self::Join(Manner::draw(random)),
            177..=181 => Self::Leave(random.below(6) as usize),
            182..=188 => Self::Read(random.below(6) as usize, random.between(1, 8) as usize),
            189..=195 => Self::Renew(Ending::draw(random, setup), Absence::draw(random, setup, place)),
            _ => Self::Settle,
        }
    }
}

impl Act {
    fn trouble(random: &mut Random) -> Self {
        let trouble = Trouble::draw(random);
        // What has to do with the whole state strikes only when that is asked for.
        let provoked = match trouble.asked() {
            Asked::Watch => [Provoked::Not, Provoked::ByCut],
            Asked::List => [Provoked::ByForgetting, random.pick(&[Provoked::Not, Provoked::ByRenewal])],
        };
        Self::Trouble(trouble, random.pick(&provoked))
    }
}

impl Ending {
    fn draw(random: &mut Random, setup: &Setup) -> Self {
        let back = random.pick(&[40, 400, 1 << 16]);
        let spot = Spot { file: random.below(3), back: random.below(back) };
        let damage = match random.below(10) {
            0..=3 => Damage::None,
            4..=6 => Damage::Torn(spot),
            7 => Damage::Flipped(spot),
            8 => Damage::Unfinished(spot),
            _ => Damage::OfAnother,
        };
        let ending = random.pick(&[Self::Stopped, Self::Dropped, Self::Killed(damage), Self::Killed(damage)]);
        match ending {
            Self::Killed(_) if setup.saving.is_none() => Self::Dropped,
            ending => ending,
        }
    }
}

impl Absence {
    fn draw(random: &mut Random, setup: &Setup, from: Place) -> Self {
        let late = random.once_in(2).then(|| random.millis(1, 50)).filter(|_| setup.saving.is_some());
        Self { writes: random.below(5), from, is_forgotten: random.once_in(4), late }
    }
}

impl Trouble {
    fn draw(random: &mut Random) -> Self {
        let asked = random.pick(&[Asked::Watch, Asked::Watch, Asked::List]);
        let abruptly = random.once_in(2);
        let times = random.pick(&[1, 1, 2, 5]);
        match random.below(20) {
            0..=4 => Self::Answer {
                asked,
                code: random.pick(&[429, 500, 503, 504, 410, 403, 404]),
                retry_after: random.once_in(3).then(|| random.between(1, 5)),
                times,
            },
            5 | 6 => Self::Stall {
                asked,
                time: random.pick(&[10, 3000, 90_000, 3_000_000].map(Duration::from_millis)),
            },
            7 | 8 => Self::CutAfterEvents { events: random.below(5), abruptly },
            9 => Self::CutAfter { time: random.millis(0, 5000), abruptly },
            10 => Self::Pieces { size: random.between(1, 60) as usize },
            11 => Self::DropBookmarks,
            12 => Self::DelayBookmarks { time: random.millis(0, 60_000) },
            13 => Self::DropInitialEventsEnd,
            14 => Self::DelayInitialEventsEnd { time: random.millis(0, 90_000) },
            15 => Self::RefuseStreams { times },
            16 => Self::ExpireContinue,
            17 => Self::RefuseConnections { time: random.millis(0, 20_000) },
            _ => Self::Tear {
                asked,
                bytes: random.below(1500) as usize,
                abruptly: abruptly || asked == Asked::List,
            },
        }
    }
}

impl Manner {
    fn draw(random: &mut Random) -> Self {
        let events = random.between(1, 12) as usize;
        let policies =
            [Policy::Unbounded, Policy::coalesce(events), Policy::coalesce(events), Policy::block(events)];
        let time = random.millis(1, 300);
        let ways =
            [Way::Read, Way::Read, Way::Handler, Way::SlowHandler(time), Way::Panics(events as u64 + 1)];
        let namespace = random.below(NAMESPACES.len() as u64) as usize;
        let sees = [Sees::All, Sees::All, Sees::All, Sees::Namespace(namespace), Sees::Tier(Tier::Front)];
        Self {
            way: random.pick(&ways),
            policy: random.pick(&policies),
            sees: random.pick(&sees),
            resync: random.pick(&[None, None, Some(0), Some(30), Some(90)]),
            replay: random.pick(&[Replay::All, Replay::All, Replay::All, Replay::Differences]),
        }
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?}", self.setup)?;
        for (number, Entry { act, pause }) in self.script.iter().enumerate() {
            writeln!(f, "{number:>4} {act:?}, then {pause:?}")?;
        }
        Ok(())
    }
}
