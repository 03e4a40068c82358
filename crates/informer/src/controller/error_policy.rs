//! The delay before a failed reconcile is retried.

use super::action::Action;
use kube_informer_wire::rng;
use kube_workqueue::limiter::Bucket;
use std::{sync::Arc, time::Duration};

/// The default retry policy: exponential backoff for each key, and a rate limit for all retries of the controller.
///
/// The delay after the first failure of a key is [5 milliseconds](Self::MIN_BACKOFF). It doubles with each further failure, up
/// to [5 minutes](Self::MAX_BACKOFF), and up to half of it is subtracted at random (jitter). A success resets it. A retry that
/// is due takes a token of a bucket, with 10 tokens per second and a burst of 100 as in client-go, so that a failing server
/// receives a bounded number of requests however many objects fail. Reconciles after events are not limited.
///
/// ```
/// use kube_informer::controller::ErrorPolicy;
/// use std::time::Duration;
///
/// let policy = ErrorPolicy::exponential(Duration::from_millis(100), Duration::from_secs(60)).rate_limit(50.0, 200);
/// assert_eq!(policy.max_backoff(), Duration::from_secs(60));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use]
#[doc(alias = "error_policy")]
#[doc(alias = "RateLimiter")]
pub struct ErrorPolicy {
    min: Duration,
    max: Duration,
    rate_limit: Option<RateLimit>,
}

/// A token bucket for all retries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RateLimit {
    per_second: f64,
    burst: u32,
}

impl RateLimit {
    pub(super) fn bucket(self) -> Bucket {
        Bucket::new(self.per_second, self.burst)
    }
}

impl ErrorPolicy {
    /// The default delay after the first failure.
    pub const MIN_BACKOFF: Duration = Duration::from_millis(5);
    /// The default maximum delay.
    pub const MAX_BACKOFF: Duration = Duration::from_secs(300);
    const DEFAULT_RATE: RateLimit = RateLimit { per_second: 10.0, burst: 100 };

    /// Creates a policy with these delays, and the default rate limit.
    pub fn exponential(min: Duration, max: Duration) -> Self {
        Self { min, max: max.max(min), rate_limit: Some(Self::DEFAULT_RATE) }
    }

    /// Sets the rate limit of all retries. A rate that is not positive is treated as no limit.
    pub fn rate_limit(mut self, per_second: f64, burst: u32) -> Self {
        let is_limited = per_second > 0.0 && per_second.is_finite();
        self.rate_limit = is_limited.then_some(RateLimit { per_second, burst: burst.max(1) });
        self
    }

    /// Removes the rate limit of all retries.
    pub fn without_rate_limit(mut self) -> Self {
        self.rate_limit = None;
        self
    }

    /// Returns the maximum delay.
    #[must_use]
    pub fn max_backoff(&self) -> Duration {
        self.max
    }

    /// Returns the delay after this number of consecutive failures. `random` selects the jitter.
    pub(super) fn backoff(&self, failures: u32, random: u64) -> Duration {
        // The largest power of two that is still a finite number.
        let doublings = failures.saturating_sub(1).min(1023) as i32;
        let backoff = self.min.as_secs_f64() * 2f64.powi(doublings);
        let backoff = Duration::try_from_secs_f64(backoff).map_or(self.max, |backoff| backoff.min(self.max));
        let jitter = (random >> 11) as f64 / (1u64 << 53) as f64;
        backoff.mul_f64(1.0 - jitter / 2.0)
    }
}

impl Default for ErrorPolicy {
    /// Creates a policy with a delay of 5 milliseconds to 5 minutes, and 10 retries per second with a burst of 100.
    fn default() -> Self {
        Self::exponential(Self::MIN_BACKOFF, Self::MAX_BACKOFF)
    }
}

/// Decides what happens after an error: an [`ErrorPolicy`], or a function as in kube-rs.
///
/// The function has the signature `Fn(Arc<K>, &E, Arc<Ctx>) -> Action`, or `Fn(Key, &E, Arc<Ctx>) -> Action` for
/// [`run_by_key`](super::Controller::run_by_key). Its delay is used as it is, without a rate limit.
/// [`Action::await_change`] abandons the key until its next event.
pub trait OnError<S, E, C>: Send + Sync + 'static {
    /// Returns the retry after a failure of `subject`, the object or the key.
    fn on_error(&self, subject: S, error: &E, context: Arc<C>) -> Retry;

    /// Returns the policy for failures without an error value: panics of the reconcile function and of this one.
    fn backoff_policy(&self) -> ErrorPolicy {
        ErrorPolicy::default()
    }
}

/// The retry of a failed reconcile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Retry {
    /// After a delay that depends on the number of failures of the key.
    Backoff,
    /// As this action requests.
    Action(Action),
}

impl<S, E, C> OnError<S, E, C> for ErrorPolicy {
    fn on_error(&self, _: S, _: &E, _: Arc<C>) -> Retry {
        Retry::Backoff
    }

    fn backoff_policy(&self) -> ErrorPolicy {
        self.clone()
    }
}

impl<S, E, C, F: Fn(S, &E, Arc<C>) -> Action + Send + Sync + 'static> OnError<S, E, C> for F {
    fn on_error(&self, subject: S, error: &E, context: Arc<C>) -> Retry {
        Retry::Action(self(subject, error, context))
    }
}

/// The backoff of a running controller.
pub(super) struct Backoff {
    policy: ErrorPolicy,
}

impl Backoff {
    pub(super) fn new(policy: ErrorPolicy) -> Self {
        Self { policy }
    }

    pub(super) fn delay(&self, failures: u32) -> Duration {
        self.policy.backoff(failures, rng::next_u64())
    }

    pub(super) fn bucket(&self) -> Option<Bucket> {
        self.policy.rate_limit.map(RateLimit::bucket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_backoff_doubles_up_to_the_maximum() {
        let policy = ErrorPolicy::default();
        let longest = |failures| policy.backoff(failures, 0).as_millis();
        assert_eq!([1, 2, 3, 4].map(longest), [5, 10, 20, 40]);
        assert_eq!([16, 17, 5000, u32::MAX].map(longest), [163_840, 300_000, 300_000, 300_000]);
        assert_eq!(longest(0), 5);
    }

    #[test]
    fn jitter_subtracts_at_most_half() {
        let policy = ErrorPolicy::exponential(Duration::from_secs(8), Duration::from_secs(8));
        let delays: Vec<_> = (0..1000).map(|_| policy.backoff(1, rng::next_u64()).as_secs_f64()).collect();
        assert!(delays.iter().all(|delay| (4.0..=8.0).contains(delay)), "{delays:?}");
        let mean = delays.iter().sum::<f64>() / 1000.0;
        assert!((5.7..6.3).contains(&mean), "{mean}");
        assert!(policy.backoff(1, u64::MAX) >= Duration::from_secs(4));
    }

    #[test]
    fn invalid_limits_have_a_defined_meaning() {
        let second = Duration::from_secs(1);
        assert_eq!(ErrorPolicy::exponential(second, Duration::ZERO).max_backoff(), second);
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(ErrorPolicy::default().rate_limit(rate, 1).rate_limit, None, "{rate}");
        }
    }
}
