//! Injects faults into the server, one after the other.

use kube_devserver::{DevServer, Fault, Injected, Verb};
use serde_json::{Map, Value};
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FaultKind {
    /// All watches are cut.
    Cut,
    /// All watches are cut and the history is dropped, so that all informers relist.
    Expired,
    /// All watches are cut, and some requests get 429 with `Retry-After`.
    TooManyRequests,
    /// All watches are cut, and some requests get 503.
    Unavailable,
    /// All watches are cut, and some are opened with a delay.
    Delayed,
    /// Some watches end normally after a few events.
    Ended,
    /// The history is dropped while watches continue.
    Compacted,
}

impl FaultKind {
    /// In the order of injection.
    const ALL: [Self; 7] = [
        Self::Cut,
        Self::TooManyRequests,
        Self::Compacted,
        Self::Unavailable,
        Self::Ended,
        Self::Expired,
        Self::Delayed,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Cut => "cut",
            Self::Expired => "expired (410)",
            Self::TooManyRequests => "too many requests (429)",
            Self::Unavailable => "unavailable (503)",
            Self::Delayed => "delayed",
            Self::Ended => "ended",
            Self::Compacted => "compacted",
        }
    }
}

/// Injects faults in turn, and counts them.
#[derive(Debug, Default)]
pub(crate) struct FaultInjector {
    turn: usize,
    counts: [u64; FaultKind::ALL.len()],
    last: Option<Injected>,
}

/// The number of requests that a fault affects.
const AFFECTED_REQUESTS: u32 = 20;

impl FaultInjector {
    /// Withdraws the last fault and injects the next one.
    pub(crate) fn inject_next(&mut self, server: &DevServer) {
        self.withdraw();
        let at = self.turn % FaultKind::ALL.len();
        self.turn += 1;
        self.counts[at] += 1;
        let inject =
            |fault: Fault| Some(server.faults().inject(fault.on(Verb::Watch).times(AFFECTED_REQUESTS)));
        let kind = FaultKind::ALL[at];
        self.last = match kind {
            FaultKind::Cut | FaultKind::Compacted | FaultKind::Expired => None,
            FaultKind::TooManyRequests => inject(Fault::answer(429).retry_after(Duration::from_secs(1))),
            FaultKind::Unavailable => inject(Fault::answer(503)),
            FaultKind::Delayed => inject(Fault::stall(Duration::from_millis(500))),
            FaultKind::Ended => inject(Fault::cut_after_events(3)),
        };
        if matches!(kind, FaultKind::Compacted | FaultKind::Expired) {
            server.compact();
        }
        if kind != FaultKind::Compacted {
            server.cut_watches();
        }
    }

    pub(crate) fn withdraw(&mut self) {
        if let Some(last) = self.last.take() {
            last.withdraw();
        }
    }

    /// Returns the number of faults by kind.
    pub(crate) fn report(&self) -> Value {
        let counts = FaultKind::ALL.iter().zip(self.counts);
        let counts: Map<_, _> = counts.map(|(kind, count)| (kind.name().to_owned(), count.into())).collect();
        Value::Object(counts)
    }
}
