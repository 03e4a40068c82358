//! The clock that deadlines are measured with.

use std::fmt::Debug;
use std::ops::Add;
use std::time::Duration;

/// A time on a clock of this machine that also advances while the machine is suspended.
///
/// It cannot be compared with the times of another machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BootTime(Duration);

impl BootTime {
    /// Creates a time from the duration since the clock started.
    #[must_use]
    pub const fn from_start(elapsed: Duration) -> Self {
        Self(elapsed)
    }

    /// Returns the duration since the clock started.
    #[must_use]
    pub const fn since_start(self) -> Duration {
        self.0
    }

    /// Returns the duration from `earlier` to this time, and zero if `earlier` is later.
    #[must_use]
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<Duration> for BootTime {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration))
    }
}

/// A source of the current time.
pub trait Clock: Debug + Send + Sync + 'static {
    /// Returns the current time.
    fn now(&self) -> BootTime;
}

/// The clock of the system, which includes the time during which the machine was suspended.
///
/// This is `CLOCK_BOOTTIME` on Linux and Android, and the monotonic clock elsewhere.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

#[cfg(unix)]
impl Clock for SystemClock {
    fn now(&self) -> BootTime {
        use rustix::time::{ClockId, clock_gettime};

        #[cfg(any(target_os = "linux", target_os = "android"))]
        const CLOCK: ClockId = ClockId::Boottime;
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        const CLOCK: ClockId = ClockId::Monotonic;

        let time = clock_gettime(CLOCK);
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or(0);
        BootTime(Duration::new(seconds, nanoseconds))
    }
}

#[cfg(not(unix))]
impl Clock for SystemClock {
    fn now(&self) -> BootTime {
        use std::sync::OnceLock;
        use std::time::Instant;

        static START: OnceLock<Instant> = OnceLock::new();
        BootTime(START.get_or_init(Instant::now).elapsed())
    }
}

/// A clock that follows `tokio::time`, for tests under paused time.
///
/// Do not use it in production: Tokio's clock stops while the machine is suspended.
#[derive(Clone, Copy, Debug)]
pub struct TokioClock {
    start: tokio::time::Instant,
}

impl TokioClock {
    /// Creates a clock that starts now. Clocks of one test must be copies of one clock to be comparable.
    #[must_use]
    pub fn new() -> Self {
        Self { start: tokio::time::Instant::now() }
    }
}

impl Default for TokioClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for TokioClock {
    fn now(&self) -> BootTime {
        BootTime(self.start.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_clock_never_runs_backward() {
        let times: Vec<_> = (0..1000).map(|_| SystemClock.now()).collect();
        assert!(times.is_sorted());
        assert!(times[0] > BootTime::default());
    }

    #[test]
    fn differences_of_times_do_not_underflow() {
        let early = BootTime::from_start(Duration::from_secs(1));
        let late = early + Duration::from_secs(2);
        assert_eq!(late.saturating_since(early), Duration::from_secs(2));
        assert_eq!(early.saturating_since(late), Duration::ZERO);
        assert_eq!(late + Duration::MAX, BootTime(Duration::MAX));
    }
}
