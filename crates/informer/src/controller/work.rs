//! The queued, running and scheduled keys of a controller with their reasons.

use super::{
    error_policy::Backoff,
    history::{EventReport, History, KeyReport, ScheduledReconcile},
    metrics::{ControllerMetrics, Gauges},
    outcome::{MAX_BEHIND, Outcome},
    permit::{Permission, Permits},
    reason::Reason,
};
use kube_core::ObjectMeta;
use kube_informer_wire::{Key, KeyMap};
use kube_workqueue::{
    Priority, Processing, Queue,
    limiter::{Bucket, RateLimiter},
};
use std::{
    convert::Infallible,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{Notify, broadcast},
    time::Instant,
};

/// The keys of a controller. Shared by the triggers, the workers and the handles.
///
/// The queue decides which worker takes a key and when. The state has the reason, and decides whether the key is due. A key that
/// is taken too early is added to the queue again.
pub(super) struct Work {
    queue: Queue<Key, Priority>,
    state: Mutex<State>,
    /// Empty if this process reconciles all keys.
    permits: OnceLock<Arc<dyn Permits>>,
    /// Notified when no key is queued or running.
    idle: Notify,
    /// Notified when a reconcile starts while none is running.
    busy: Notify,
}

struct State {
    name: Arc<str>,
    debounce: Duration,
    max_workers: usize,
    keys: KeyMap<KeyState>,
    queued: usize,
    scheduled: usize,
    running: KeyMap<Instant>,
    /// Running keys that are not reconciled again, because they were dropped.
    forgotten: KeyMap<()>,
    bucket: Option<Bucket>,
    history: History,
    /// `None` after the controller has ended.
    outcomes: Option<broadcast::Sender<Outcome>>,
    metrics: ControllerMetrics,
}

/// The state of a key that is queued or scheduled, or that has failed.
#[derive(Default)]
struct KeyState {
    queued: Option<Queued>,
    /// Boxed, because most keys are never scheduled and the map of a burst of events is large.
    scheduled: Option<Box<Scheduled>>,
    failures: u32,
}

/// A key that is reconciled as soon as a worker is free.
struct Queued {
    reason: Reason,
    /// Later than the event if the controller debounces.
    due: Instant,
}

/// A requeue or a retry.
struct Scheduled {
    reason: Reason,
    due: Instant,
    needs_token: NeedsToken,
}

/// Whether a scheduled reconcile takes a token of the rate limit when it is due.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NeedsToken {
    Yes,
    No,
}

/// A reconcile that starts.
pub(super) struct Started {
    pub(super) reason: Reason,
    pub(super) attempt: u32,
}

/// The next reconcile of a key, after one has finished.
#[derive(Clone, Copy, Debug)]
pub(super) enum Next {
    /// When the key changes.
    OnChange,
    /// After a success, after this delay.
    Requeue(Duration),
    /// After a failure, when the key changes.
    Abandon,
    /// After a failure, after the delay of the error policy function.
    RetryAfter(Duration),
    /// After a failure, after the backoff of the key and within the rate limit of all retries.
    Backoff,
}

/// The maximum number of keys with a higher priority that are taken before a waiting key.
const MAX_OVERTAKEN: u32 = 8;

impl Work {
    pub(super) fn new(name: &str) -> Self {
        Self {
            queue: Queue::builder().order(Priority::with_patience(MAX_OVERTAKEN)).build(),
            state: Mutex::new(State {
                name: name.into(),
                debounce: Duration::ZERO,
                max_workers: 1,
                keys: KeyMap::default(),
                queued: 0,
                scheduled: 0,
                running: KeyMap::default(),
                forgotten: KeyMap::default(),
                bucket: None,
                history: History::default(),
                outcomes: Some(broadcast::Sender::new(MAX_BEHIND)),
                metrics: ControllerMetrics::noop(name),
            }),
            permits: OnceLock::new(),
            idle: Notify::new(),
            busy: Notify::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_name(&self, name: &str) {
        let mut state = self.state();
        state.name = name.into();
        state.metrics = ControllerMetrics::noop(name);
    }

    pub(super) fn set_debounce(&self, debounce: Duration) {
        self.state().debounce = debounce;
    }

    pub(super) fn set_max_workers(&self, workers: usize) {
        self.state().max_workers = workers;
    }

    pub(super) fn set_rate_limit(&self, bucket: Option<Bucket>) {
        self.state().bucket = bucket;
    }

    pub(super) fn name(&self) -> Arc<str> {
        Arc::clone(&self.state().name)
    }

    /// Adds a key, which is reconciled when the debounce time has passed and a worker is free.
    pub(super) fn add(&self, key: Key, reason: Reason) {
        self.add_to(self.state(), key, reason);
    }

    fn add_to(&self, mut state: MutexGuard<'_, State>, key: Key, reason: Reason) {
        let now = Instant::now();
        let priority = reason.priority();
        let debounce = state.debounce;
        state.forgotten.remove(&key);
        let entry = state.keys.entry(key.clone()).or_default();
        if entry.queued.is_none() {
            entry.queued = Some(Queued { reason, due: now + debounce.min(MAX_DELAY) });
            state.queued += 1;
            state.metrics.resolve();
            state.metrics.added();
            state.set_gauges(now);
        }
        drop(state);
        // Also if it is queued already, to raise its priority.
        let at_priority = self.queue.at_priority(priority);
        if debounce.is_zero() {
            at_priority.add(key);
        } else {
            at_priority.add_after(key, debounce);
        }
    }

    /// Records an event, and adds the key if the predicate accepted it.
    pub(super) fn event_received(&self, key: &Key, event: EventReport) {
        let accepted = event.is_accepted.then(|| event.reason.clone());
        let mut state = self.state();
        state.history.event_received(key, event);
        if let Some(reason) = accepted {
            self.add_to(state, key.clone(), reason);
        }
    }

    /// Waits for the next key; `None` after [`shut_down`](Self::shut_down).
    pub(super) async fn next(&self) -> Option<Processing<Key, Priority>> {
        self.queue.get().await
    }

    /// Starts the reconcile of a key that was taken from the queue. Returns `None` if it is not due.
    pub(super) fn start(&self, key: &Key) -> Option<Started> {
        let now = Instant::now();
        let mut state = self.state();
        let was_idle = state.running.is_empty();
        let (started, ready) = match state.take_due(key, now) {
            Ok(due) => due,
            Err(next) => {
                drop(state);
                if let Some(due) = next {
                    self.queue.add_after(key.clone(), due.saturating_duration_since(now));
                }
                return None;
            }
        };
        state.running.insert(key.clone(), now);
        state.metrics.resolve();
        state.metrics.started(now.saturating_duration_since(ready));
        state.set_gauges(now);
        drop(state);
        if was_idle {
            self.busy.notify_one();
        }
        Some(started)
    }

    /// Ends a reconcile, and schedules the next one. Returns its delay.
    pub(super) fn finish(&self, outcome: Outcome, next: Next, backoff: &Backoff) -> Option<Duration> {
        let now = Instant::now();
        let key = outcome.key.clone();
        let mut state = self.state();
        state.running.remove(&key);
        state.metrics.resolve();
        state.metrics.finished(&outcome.result, outcome.duration);
        let delay = match state.forgotten.remove(&key) {
            Some(()) => None,
            None => state.schedule_next(&key, next, now, backoff),
        };
        let outcome = Outcome { next: delay, ..outcome };
        if let Some(outcomes) = state.outcomes.as_ref().filter(|outcomes| outcomes.receiver_count() > 0) {
            // There is a receiver, unless it is dropped at this moment.
            let _ = outcomes.send(outcome.clone());
        }
        state.history.reconciled(outcome);
        state.set_gauges(now);
        let is_idle = state.is_idle();
        if is_idle {
            state.release_capacity();
        }
        drop(state);
        if let Some(delay) = delay {
            self.queue.add_after(key, delay);
        }
        if is_idle {
            self.idle.notify_waiters();
        }
        delay
    }

    /// Ends a reconcile that was dropped. The key is queued again.
    pub(super) fn interrupt(&self, key: &Key, started: Started) {
        let mut state = self.state();
        state.running.remove(key);
        drop(state);
        self.add(key.clone(), started.reason);
    }

    /// Sets which keys this process reconciles. The default is all of them.
    #[cfg(feature = "leases")]
    pub(super) fn set_permits(&self, permits: Arc<dyn Permits>) {
        // The controller runs once.
        let _ = self.permits.set(permits);
    }

    /// Returns whether a reconcile of this key may start; `None` if this process reconciles all keys.
    pub(super) fn permit(&self, key: &Key) -> Option<Permission> {
        self.permits.get().map(|permits| permits.permit(key))
    }

    /// Returns true if objects that are created and deleted have to be recorded.
    pub(super) fn needs_uids(&self) -> bool {
        self.permits.get().is_some_and(|permits| permits.needs_uids())
    }

    /// Records an object that was deleted.
    pub(super) fn deleted(&self, key: &Key, metadata: &ObjectMeta) {
        if let Some(permits) = self.permits.get() {
            permits.deleted(key, metadata);
        }
    }

    /// Records an object that was added to the cache.
    pub(super) fn created(&self, key: &Key, metadata: &ObjectMeta) {
        if let Some(permits) = self.permits.get() {
            permits.created(key, metadata);
        }
    }

    /// Drops a key that this process does not reconcile any more. A running reconcile continues, and is the last one.
    pub(super) fn forget(&self, key: &Key) {
        self.forget_keys([key.clone()]);
    }

    /// Drops the keys for which `is_dropped` returns true.
    #[cfg(feature = "leases")]
    pub(super) fn forget_where(&self, is_dropped: impl Fn(&Key) -> bool) {
        // The function may read a cache, and is not called with the lock.
        let keys: Vec<_> = self.state().keys.keys().cloned().collect();
        let dropped: Vec<_> = keys.into_iter().filter(is_dropped).collect();
        self.forget_keys(dropped);
    }

    fn forget_keys(&self, keys: impl IntoIterator<Item = Key>) {
        let mut state = self.state();
        for key in keys {
            if let Some(entry) = state.keys.remove(&key) {
                state.queued -= usize::from(entry.queued.is_some());
                state.scheduled -= usize::from(entry.scheduled.is_some());
            }
            if state.running.contains_key(&key) {
                state.forgotten.insert(key, ());
            }
        }
        state.set_gauges(Instant::now());
        let is_idle = state.is_idle();
        drop(state);
        if is_idle {
            self.idle.notify_waiters();
        }
    }

    /// Ends a reconcile that was dropped, of a key that this process does not reconcile any more.
    pub(super) fn abandon(&self, key: &Key) {
        self.state().running.remove(key);
        self.forget(key);
    }

    /// Adds a key again that was taken from the queue, but not started.
    pub(super) fn requeue(&self, key: &Key) {
        self.queue.add(key.clone());
    }

    /// Adds a key again that was taken from the queue, at a later time.
    pub(super) fn requeue_at(&self, key: &Key, at: Instant) {
        self.queue.add_after(key.clone(), at.saturating_duration_since(Instant::now()));
    }

    /// Returns true if no key is queued or running.
    pub(super) fn is_idle(&self) -> bool {
        self.state().is_idle()
    }

    /// Waits until no key is queued or running, or the controller has ended.
    pub(super) async fn idle(&self) {
        loop {
            let notified = self.idle.notified();
            if self.is_idle() || self.queue.is_shutting_down() {
                return;
            }
            notified.await;
        }
    }

    /// Updates the gauges of running reconciles once a second, while there are any.
    pub(super) async fn update_gauges(&self) -> Infallible {
        const INTERVAL: Duration = Duration::from_secs(1);
        loop {
            self.busy.notified().await;
            while !self.state().running.is_empty() {
                tokio::time::sleep(INTERVAL).await;
                self.state().set_gauges(Instant::now());
            }
        }
    }

    /// Ends the queue: no key is added or taken any more.
    pub(super) fn shut_down(&self) {
        self.queue.shut_down();
        self.idle.notify_waiters();
    }

    /// Ends the streams of outcomes, and sets all gauges to zero.
    pub(super) fn end(&self) {
        self.shut_down();
        let mut state = self.state();
        state.outcomes = None;
        state.metrics.set(Gauges::default());
    }

    pub(super) fn has_ended(&self) -> bool {
        self.queue.is_shutting_down()
    }

    pub(super) fn depth(&self) -> usize {
        self.state().queued
    }

    pub(super) fn scheduled(&self) -> usize {
        self.state().scheduled
    }

    pub(super) fn running(&self) -> Vec<Key> {
        self.state().running.keys().cloned().collect()
    }

    pub(super) fn subscribe(&self) -> broadcast::Receiver<Outcome> {
        // After the end, a receiver without a sender.
        self.state().outcomes.as_ref().map_or_else(|| broadcast::channel(1).1, broadcast::Sender::subscribe)
    }

    pub(super) fn known_keys(&self) -> Vec<Key> {
        let state = self.state();
        let mut keys: Vec<_> = state.history.keys().chain(state.keys.keys()).cloned().collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Returns the report of a key; `None` if the key is unknown.
    pub(super) fn report(&self, key: &Key) -> Option<KeyReport> {
        let now = Instant::now();
        let state = self.state();
        let known = state.keys.get(key);
        let history = state.history.get(key);
        let is_running = state.running.contains_key(key);
        if known.is_none() && history.is_none() && !is_running {
            return None;
        }
        let scheduled = known.and_then(|known| known.scheduled.as_deref());
        Some(KeyReport {
            key: key.clone(),
            queued: known.and_then(|known| Some(known.queued.as_ref()?.reason.clone())),
            is_running,
            failures: known.map_or(0, |known| known.failures),
            scheduled: scheduled.map(|scheduled| ScheduledReconcile {
                reason: scheduled.reason.clone(),
                after: scheduled.due.saturating_duration_since(now),
            }),
            last_event: history.and_then(|history| history.last_event.clone()),
            rejected_events: history.map_or(0, |history| history.rejected_events),
            outcomes: state.history.outcomes(key),
        })
    }
}

impl State {
    fn is_idle(&self) -> bool {
        self.queued == 0 && self.running.is_empty()
    }

    /// Frees the memory of a large burst, such as the initial list, of which few keys are left.
    fn release_capacity(&mut self) {
        /// Takes less than a megabyte. A map that grew again with each burst of this size would fragment more memory.
        const MAX_SPARE_CAPACITY: usize = 16_384;
        if self.keys.capacity() > MAX_SPARE_CAPACITY && self.keys.len() < self.keys.capacity() / 8 {
            self.keys.shrink_to(self.keys.len() * 2);
        }
    }

    /// Removes what is due of a key, and returns the time since when it is. Otherwise, returns the time when it is due, if any.
    fn take_due(&mut self, key: &Key, now: Instant) -> Result<(Started, Instant), Option<Instant>> {
        let Some(entry) = self.keys.get_mut(key) else { return Err(None) };
        // A retry that is due takes a token, or waits for one.
        if let Some(retry) = entry.scheduled.as_mut().filter(|scheduled| scheduled.due <= now)
            && retry.needs_token == NeedsToken::Yes
        {
            let wait = self.bucket.as_mut().map_or(Duration::ZERO, |bucket| bucket.when(key, now));
            retry.needs_token = NeedsToken::No;
            if !wait.is_zero() {
                retry.due = now + wait;
            }
        }
        let queued = entry.queued.as_ref().map(|queued| queued.due);
        let scheduled = entry.scheduled.as_ref().map(|scheduled| scheduled.due);
        let Some(ready) = queued.into_iter().chain(scheduled).min() else { return Err(None) };
        if ready > now {
            return Err(Some(ready));
        }
        let queued = entry.queued.take();
        let scheduled = entry.scheduled.take();
        self.queued -= usize::from(queued.is_some());
        self.scheduled -= usize::from(scheduled.is_some());
        let attempt = entry.failures.saturating_add(1);
        if entry.failures == 0 {
            self.keys.remove(key);
        }
        let reason = queued.map(|queued| queued.reason).or(scheduled.map(|scheduled| scheduled.reason));
        Ok((Started { reason: reason.expect("one of them is due"), attempt }, ready))
    }

    fn schedule_next(&mut self, key: &Key, next: Next, now: Instant, backoff: &Backoff) -> Option<Duration> {
        let is_success = matches!(next, Next::OnChange | Next::Requeue(_));
        if is_success && matches!(next, Next::OnChange) && !self.keys.contains_key(key) {
            return None;
        }
        let entry = self.keys.entry(key.clone()).or_default();
        entry.failures = if is_success { 0 } else { entry.failures.saturating_add(1) };
        let (reason, delay, needs_token) = match next {
            Next::OnChange => {
                if entry.queued.is_none() && entry.scheduled.is_none() {
                    self.keys.remove(key);
                }
                return None;
            }
            Next::Abandon => return None,
            Next::Requeue(delay) => (Reason::Requeue, delay, NeedsToken::No),
            Next::RetryAfter(delay) => (Reason::Retry, delay, NeedsToken::No),
            Next::Backoff => (Reason::Retry, backoff.delay(entry.failures), NeedsToken::Yes),
        };
        let delay = delay.min(MAX_DELAY);
        if entry.scheduled.replace(Box::new(Scheduled { reason, due: now + delay, needs_token })).is_none() {
            self.scheduled += 1;
        }
        if !is_success {
            self.metrics.retry_scheduled();
        }
        Some(delay)
    }

    fn set_gauges(&self, now: Instant) {
        let running = self.running.values().map(|start| now.saturating_duration_since(*start));
        self.metrics.set(Gauges {
            depth: self.queued,
            scheduled: self.scheduled,
            active: self.running.len(),
            max_workers: self.max_workers,
            unfinished: running.clone().sum(),
            longest: running.max().unwrap_or_default(),
        });
    }
}

/// The maximum delay, which prevents overflow.
const MAX_DELAY: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);
