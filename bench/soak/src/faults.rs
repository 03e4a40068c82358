//! What goes wrong with the server, one thing after the other.

use kube_devserver::{DevServer, Fault, Injected, Verb};
use serde_json::{Map, Value};
use std::time::Duration;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// All watches break off.
    Cut,
    /// All watches break off, and what happened is forgotten: all have to ask for everything.
    Expired,
    /// Watches break off, and some are told to come again in a second.
    TooMany,
    /// Watches break off, and some are told that the server is not there.
    Unavailable,
    /// Watches break off, and some have to wait before they are opened again.
    Slow,
    /// Some watches end in good order after a few events.
    Ended,
    /// What happened is forgotten, while watches go on.
    Compacted,
}

impl Kind {
    /// In the order in which they come.
    const ALL: [Self; 7] = [
        Self::Cut,
        Self::TooMany,
        Self::Compacted,
        Self::Unavailable,
        Self::Ended,
        Self::Expired,
        Self::Slow,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Cut => "cut",
            Self::Expired => "expired (410)",
            Self::TooMany => "too many requests (429)",
            Self::Unavailable => "unavailable (503)",
            Self::Slow => "slow",
            Self::Ended => "ended",
            Self::Compacted => "compacted",
        }
    }
}

/// Makes a server fail, and counts how often.
#[derive(Debug, Default)]
pub(crate) struct Trouble {
    turn: usize,
    counts: [u64; Kind::ALL.len()],
    last: Option<Injected>,
}

/// How many requests a fault strikes.
const STRUCK: u32 = 20;

impl Trouble {
    /// The next thing goes wrong; what is left of the last one is withdrawn.
    pub(crate) fn strike(&mut self, server: &DevServer) {
        self.end();
        let at = self.turn % Kind::ALL.len();
        self.turn += 1;
        self.counts[at] += 1;
        let inject = |fault: Fault| Some(server.faults().inject(fault.on(Verb::Watch).times(STRUCK)));
        self.last = match Kind::ALL[at] {
            Kind::Cut | Kind::Compacted | Kind::Expired => None,
            Kind::TooMany => inject(Fault::answer(429).retry_after(Duration::from_secs(1))),
            Kind::Unavailable => inject(Fault::answer(503)),
            Kind::Slow => inject(Fault::stall(Duration::from_millis(500))),
            Kind::Ended => inject(Fault::cut_after_events(3)),
        };
        if matches!(Kind::ALL[at], Kind::Compacted | Kind::Expired) {
            server.compact();
        }
        if Kind::ALL[at] != Kind::Compacted {
            server.cut_watches();
        }
    }

    /// Nothing goes wrong any longer.
    pub(crate) fn end(&mut self) {
        if let Some(last) = self.last.take() {
            last.withdraw();
        }
    }

    /// How often what went wrong.
    pub(crate) fn report(&self) -> Value {
        let counts = Kind::ALL.iter().zip(self.counts);
        Value::Object(
            counts.map(|(kind, count)| (kind.name().to_owned(), count.into())).collect::<Map<_, _>>(),
        )
    }
}
