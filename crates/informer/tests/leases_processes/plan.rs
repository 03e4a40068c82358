//! The size and the durations of a run.

use std::time::Duration;

/// The number of shards.
pub(crate) const SHARDS: u32 = 16;
/// The number of replicas at the start of each calm phase.
pub(crate) const REPLICAS: usize = 5;

/// The size and the durations of a run.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) rounds: u32,
    pub(crate) objects: u32,
    pub(crate) namespaces: u32,
    pub(crate) changes_per_second: u32,
    /// The faulty phase of a round.
    pub(crate) faulty: Duration,
    /// The time between two faults.
    pub(crate) fault_interval: Duration,
    /// The calm phase of a round.
    pub(crate) calm: Duration,
    pub(crate) outage: Duration,
    pub(crate) timing: Timing,
    pub(crate) seed: u64,
}

/// The durations of the leases.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    pub(crate) lease_duration: Duration,
    pub(crate) renew_deadline: Duration,
    pub(crate) retry_period: Duration,
}

impl Plan {
    /// Returns the long form if `LEASES_SOAK_MINUTES` is set, otherwise the short one.
    pub(crate) fn of_environment() -> Self {
        let number = |name: &str| std::env::var(name).ok()?.parse::<f64>().ok();
        let seed = std::env::var("LEASES_SOAK_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
        let seconds = Duration::from_secs;
        match number("LEASES_SOAK_MINUTES") {
            Some(minutes) => Self {
                rounds: ((minutes * 60.0 / 70.0).round() as u32).max(1),
                objects: number("LEASES_SOAK_OBJECTS").unwrap_or(10_000.0) as u32,
                namespaces: 200,
                changes_per_second: 20,
                faulty: seconds(30),
                fault_interval: seconds(5),
                calm: seconds(40),
                outage: seconds(10),
                timing: Timing {
                    lease_duration: seconds(15),
                    renew_deadline: seconds(10),
                    retry_period: seconds(2),
                },
                seed,
            },
            None => Self {
                rounds: 1,
                objects: 300,
                namespaces: 60,
                changes_per_second: 20,
                faulty: seconds(8),
                fault_interval: seconds(1),
                calm: seconds(9),
                outage: seconds(2),
                timing: Timing {
                    lease_duration: seconds(2),
                    renew_deadline: Duration::from_millis(1400),
                    retry_period: Duration::from_millis(200),
                },
                seed,
            },
        }
    }

    /// The time within which a change must be reconciled in a calm phase.
    pub(crate) fn limit(&self) -> Duration {
        self.timing.lease_duration + Duration::from_secs(5)
    }

    /// Returns the namespace of an object. Names that differ only in their last characters would be in the same few shards.
    pub(crate) fn namespace(&self, object: u32) -> String {
        Self::namespace_name(object % self.namespaces)
    }

    pub(crate) fn namespace_name(number: u32) -> String {
        format!("n{number}-soak")
    }
}
