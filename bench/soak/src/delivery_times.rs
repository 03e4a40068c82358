//! The times from a write to the handler: since the last report, in total, and outside of fault windows.

use kube_informer_bench_client::latency::Latencies;
use serde_json::{Value, json};

/// The times of faults: one at the start of each period, with an effect for some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FaultSchedule {
    /// In nanoseconds since 1970.
    pub(crate) start: u64,
    pub(crate) period: u64,
    pub(crate) window: u64,
}

impl FaultSchedule {
    /// Returns true if the time is in the window of a fault.
    fn is_in_fault_window(self, sent: u64) -> bool {
        sent.saturating_sub(self.start) % self.period.max(1) < self.window
    }
}

/// The delivery times of all handlers.
#[derive(Debug, Default)]
pub(crate) struct DeliveryTimes {
    schedule: Option<FaultSchedule>,
    recent: Latencies,
    all: Latencies,
    undisturbed: Latencies,
}

impl DeliveryTimes {
    /// Starts recording; earlier writes do not count.
    pub(crate) fn start(&mut self, schedule: FaultSchedule) {
        *self = Self { schedule: Some(schedule), ..Self::default() };
    }

    /// Records the delivery of an object that was written at `sent`.
    pub(crate) fn delivered(&mut self, sent: u64, now: u64) {
        let Some(schedule) = self.schedule.filter(|schedule| sent >= schedule.start) else { return };
        let time = now.saturating_sub(sent);
        self.recent.record(time);
        self.all.record(time);
        if !schedule.is_in_fault_window(sent) {
            self.undisturbed.record(time);
        }
    }

    /// Returns the times since the last call.
    pub(crate) fn take_recent(&mut self) -> Value {
        let recent = report(&self.recent);
        self.recent.clear();
        recent
    }

    pub(crate) fn total(&self) -> Value {
        json!({ "all": report(&self.all), "undisturbed": report(&self.undisturbed) })
    }
}

fn report(times: &Latencies) -> Value {
    json!({
        "events": times.len(),
        "p50": times.quantile(0.5),
        "p99": times.quantile(0.99),
        "p999": times.quantile(0.999),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_fault_windows_are_not_undisturbed_and_earlier_writes_do_not_count() {
        let mut times = DeliveryTimes::default();
        times.delivered(1, 2);
        times.start(FaultSchedule { start: 100, period: 10, window: 3 });
        for sent in [99, 100, 102, 103, 109, 110] {
            times.delivered(sent, sent + 5);
        }
        let total = times.total();
        assert_eq!((&total["all"]["events"], &total["undisturbed"]["events"]), (&json!(5), &json!(2)));
    }

    #[test]
    fn recent_times_are_reset_by_each_report() {
        let mut times = DeliveryTimes::default();
        times.start(FaultSchedule { start: 0, period: 10, window: 3 });
        times.delivered(1, 2);
        assert_eq!(times.take_recent()["events"], 1);
        assert_eq!(times.take_recent()["events"], 0);
        assert_eq!(times.total()["all"]["events"], 1);
    }
}
