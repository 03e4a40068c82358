//! The faults that are in force, and what each request makes of them.

use crate::fault::{
    call::Call,
    description::{Fault, Manner, What},
    effect::{Cut, Effect, Notice, Stall},
    tally::Tally,
};
use serde_json::{Value, json};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{sync::watch, time::Instant};

/// The faults of a server; clones share them.
#[derive(Clone, Debug, Default)]
pub struct Faults(Arc<Shared>);

#[derive(Default)]
struct Shared {
    script: Mutex<Script>,
    /// Breaks off the answers that are under way.
    cut_off: Option<Box<dyn Fn() + Send + Sync>>,
    /// Tells that a fault was injected or withdrawn.
    changed: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Script {
    next: u64,
    faults: Vec<Armed>,
}

#[derive(Debug)]
struct Armed {
    number: u64,
    fault: Fault,
    left: Option<u32>,
    skip: u32,
    since: Instant,
    tally: Arc<Tally>,
}

/// A fault in force; dropping this leaves it so.
#[derive(Clone, Debug)]
pub struct Injected {
    faults: Faults,
    number: u64,
    tally: Arc<Tally>,
}

impl Faults {
    /// No faults yet; one that refuses connections calls `cut_off` first.
    pub(crate) fn new(cut_off: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Arc::new(Shared { cut_off: Some(Box::new(cut_off)), ..Shared::default() }))
    }

    /// Puts a fault in force.
    pub fn inject(&self, fault: Fault) -> Injected {
        let tally = Arc::new(Tally::new());
        let mut script = self.lock();
        script.next += 1;
        let number = script.next;
        let (left, skip, since) = (fault.times, fault.skip, Instant::now());
        let refuses = matches!(fault.what, What::RefuseConnections { .. });
        let armed = Armed { number, left, skip, since, tally: Arc::clone(&tally), fault };
        script.faults.push(armed);
        drop(script);
        self.0.changed.send_replace(());
        if let Some(cut_off) = self.0.cut_off.as_ref().filter(|_| refuses) {
            cut_off();
        }
        Injected { faults: self.clone(), number, tally }
    }

    /// Withdraws every fault.
    pub fn clear(&self) {
        self.lock().faults.clear();
        self.0.changed.send_replace(());
    }

    /// What is done to a request; what strikes at once is counted here.
    pub(crate) fn strike(&self, call: &Call<'_>) -> Effect {
        let mut effect = Effect::default();
        for armed in &mut self.lock().faults {
            if armed.fault.concerns(call) && armed.is_due() {
                armed.add_to(&mut effect);
            }
        }
        effect
    }

    /// Waits until a request that stalls may go on.
    pub(crate) async fn sit_out(&self, stall: &Stall) {
        match *stall {
            Stall::For(time) => tokio::time::sleep(time).await,
            Stall::UntilWithdrawn(number) => {
                let mut changed = self.0.changed.subscribe();
                while self.lock().faults.iter().any(|armed| armed.number == number) {
                    // The sender is in `self`, so that this ends only by a change.
                    let _ = changed.changed().await;
                }
            }
        }
    }

    /// Whether connections are refused at present; counts one that is.
    pub(crate) fn refuses_connection(&self) -> bool {
        let script = self.lock();
        let refusing = script.faults.iter().find(|armed| armed.refuses_now());
        refusing.inspect(|armed| armed.tally.strike()).is_some()
    }

    /// The faults in force, with how often each has struck.
    pub(crate) fn report(&self) -> Value {
        let script = self.lock();
        let one =
            |armed: &Armed| json!({ "id": armed.number, "hits": armed.tally.count(), "fault": armed.fault });
        json!({ "faults": script.faults.iter().map(one).collect::<Vec<_>>() })
    }

    /// Withdraws the fault with this number, if there is one.
    pub(crate) fn withdraw(&self, number: u64) -> bool {
        let mut script = self.lock();
        let before = script.faults.len();
        script.faults.retain(|armed| armed.number != number);
        let found = script.faults.len() < before;
        drop(script);
        self.0.changed.send_replace(());
        found
    }

    fn lock(&self) -> MutexGuard<'_, Script> {
        self.0.script.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Injected {
    /// How often the fault has struck.
    #[must_use]
    pub fn hits(&self) -> u64 {
        self.tally.count()
    }

    /// Waits until the fault has struck so many times in all.
    ///
    /// # Cancel safety
    /// Nothing is lost when the future is dropped.
    pub async fn hit(&self, count: u64) {
        self.tally.reached(count).await;
    }

    /// Puts the fault out of force.
    pub fn withdraw(&self) {
        self.faults.withdraw(self.number);
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }
}

impl Armed {
    /// Whether it is this request's turn; uses one of the fault's times up if so.
    fn is_due(&mut self) -> bool {
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        match &mut self.left {
            Some(0) => false,
            Some(left) => {
                *left -= 1;
                true
            }
            None => true,
        }
    }

    fn add_to(&self, effect: &mut Effect) {
        let tally = || Arc::clone(&self.tally);
        let cut = |events, time, manner| Cut { events, time, manner, tally: tally() };
        let watch = &mut effect.watch;
        match self.fault.what {
            What::Answer { code, retry_after } => effect.answer = Some((code, retry_after)),
            What::Stall { seconds: Some(time) } => effect.stalls.push(Stall::For(time)),
            What::Stall { seconds: None } => effect.stalls.push(Stall::UntilWithdrawn(self.number)),
            What::CutAfterEvents { events, manner } => watch.cuts.push(cut(Some(events), None, manner)),
            What::CutAfter { seconds, manner } => watch.cuts.push(cut(None, Some(seconds), manner)),
            What::Pieces { size } => effect.pieces = Some(size.max(1)),
            What::DropBookmarks => watch.bookmarks = Notice::Dropped(tally()),
            What::DelayBookmarks { seconds } => watch.bookmarks = Notice::Delayed(seconds, tally()),
            What::DropInitialEventsEnd => watch.initial_events_end = Notice::Dropped(tally()),
            What::DelayInitialEventsEnd { seconds } => {
                watch.initial_events_end = Notice::Delayed(seconds, tally());
            }
            What::RefuseStreamingLists => effect.refuses_streaming = true,
            What::ExpireContinue => effect.expires_continue = true,
            What::RefuseConnections { .. } => {}
        }
        if self.strikes_at_once() {
            self.tally.strike();
        }
    }

    /// Whether the fault has struck once the request is there; others strike in the course of the answer.
    fn strikes_at_once(&self) -> bool {
        match self.fault.what {
            What::Answer { .. } | What::Stall { .. } | What::Pieces { .. } => true,
            What::RefuseStreamingLists | What::ExpireContinue => true,
            What::CutAfterEvents { .. } | What::CutAfter { .. } | What::RefuseConnections { .. } => false,
            What::DropBookmarks | What::DelayBookmarks { .. } => false,
            What::DropInitialEventsEnd | What::DelayInitialEventsEnd { .. } => false,
        }
    }

    fn refuses_now(&self) -> bool {
        let until = |time: Duration| self.since.checked_add(time);
        matches!(self.fault.what, What::RefuseConnections { seconds }
            if until(seconds).is_none_or(|until| Instant::now() < until))
    }
}

impl Cut {
    /// Says that the watch has been cut.
    pub(crate) fn strike(&self) -> Manner {
        self.tally.strike();
        self.manner
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Faults").field("script", &self.script).finish_non_exhaustive()
    }
}
