//! The active faults, and their effect on each request.

use crate::fault::{
    call::Call,
    description::{Fault, FaultKind, Manner},
    effect::{BookmarkEffect, Cut, Effect, Stall},
    hit_count::HitCount,
};
use serde_json::{Value, json};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{sync::watch, time::Instant};

/// The active faults of a server. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Faults(Arc<Shared>);

#[derive(Default)]
struct Shared {
    active_faults: Mutex<ActiveFaults>,
    /// Cuts the responses that are being sent.
    cut_off: Option<Box<dyn Fn() + Send + Sync>>,
    /// Notified when a fault is injected or removed.
    changed: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct ActiveFaults {
    next: u64,
    faults: Vec<ActiveFault>,
}

#[derive(Debug)]
struct ActiveFault {
    number: u64,
    fault: Fault,
    left: Option<u32>,
    skip: u32,
    since: Instant,
    hits: Arc<HitCount>,
}

/// An injected fault. It stays active when this is dropped.
#[derive(Clone, Debug)]
pub struct Injected {
    faults: Faults,
    number: u64,
    hits: Arc<HitCount>,
}

impl Faults {
    /// Creates an empty set. A fault that refuses connections calls `cut_off` first.
    pub(crate) fn new(cut_off: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Arc::new(Shared { cut_off: Some(Box::new(cut_off)), ..Shared::default() }))
    }

    /// Injects a fault.
    pub fn inject(&self, fault: Fault) -> Injected {
        let hits = Arc::new(HitCount::new());
        let mut active_faults = self.lock();
        active_faults.next += 1;
        let number = active_faults.next;
        let (left, skip, since) = (fault.times, fault.skip, Instant::now());
        let refuses = matches!(fault.kind, FaultKind::RefuseConnections { .. });
        let active = ActiveFault { number, left, skip, since, hits: Arc::clone(&hits), fault };
        active_faults.faults.push(active);
        drop(active_faults);
        self.0.changed.send_replace(());
        if let Some(cut_off) = self.0.cut_off.as_ref().filter(|_| refuses) {
            cut_off();
        }
        Injected { faults: self.clone(), number, hits }
    }

    /// Removes all faults.
    pub fn clear(&self) {
        self.lock().faults.clear();
        self.0.changed.send_replace(());
    }

    /// Returns the effect on a request, and counts the faults that have their effect immediately.
    pub(crate) fn record_hit(&self, call: &Call<'_>) -> Effect {
        let mut effect = Effect::default();
        for active in &mut self.lock().faults {
            if active.fault.concerns(call) && active.is_due() {
                active.add_to(&mut effect);
            }
        }
        effect
    }

    /// Waits for the end of a delay.
    pub(crate) async fn wait_out(&self, stall: &Stall) {
        match *stall {
            Stall::For(time) => tokio::time::sleep(time).await,
            Stall::UntilWithdrawn(number) => {
                let mut changed = self.0.changed.subscribe();
                while self.lock().faults.iter().any(|active| active.number == number) {
                    // The sender is in `self`, so that this ends only by a change.
                    let _ = changed.changed().await;
                }
            }
        }
    }

    /// Returns true if connections are refused now, and counts the fault.
    pub(crate) fn refuses_connection(&self) -> bool {
        let active_faults = self.lock();
        let refusing = active_faults.faults.iter().find(|active| active.refuses_now());
        refusing.inspect(|active| active.hits.record_hit()).is_some()
    }

    /// Returns the active faults, with the number of effects of each.
    pub(crate) fn report(&self) -> Value {
        let active_faults = self.lock();
        let one = |active: &ActiveFault| json!({ "id": active.number, "hits": active.hits.count(), "fault": active.fault });
        json!({ "faults": active_faults.faults.iter().map(one).collect::<Vec<_>>() })
    }

    /// Removes the fault with this number, if it exists.
    pub(crate) fn withdraw(&self, number: u64) -> bool {
        let mut active_faults = self.lock();
        let before = active_faults.faults.len();
        active_faults.faults.retain(|active| active.number != number);
        let found = active_faults.faults.len() < before;
        drop(active_faults);
        self.0.changed.send_replace(());
        found
    }

    fn lock(&self) -> MutexGuard<'_, ActiveFaults> {
        self.0.active_faults.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Injected {
    /// Returns how often the fault had an effect: once for each request or cut watch, and for the faults of bookmarks once for each
    /// bookmark that was dropped or delayed.
    #[must_use]
    pub fn hits(&self) -> u64 {
        self.hits.count()
    }

    /// Waits until the fault had an effect this number of times in total; see [`hits`](Self::hits).
    ///
    /// # Cancel safety
    /// Dropping the future before it completes has no effect.
    pub async fn hit(&self, count: u64) {
        self.hits.reached(count).await;
    }

    /// Removes the fault.
    pub fn withdraw(&self) {
        self.faults.withdraw(self.number);
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }
}

impl ActiveFault {
    /// Returns true if the fault applies to this request, and counts it.
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
        let hits = || Arc::clone(&self.hits);
        let cut = |events, time, manner| Cut { events, time, manner, hits: hits() };
        let watch = &mut effect.watch;
        match self.fault.kind {
            FaultKind::Answer { code, retry_after } => effect.answer = Some((code, retry_after)),
            FaultKind::Stall { seconds: Some(time) } => effect.stalls.push(Stall::For(time)),
            FaultKind::Stall { seconds: None } => effect.stalls.push(Stall::UntilWithdrawn(self.number)),
            FaultKind::CutAfterEvents { events, manner } => watch.cuts.push(cut(Some(events), None, manner)),
            FaultKind::CutAfter { seconds, manner } => watch.cuts.push(cut(None, Some(seconds), manner)),
            FaultKind::Pieces { size } => effect.pieces = Some(size.max(1)),
            FaultKind::DropBookmarks => watch.bookmarks = BookmarkEffect::Dropped(hits()),
            FaultKind::DelayBookmarks { seconds } => {
                watch.bookmarks = BookmarkEffect::Delayed(seconds, hits())
            }
            FaultKind::DropInitialEventsEnd => watch.initial_events_end = BookmarkEffect::Dropped(hits()),
            FaultKind::DelayInitialEventsEnd { seconds } => {
                watch.initial_events_end = BookmarkEffect::Delayed(seconds, hits());
            }
            FaultKind::RefuseStreamingLists => effect.refuses_streaming = true,
            FaultKind::ExpireContinue => effect.expires_continue = true,
            FaultKind::RefuseConnections { .. } => {}
        }
        if self.applies_at_once() {
            self.hits.record_hit();
        }
    }

    /// Returns true if the fault has its effect when the request arrives, and not during the response.
    fn applies_at_once(&self) -> bool {
        match self.fault.kind {
            FaultKind::Answer { .. } | FaultKind::Stall { .. } | FaultKind::Pieces { .. } => true,
            FaultKind::RefuseStreamingLists | FaultKind::ExpireContinue => true,
            FaultKind::CutAfterEvents { .. }
            | FaultKind::CutAfter { .. }
            | FaultKind::RefuseConnections { .. } => false,
            FaultKind::DropBookmarks | FaultKind::DelayBookmarks { .. } => false,
            FaultKind::DropInitialEventsEnd | FaultKind::DelayInitialEventsEnd { .. } => false,
        }
    }

    fn refuses_now(&self) -> bool {
        let until = |time: Duration| self.since.checked_add(time);
        matches!(self.fault.kind, FaultKind::RefuseConnections { seconds }
            if until(seconds).is_none_or(|until| Instant::now() < until))
    }
}

impl Cut {
    /// Counts a watch that was cut.
    pub(crate) fn record_hit(&self) -> Manner {
        self.hits.record_hit();
        self.manner
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Faults").field("active_faults", &self.active_faults).finish_non_exhaustive()
    }
}
