//! Limits how many failures are printed, since a server can cause any number of them.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// The number of reports that are printed at once.
const BURST: u32 = 20;
/// The time after which one more is printed.
const INTERVAL: Duration = Duration::from_millis(500);

/// Decides which reports are printed.
#[derive(Debug, Default)]
pub(super) struct Reports(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The number of printed reports that count against the limit.
    used: u32,
    /// The time up to which `used` was reduced.
    since: Option<Instant>,
    suppressed: u64,
    /// Lines that wait for the end of the initial lists.
    deferred: Vec<String>,
    has_synced: bool,
}

/// Whether a report is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// It is, and as many before it were not.
    Print { suppressed: u64 },
    /// It is not.
    Suppress,
}

impl Reports {
    /// Counts a report.
    pub(super) fn admit(&self, now: Instant) -> Admission {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let since = *state.since.get_or_insert(now);
        let elapsed = now.saturating_duration_since(since);
        let regained = u32::try_from(elapsed.as_millis() / INTERVAL.as_millis()).unwrap_or(u32::MAX);
        state.since = Some(since + INTERVAL.saturating_mul(regained).min(elapsed));
        state.used = state.used.saturating_sub(regained);
        if state.used == BURST {
            state.suppressed += 1;
            return Admission::Suppress;
        }
        state.used += 1;
        Admission::Print { suppressed: std::mem::take(&mut state.suppressed) }
    }

    /// Returns a line that is to be printed now. A line about a fallback of the initial list is held back: if the fallback fails as
    /// well, its error has the reason.
    pub(super) fn defer(&self, line: String) -> Option<String> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.has_synced {
            return Some(line);
        }
        if state.deferred.len() < BURST as usize {
            state.deferred.push(line);
        }
        None
    }

    /// Records that the initial lists are complete, and returns the lines that were held back.
    pub(super) fn synced(&self) -> Vec<String> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.has_synced = true;
        std::mem::take(&mut state.deferred)
    }

    /// Returns the number of reports that were suppressed since the last that was printed.
    pub(super) fn suppressed(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).suppressed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_limited_and_counted() {
        let (reports, began) = (Reports::default(), Instant::now());
        let admitted = (0..1_000_000).filter(|_| reports.admit(began) != Admission::Suppress).count();
        assert_eq!(admitted, BURST as usize);
        assert_eq!(reports.suppressed(), 1_000_000 - u64::from(BURST));
        assert_eq!(reports.admit(began + INTERVAL / 2), Admission::Suppress);
        let suppressed = 1_000_001 - u64::from(BURST);
        assert_eq!(reports.admit(began + INTERVAL), Admission::Print { suppressed });
        assert_eq!(reports.admit(began + INTERVAL), Admission::Suppress);
    }

    #[test]
    fn fallbacks_are_held_back_until_the_lists_are_complete() {
        let reports = Reports::default();
        assert_eq!(reports.defer("a".into()), None);
        assert_eq!(reports.synced(), ["a"]);
        assert_eq!(reports.defer("b".into()).as_deref(), Some("b"));
        assert_eq!(reports.synced(), [""; 0]);
    }

    #[test]
    fn reports_at_a_moderate_rate_are_all_printed() {
        let (reports, began) = (Reports::default(), Instant::now());
        for number in 0..1000 {
            assert_eq!(reports.admit(began + INTERVAL * number), Admission::Print { suppressed: 0 });
        }
    }
}
