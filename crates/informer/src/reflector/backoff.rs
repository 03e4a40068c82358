//! How long to wait after a failure.

use super::dice::Dice;
use std::time::Duration;
use tokio::time::Instant;

/// How waits grow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backoff {
    /// The first wait.
    pub initial: Duration,
    /// The longest wait, before jitter.
    pub cap: Duration,
    /// By how much each wait is longer than the one before.
    pub factor: f64,
    /// How much of a wait is added to it at random: up to this share, so 1 doubles it at most. Negative means none.
    pub jitter: f64,
    /// After so long without a wait the next one is the first again. Zero means that all are.
    pub reset: Duration,
}

/// client-go's numbers: from 0.8 s, doubling up to 30 s, up to twice that with jitter, and again from the beginning
/// after two minutes of calm.
impl Default for Backoff {
    fn default() -> Self {
        Self {
            initial: Duration::from_millis(800),
            cap: Duration::from_secs(30),
            factor: 2.0,
            jitter: 1.0,
            reset: Duration::from_secs(120),
        }
    }
}

/// The waits so far.
#[derive(Clone, Debug)]
pub(crate) struct Waits {
    backoff: Backoff,
    next: Duration,
    last: Option<Instant>,
}

impl Waits {
    pub(crate) fn new(backoff: Backoff) -> Self {
        Self { backoff, next: backoff.initial, last: None }
    }

    /// How long to wait now.
    pub(crate) fn next(&mut self, now: Instant, dice: &mut Dice) -> Duration {
        let Backoff { initial, cap, factor, jitter, reset } = self.backoff;
        if self.last.is_some_and(|last| reset.is_zero() || now - last > reset) {
            self.next = initial;
        }
        self.last = Some(now);
        let wait = self.next.min(cap);
        self.next = wait.mul_f64(factor.max(1.0)).min(cap);
        wait + wait.mul_f64(jitter.max(0.0) * dice.roll())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Backoff = Backoff {
        initial: Duration::from_secs(1),
        cap: Duration::from_secs(10),
        factor: 2.0,
        jitter: -1.0,
        reset: Duration::from_secs(10),
    };

    fn waits(backoff: Backoff, count: usize) -> Vec<u64> {
        let (mut waits, mut dice, now) = (Waits::new(backoff), Dice::seeded(1), Instant::now());
        (0..count).map(|_| waits.next(now, &mut dice).as_secs()).collect()
    }

    // R56
    #[test]
    fn waits_double_up_to_the_cap_and_begin_again_after_calm() {
        assert_eq!(waits(PLAIN, 7), [1, 2, 4, 8, 10, 10, 10]);
        let (mut waits, mut dice, now) = (Waits::new(PLAIN), Dice::seeded(1), Instant::now());
        let mut at = |seconds| waits.next(now + Duration::from_secs(seconds), &mut dice).as_secs();
        assert_eq!([at(0), at(10), at(20), at(31)], [1, 2, 4, 1]);
    }

    #[test]
    fn lasting_failure_never_begins_again() {
        let (mut waits, mut dice, mut now) =
            (Waits::new(Backoff::default()), Dice::seeded(1), Instant::now());
        let all: Vec<_> = (0..200)
            .map(|_| {
                let wait = waits.next(now, &mut dice);
                now += wait;
                wait
            })
            .collect();
        assert!(all[10..].iter().all(|wait| *wait >= Duration::from_secs(30)), "{all:?}");
    }

    // R57
    #[test]
    fn without_a_reset_all_waits_are_the_first() {
        assert_eq!(waits(Backoff { reset: Duration::ZERO, ..PLAIN }, 4), [1, 1, 1, 1]);
    }

    // R58
    #[test]
    fn jitter_adds_up_to_its_share() {
        let (mut dice, now) = (Dice::seeded(7), Instant::now());
        let mut first = || Waits::new(Backoff { jitter: 1.0, ..PLAIN }).next(now, &mut dice).as_secs_f64();
        let all: Vec<_> = (0..1000).map(|_| first()).collect();
        assert!(all.iter().all(|wait| (1.0..=2.0).contains(wait)));
        assert!(all.iter().any(|wait| *wait < 1.1) && all.iter().any(|wait| *wait > 1.9));
    }

    // R59
    #[test]
    fn a_backoff_of_ones_own_is_kept_to() {
        let own = Backoff { initial: Duration::from_millis(10), cap: Duration::from_millis(100), ..PLAIN };
        let (mut waits, mut dice, now) = (Waits::new(own), Dice::seeded(1), Instant::now());
        let total: Duration = (0..5).map(|_| waits.next(now, &mut dice)).sum();
        assert_eq!(total, Duration::from_millis(10 + 20 + 40 + 80 + 100));
    }

    // R60
    #[test]
    fn waits_add_up_between_their_sum_and_its_double() {
        let quick =
            Backoff { initial: Duration::from_millis(1), cap: Duration::from_secs(30), jitter: 1.0, ..PLAIN };
        let capped = Backoff { cap: Duration::from_millis(50), ..quick };
        for (backoff, count, least, most) in [(quick, 5, 31, 64), (capped, 40, 1700, 4000)] {
            let (mut waits, mut dice, now) = (Waits::new(backoff), Dice::seeded(3), Instant::now());
            let total: Duration = (0..count).map(|_| waits.next(now, &mut dice)).sum();
            assert!((least..=most).contains(&total.as_millis()), "{total:?}");
        }
    }
}
