//! Lease duration, renew deadline and retry period, with client-go's defaults and validation rules.

use crate::error::ConfigError;
use std::time::Duration;

/// The durations of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timing {
    /// Others wait this long after the last change of a Lease before they consider it expired.
    pub(crate) lease_duration: Duration,
    /// A holder stops working this long after its last successful renewal was sent.
    pub(crate) renew_deadline: Duration,
    /// The time between attempts after a failure.
    pub(crate) retry_period: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }
    }
}

impl Timing {
    /// Checks the rules of client-go's `NewLeaderElector`, and that the Lease can represent the duration.
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        let Self { lease_duration, renew_deadline, retry_period } = *self;
        if lease_duration.is_zero() || renew_deadline.is_zero() || retry_period.is_zero() {
            return Err(ConfigError::ZeroDuration { lease_duration, renew_deadline, retry_period });
        }
        if lease_duration.subsec_nanos() != 0 || i32::try_from(lease_duration.as_secs()).is_err() {
            return Err(ConfigError::LeaseDurationNotSeconds { lease_duration });
        }
        if lease_duration <= renew_deadline {
            return Err(ConfigError::RenewDeadlineTooLong { renew_deadline, lease_duration });
        }
        if renew_deadline.as_nanos() * 5 <= retry_period.as_nanos() * 6 {
            return Err(ConfigError::RetryPeriodTooLong { retry_period, renew_deadline });
        }
        Ok(())
    }

    /// Returns the time between successful renewals: a third of the lease duration, and at most half of the renew deadline.
    pub(crate) fn renew_interval(&self) -> Duration {
        (self.lease_duration / 3).min(self.renew_deadline / 2)
    }

    /// Returns the timeout of a request, which leaves time for another attempt before the renew deadline.
    pub(crate) fn request_timeout(&self) -> Duration {
        self.renew_deadline / 3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timing(lease: u64, renew: u64, retry: u64) -> Result<(), ConfigError> {
        let [lease_duration, renew_deadline, retry_period] = [lease, renew, retry].map(Duration::from_millis);
        Timing { lease_duration, renew_deadline, retry_period }.validate()
    }

    #[test]
    fn defaults_are_those_of_client_go() {
        let timing = Timing::default();
        assert_eq!(timing.validate(), Ok(()));
        assert_eq!(timing.lease_duration, Duration::from_secs(15));
        assert_eq!(timing.renew_deadline, Duration::from_secs(10));
        assert_eq!(timing.retry_period, Duration::from_secs(2));
        assert_eq!(timing.renew_interval(), Duration::from_secs(5));
    }

    #[test]
    fn invalid_durations_are_rejected_with_the_value_and_the_rule() {
        let message = |result: Result<(), ConfigError>| result.unwrap_err().to_string();
        assert_eq!(
            message(timing(15_000, 15_000, 2000)),
            "renew deadline 15s must be less than the lease duration 15s"
        );
        assert_eq!(
            message(timing(15_000, 2400, 2000)),
            "retry period 2s times 1.2 must be less than the renew deadline 2.4s"
        );
        assert_eq!(timing(15_000, 2401, 2000), Ok(()));
        assert!(message(timing(15_000, 10_000, 0)).contains("must be greater than zero"));
        assert_eq!(
            message(timing(1500, 1000, 100)),
            "lease duration 1.5s must be a whole number of seconds, at most 2147483647, as leaseDurationSeconds of a Lease is a 32-bit integer"
        );
    }

    #[test]
    fn renews_twice_before_a_short_deadline() {
        let timing = Timing {
            renew_deadline: Duration::from_secs(4),
            retry_period: Duration::from_secs(1),
            ..Timing::default()
        };
        assert_eq!(timing.renew_interval(), Duration::from_secs(2));
    }
}
