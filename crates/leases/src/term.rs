//! The handle of a held shard, which checks the lease before each step of work.

use crate::clock::{BootTime, Clock};
use crate::range::HashRange;
use crate::shard_table::Phase;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;
use tokio::sync::{Notify, watch};

/// One holding of a shard, from its acquisition to its loss or release.
#[derive(Debug)]
pub(crate) struct Term {
    pub(crate) shard: u32,
    pub(crate) id: u64,
    token: u64,
    range: HashRange,
    clock: Arc<dyn Clock>,
    /// Nanoseconds on the clock.
    deadline: AtomicU64,
    state: watch::Sender<TermState>,
    handles: AtomicUsize,
    polls: AtomicUsize,
    /// Wakes the driver when the last handle or poll has ended.
    progress: Arc<Notify>,
    is_reported: AtomicBool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TermState {
    Active,
    Draining,
    Ended,
}

/// The values of a new term.
#[derive(Debug)]
pub(crate) struct NewTerm {
    pub(crate) shard: u32,
    pub(crate) id: u64,
    pub(crate) token: i32,
    pub(crate) range: HashRange,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) progress: Arc<Notify>,
}

impl Term {
    pub(crate) fn new(new: NewTerm) -> Self {
        let NewTerm { shard, id, token, range, clock, progress } = new;
        Self {
            shard,
            id,
            token: u64::try_from(token).unwrap_or(0),
            range,
            clock,
            deadline: AtomicU64::new(0),
            state: watch::Sender::new(TermState::Active),
            handles: AtomicUsize::new(0),
            polls: AtomicUsize::new(0),
            progress,
            is_reported: AtomicBool::new(false),
        }
    }

    pub(crate) fn state(&self) -> TermState {
        *self.state.borrow()
    }

    /// Moves the deadline, unless the term has ended.
    pub(crate) fn extend(&self, deadline: BootTime) {
        let nanoseconds = u64::try_from(deadline.since_start().as_nanos()).unwrap_or(u64::MAX);
        self.deadline.store(nanoseconds, Ordering::SeqCst);
    }

    pub(crate) fn set_phase(&self, phase: Phase) {
        let state = match phase {
            Phase::Active => return,
            Phase::Draining => TermState::Draining,
            Phase::Cancelled => TermState::Ended,
        };
        self.state.send_if_modified(|current| {
            let is_later = *current != state && *current != TermState::Ended;
            if is_later {
                *current = state;
            }
            is_later
        });
    }

    pub(crate) fn end(&self) {
        self.set_phase(Phase::Cancelled);
    }

    /// Returns true the first time that no work can be in progress after the term started to drain.
    pub(crate) fn is_newly_drained(&self) -> bool {
        let is_drained = match self.state() {
            TermState::Active => false,
            TermState::Draining => self.handles.load(Ordering::SeqCst) == 0,
            // Futures are not polled any more, but a poll in progress has to end.
            TermState::Ended => self.polls.load(Ordering::SeqCst) == 0,
        };
        is_drained && !self.is_reported.swap(true, Ordering::SeqCst)
    }

    fn deadline(&self) -> BootTime {
        BootTime::from_start(Duration::from_nanos(self.deadline.load(Ordering::SeqCst)))
    }

    fn is_held(&self) -> bool {
        self.state() != TermState::Ended && self.clock.now() < self.deadline()
    }
}

/// The error of work whose lease was lost or released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("lease of shard {shard} was lost")]
pub struct LeaseLost {
    /// The index of the shard; 0 for a leader.
    pub shard: u32,
}

/// A held shard, or the leadership, which is a single shard with index 0.
///
/// It is valid from an acquisition to the loss or release of the Lease. Keep a clone for each piece of work: the Lease is released
/// after all clones were dropped, or after the drain timeout. Check [`Shard::is_held`] before each step, or use
/// [`Shard::run_while_held`], which does that.
pub struct Shard {
    term: Arc<Term>,
}

impl Shard {
    /// Returns a handle if work may start.
    pub(crate) fn new(term: &Arc<Term>) -> Option<Self> {
        // The driver sets the state before it counts the handles, and this counts before it reads the state.
        term.handles.fetch_add(1, Ordering::SeqCst);
        let shard = Self { term: Arc::clone(term) };
        (term.state() == TermState::Active).then_some(shard)
    }

    /// Returns the index of the shard; 0 for a leader.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.term.shard
    }

    /// Returns the hashes that belong to the shard; all of them for a leader.
    #[must_use]
    pub fn range(&self) -> HashRange {
        self.term.range
    }

    /// Returns the fencing token: `leaseTransitions` of the Lease, which grows with each holder.
    #[must_use]
    pub fn token(&self) -> u64 {
        self.term.token
    }

    /// Returns a number that differs for each acquisition by this process.
    #[must_use]
    pub fn term(&self) -> u64 {
        self.term.id
    }

    /// Returns the time until which the Lease is held if it is not renewed.
    ///
    /// It is the renew deadline after the last successful renewal was sent, and so before any other replica can acquire the Lease.
    #[must_use]
    pub fn deadline(&self) -> BootTime {
        self.term.deadline()
    }

    /// Returns true if the Lease is held at this moment, and work in progress may continue.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.term.is_held()
    }

    /// Returns true if the shard is to be released, so that no work should start.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.term.state() != TermState::Active
    }

    /// Waits until no work should start, because the shard is to be released or was lost.
    pub async fn draining(&self) {
        let mut state = self.term.state.subscribe();
        // The sender cannot be dropped before `self`.
        let _ = state.wait_for(|state| *state != TermState::Active).await;
    }

    /// Waits until the Lease is not held any more.
    pub async fn lost(&self) {
        let mut state = self.term.state.subscribe();
        while self.is_held() {
            let remaining = self.deadline().saturating_since(self.term.clock.now());
            tokio::select! {
                _ = state.wait_for(|state| *state == TermState::Ended) => return,
                () = tokio::time::sleep(remaining) => {}
            }
        }
    }

    /// Runs a future while the Lease is held.
    ///
    /// The Lease is checked before each poll. After a failed check the future is dropped and never polled again. The check is against a
    /// clock that includes the time during which the process or the machine was suspended. A suspension within a poll cannot be
    /// detected before the poll returns; use [`Shard::replace`] or [`Shard::merge_patch`] for writes that must be safe even then.
    ///
    /// # Errors
    /// [`LeaseLost`] if the Lease was lost, or the drain timeout was over, before the future completed.
    pub async fn run_while_held<F: Future>(&self, future: F) -> Result<F::Output, LeaseLost> {
        let mut future = pin!(future);
        let mut lost = pin!(self.lost());
        poll_fn(|context| {
            let polling = Polling::start(&self.term);
            if !self.is_held() {
                return Poll::Ready(Err(LeaseLost { shard: self.term.shard }));
            }
            if let Poll::Ready(output) = future.as_mut().poll(context) {
                return Poll::Ready(Ok(output));
            }
            drop(polling);
            lost.as_mut().poll(context).map(|()| Err(LeaseLost { shard: self.term.shard }))
        })
        .await
    }
}

/// Counts a poll that is in progress, even if it panics.
struct Polling<'a>(&'a Term);

impl<'a> Polling<'a> {
    fn start(term: &'a Term) -> Self {
        term.polls.fetch_add(1, Ordering::SeqCst);
        Self(term)
    }
}

impl Drop for Polling<'_> {
    fn drop(&mut self) {
        if self.0.polls.fetch_sub(1, Ordering::SeqCst) == 1 && self.0.state() != TermState::Active {
            self.0.progress.notify_one();
        }
    }
}

impl Clone for Shard {
    fn clone(&self) -> Self {
        self.term.handles.fetch_add(1, Ordering::SeqCst);
        Self { term: Arc::clone(&self.term) }
    }
}

impl Drop for Shard {
    fn drop(&mut self) {
        if self.term.handles.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.term.progress.notify_one();
        }
    }
}

impl fmt::Debug for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shard")
            .field("index", &self.index())
            .field("token", &self.token())
            .field("is_held", &self.is_held())
            .field("is_draining", &self.is_draining())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use std::task::{Context, Waker};

    #[derive(Debug, Default)]
    struct ManualClock(Mutex<Duration>);

    impl ManualClock {
        fn set(&self, seconds: u64) {
            *self.0.lock().unwrap() = Duration::from_secs(seconds);
        }
    }

    impl Clock for ManualClock {
        fn now(&self) -> BootTime {
            BootTime::from_start(*self.0.lock().unwrap())
        }
    }

    fn term(clock: &Arc<ManualClock>) -> Arc<Term> {
        let range = HashRange::of_shard(0, 1).unwrap();
        let progress = Arc::new(Notify::new());
        let term = Term::new(NewTerm { shard: 3, id: 0, token: 7, range, clock: clock.clone(), progress });
        term.extend(BootTime::from_start(Duration::from_secs(10)));
        Arc::new(term)
    }

    #[tokio::test(start_paused = true)]
    async fn a_future_is_never_polled_after_a_failed_deadline_check() {
        let clock = Arc::new(ManualClock::default());
        let shard = Shard::new(&term(&clock)).unwrap();
        let polls = AtomicUsize::new(0);
        let work = poll_fn(|_| {
            polls.fetch_add(1, Ordering::SeqCst);
            Poll::<()>::Pending
        });
        let mut run = pin!(shard.run_while_held(work));
        let mut context = Context::from_waker(Waker::noop());
        assert!(run.as_mut().poll(&mut context).is_pending());
        clock.set(9);
        assert!(run.as_mut().poll(&mut context).is_pending());
        assert_eq!(polls.load(Ordering::SeqCst), 2);
        // The process was suspended: Tokio's clock has not moved, and no task of this crate has run.
        clock.set(10);
        assert_eq!(run.as_mut().poll(&mut context), Poll::Ready(Err(LeaseLost { shard: 3 })));
        assert_eq!(polls.load(Ordering::SeqCst), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn work_is_cancelled_when_its_term_ends() {
        let clock = Arc::new(ManualClock::default());
        let term = term(&clock);
        let shard = Shard::new(&term).unwrap();
        assert_eq!(shard.run_while_held(async { 5 }).await, Ok(5));
        let run = tokio::spawn({
            let shard = shard.clone();
            async move { shard.run_while_held(std::future::pending::<()>()).await }
        });
        tokio::task::yield_now().await;
        term.end();
        assert_eq!(run.await.unwrap(), Err(LeaseLost { shard: 3 }));
        assert!(!shard.is_held());
        // A later renewal does not change the state.
        term.extend(BootTime::from_start(Duration::from_secs(99)));
        assert!(!shard.is_held());
        assert!(Shard::new(&term).is_none());
    }

    #[tokio::test]
    async fn a_term_is_drained_when_its_last_handle_is_dropped() {
        let clock = Arc::new(ManualClock::default());
        let term = term(&clock);
        let first = Shard::new(&term).unwrap();
        let second = first.clone();
        assert!(!term.is_newly_drained());
        term.set_phase(Phase::Draining);
        first.draining().await;
        assert!(first.is_held(), "work in progress may continue");
        assert!(Shard::new(&term).is_none(), "no work may start");
        drop(first);
        assert!(!term.is_newly_drained());
        drop(second);
        term.progress.notified().await;
        assert!(term.is_newly_drained());
        assert!(!term.is_newly_drained(), "it is reported once");
    }

    #[tokio::test]
    async fn a_cancelled_term_waits_for_a_poll_in_progress_but_not_for_handles() {
        let clock = Arc::new(ManualClock::default());
        let term = term(&clock);
        let shard = Shard::new(&term).unwrap();
        let polling = Polling::start(&term);
        term.set_phase(Phase::Draining);
        term.set_phase(Phase::Cancelled);
        assert!(!term.is_newly_drained());
        drop(polling);
        term.progress.notified().await;
        assert!(term.is_newly_drained());
        drop(shard);
    }
}
