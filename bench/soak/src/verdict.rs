//! Decides whether events were lost, and whether memory grew.

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value, json};

use crate::memory_trend::{Trend, minimums};
use crate::options::RunOptions;
use crate::sample::Sample;

/// The minimum duration for a decision on memory.
const MINIMUM_DURATION: Duration = Duration::from_secs(300);

/// The seconds of which the minimum of memory in use counts.
const SPAN: f64 = 60.0;

/// The result of a run.
#[derive(Debug, Clone)]
pub(crate) struct Verdict {
    differences: Differences,
    /// The trend of the clients' memory in use, and of their resident memory.
    in_use: Option<Trend>,
    resident: Option<Trend>,
    has_grown: bool,
    /// The achieved share of the requested rate.
    rate: f64,
    times: Value,
    faults: Value,
}

/// The differences between clients and server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Differences {
    caches: usize,
    handlers: usize,
    has_blocked_handler: bool,
    /// Events with an older version than a previous one.
    stale_events: u64,
}

impl Differences {
    /// Compares the contents of the clients with the server.
    pub(crate) fn between(expected: &Value, read: &Value) -> Self {
        let namespaces = expected["namespaces"].as_array().map_or(&[][..], Vec::as_slice);
        let count = |name: &str| {
            let found = read[name].as_array().map_or(&[][..], Vec::as_slice);
            let missing = namespaces.len().abs_diff(found.len());
            missing + namespaces.iter().zip(found).filter(|(expected, found)| expected != found).count()
        };
        Self {
            caches: count("caches"),
            handlers: count("handlers"),
            has_blocked_handler: namespaces.first() != Some(&read["blocked"]),
            stale_events: read["stale_events"].as_u64().unwrap_or(u64::MAX),
        }
    }

    pub(crate) fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// The reports of both processes at the end.
#[derive(Debug, Clone)]
pub(crate) struct FinalReports {
    pub(crate) times: Value,
    pub(crate) faults: Value,
}

impl Verdict {
    pub(crate) fn of(
        options: &RunOptions,
        samples: &[Sample],
        differences: Differences,
        reports: FinalReports,
    ) -> Self {
        // Caches and allocator reach their size in the first quarter.
        let seconds = samples.last().map_or(0.0, |sample| sample.seconds);
        let late = || samples.iter().filter(|sample| sample.seconds >= seconds / 4.0);
        let in_use: Vec<_> = late().map(|sample| (sample.seconds, sample.clients.in_use)).collect();
        let resident: Vec<_> = late().map(|sample| (sample.seconds, sample.clients.resident)).collect();
        let in_use = Trend::of(&minimums(&in_use, SPAN));
        let is_flat = in_use.is_some_and(|trend| trend.share_per_hour() <= options.growth_limit());
        let writes = samples.last().map_or(0.0, |sample| sample.writes);
        Self {
            differences,
            in_use,
            resident: Trend::of(&resident),
            has_grown: options.duration() >= MINIMUM_DURATION && !is_flat,
            rate: writes / (options.load.rate * seconds).max(1.0),
            times: reports.times,
            faults: reports.faults,
        }
    }

    pub(crate) fn has_passed(&self) -> bool {
        self.differences.is_none() && !self.has_grown
    }

    pub(crate) fn text(&self, options: &RunOptions) -> String {
        let mut text = String::new();
        let Differences { caches, handlers, has_blocked_handler, stale_events } = self.differences;
        let informers = options.load.informers;
        _ = writeln!(
            text,
            "differences: {caches} of {informers} caches, {handlers} of {informers} handlers, {} blocked handlers; {stale_events} stale events",
            usize::from(has_blocked_handler)
        );
        for (name, trend) in [("in use, minimum of each minute", self.in_use), ("resident", self.resident)] {
            _ = writeln!(text, "memory of the clients, {name}: {}", trend_text(trend));
        }
        for (name, label) in [("all", "write to handler"), ("undisturbed", "outside of fault windows")] {
            let times = &self.times[name];
            let [p50, p99, p999] =
                ["p50", "p99", "p999"].map(|quantile| times[quantile].as_f64().unwrap_or(0.0));
            _ = writeln!(
                text,
                "{label}: p50 {p50:.1} ms, p99 {p99:.1} ms, p99.9 {p999:.1} ms of {} events",
                times["events"]
            );
        }
        let faults = self.faults.as_object().into_iter().flatten();
        let faults: Vec<_> = faults.map(|(kind, count)| format!("{kind} {count}")).collect();
        _ = writeln!(text, "faults: {}", faults.join(", "));
        _ = writeln!(text, "rate: {:.1} % of {} writes per second", self.rate * 100.0, options.load.rate);
        let limit = match options.duration() >= MINIMUM_DURATION {
            true => format!("memory in use may grow by {:.1} % per hour", options.growth_limit() * 100.0),
            false => "too short for a decision on memory".to_owned(),
        };
        _ = write!(text, "{} ({limit})", if self.has_passed() { "passed" } else { "FAILED" });
        text
    }

    pub(crate) fn document(&self) -> Value {
        let trend = |trend: Option<Trend>| {
            trend.map(|trend| json!({ "mean": trend.mean, "share_per_hour": trend.share_per_hour() }))
        };
        json!({
            "passed": self.has_passed(),
            "differing_caches": self.differences.caches,
            "differing_handlers": self.differences.handlers,
            "blocked_handler_differs": self.differences.has_blocked_handler,
            "stale_events": self.differences.stale_events,
            "in_use": trend(self.in_use),
            "resident": trend(self.resident),
            "rate": self.rate,
            "times_ms": self.times,
            "faults": self.faults,
        })
    }
}

fn trend_text(trend: Option<Trend>) -> String {
    trend.map_or_else(
        || "too few samples".to_owned(),
        |trend| format!("{:.1} MB, {:+.2} % per hour", trend.mean / 1e6, trend.share_per_hour() * 100.0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        options: RunOptions,
    }

    fn sample(seconds: f64, in_use: f64) -> Sample {
        let memory =
            |in_use: f64| json!({ "in_use": in_use, "rss": in_use + seconds * 1e6, "cpu_seconds": 1 });
        let client = json!({ "memory": memory(in_use), "objects": 7, "relists": 1, "blocked_depth": 3,
                             "recent": { "events": 100, "p50": 1.5, "p99": 2.5 } });
        let server = json!({ "memory": memory(1e6), "writes": seconds * 5_000.0 });
        Sample::of(&client, &server, seconds, None).unwrap()
    }

    /// Returns the verdict of a run whose memory grows by some bytes per second.
    fn verdict(minutes: &str, growth: f64, differences: Differences) -> Verdict {
        let options = Cli::parse_from(["soak", "--minutes", minutes]).options;
        let samples: Vec<_> =
            (1..=100).map(|at| f64::from(at) * 10.0).map(|at| sample(at, 1e8 + growth * at)).collect();
        let reports = FinalReports { times: json!({}), faults: json!({}) };
        Verdict::of(&options, &samples, differences, reports)
    }

    #[test]
    fn a_long_run_fails_if_memory_grows() {
        assert!(verdict("20", 0.0, Differences::default()).has_passed());
        assert!(!verdict("20", 2_000.0, Differences::default()).has_passed());
        assert!(verdict("1", 2_000.0, Differences::default()).has_passed());
    }

    #[test]
    fn every_difference_fails_the_run() {
        for differences in [
            Differences { caches: 1, ..Differences::default() },
            Differences { handlers: 1, ..Differences::default() },
            Differences { has_blocked_handler: true, ..Differences::default() },
            Differences { stale_events: 1, ..Differences::default() },
        ] {
            assert!(!verdict("1", 0.0, differences).has_passed());
        }
    }

    #[test]
    fn differences_are_found() {
        let [a, b] = [1, 2].map(|count| json!({ "count": count }));
        let expected = json!({ "namespaces": [a, b] });
        let read = json!({ "caches": [a, b], "handlers": [a, b], "blocked": a, "stale_events": 0 });
        assert!(Differences::between(&expected, &read).is_none());
        let read = json!({ "caches": [a, a], "handlers": [b], "blocked": b, "stale_events": 2 });
        let found = Differences { caches: 1, handlers: 2, has_blocked_handler: true, stale_events: 2 };
        assert_eq!(Differences::between(&expected, &read), found);
    }

    #[test]
    fn the_rate_is_relative_to_the_requested_one() {
        assert_eq!(verdict("1", 0.0, Differences::default()).rate, 1.0);
    }
}
