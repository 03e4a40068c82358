//! Prints the errors of watches, each at most once a minute, and denied access once an hour.

use crate::notice::print_notice;
use kube_informer::reflector::{Cause, Report};
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// The time between two notices of the same error.
const INTERVAL: Duration = Duration::from_secs(60);

/// The time between two notices of a resource that may not be read, of which a cluster may have many.
const DENIED_INTERVAL: Duration = Duration::from_secs(3_600);

/// The times at which errors were printed.
#[derive(Debug, Default)]
pub(super) struct Notices(Mutex<HashMap<Notice, Instant>>);

/// A type of error of a watch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Notice {
    watch: String,
    error: &'static str,
}

impl Notices {
    /// Prints an error, unless it was printed within the last minute.
    pub(super) fn report(&self, report: &Report<'_>) {
        // A version that expired leads to a list, and is recorded as a gap.
        if matches!(&report.cause, Cause::Source(error) if error.is_expired()) {
            return;
        }
        let is_denied = matches!(&report.cause, Cause::Source(error) if error.is_forbidden());
        let interval = if is_denied { DENIED_INTERVAL } else { INTERVAL };
        let notice = Notice { watch: report.name.to_owned(), error: report.cause.kind() };
        if self.is_due(notice, interval, Instant::now()) {
            print_notice(format!("{}: {}", report.name, report.cause));
        }
    }

    fn is_due(&self, notice: Notice, interval: Duration, now: Instant) -> bool {
        let mut printed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = printed.get(&notice).is_none_or(|last| now.saturating_duration_since(*last) >= interval);
        if is_due {
            printed.insert(notice, now);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_printed_once_a_minute() {
        let (notices, start) = (Notices::default(), Instant::now());
        let notice = |watch: &str| Notice { watch: watch.to_owned(), error: "transport" };
        assert!(notices.is_due(notice("pods"), INTERVAL, start));
        assert!(!notices.is_due(notice("pods"), INTERVAL, start + Duration::from_secs(59)));
        assert!(notices.is_due(notice("nodes"), INTERVAL, start + Duration::from_secs(59)));
        assert!(notices.is_due(notice("pods"), INTERVAL, start + Duration::from_secs(60)));
    }
}
