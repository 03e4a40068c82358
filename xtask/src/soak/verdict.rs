//! Whether anything was lost, and whether memory grew.

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value, json};

use crate::soak::options::Options;
use crate::soak::sample::{Memory, Sample};
use crate::soak::slope::{Slope, troughs};

/// A run that is shorter says nothing about its memory.
const LONG: Duration = Duration::from_secs(300);

/// Of so many seconds each, the least that is in use is looked at.
const TROUGH: f64 = 60.0;

/// What a run came to.
#[derive(Debug, Clone)]
pub(crate) struct Verdict {
    pub(crate) difference: Difference,
    pub(crate) clients: Growth,
    pub(crate) server: Growth,
    /// How many writes a second there were, over how many were asked for.
    pub(crate) held: f64,
    pub(crate) grew: bool,
    /// Times from write to handler.
    pub(crate) times: Value,
    pub(crate) faults: Value,
}

/// How the memory of a program grew.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Growth {
    pub(crate) in_use: Option<Slope>,
    pub(crate) resident: Option<Slope>,
}

impl Growth {
    fn of(memories: &[(f64, Memory)]) -> Self {
        let points = |of: fn(&Memory) -> f64| -> Vec<_> {
            memories.iter().map(|(seconds, memory)| (*seconds, of(memory))).collect()
        };
        // A list that is under way is in use, and gone a moment later: what is there at the best of moments has to be flat.
        let in_use = Slope::of(&troughs(&points(|memory| memory.in_use), TROUGH));
        Self { in_use, resident: Slope::of(&points(|memory| memory.resident)) }
    }

    fn document(self) -> Value {
        let slope = |slope: Option<Slope>| {
            slope.map(|slope| {
                json!({ "kb_per_minute": slope.per_second * 60.0 / 1e3, "share_per_hour": slope.share_per_hour(),
                        "mean": slope.mean })
            })
        };
        json!({ "in_use": slope(self.in_use), "resident": slope(self.resident) })
    }
}

/// Who holds something else than the server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) caches: usize,
    pub(crate) handlers: usize,
    pub(crate) is_stuck_one: bool,
    /// Events that told of something older than what was known.
    pub(crate) went_back: u64,
}

impl Difference {
    /// Holds what the clients have against what the server has.
    pub(crate) fn between(truth: &Value, read: &Value) -> Self {
        let namespaces = truth["namespaces"].as_array().map_or(&[][..], Vec::as_slice);
        let differ = |name: &str| {
            let held = read[name].as_array().map_or(&[][..], Vec::as_slice);
            let missing = namespaces.len().abs_diff(held.len());
            missing + namespaces.iter().zip(held).filter(|(wanted, held)| wanted != held).count()
        };
        Self {
            caches: differ("caches"),
            handlers: differ("folds"),
            is_stuck_one: namespaces.first() != Some(&read["stuck"]),
            went_back: read["went_back"].as_u64().unwrap_or(u64::MAX),
        }
    }

    pub(crate) fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl Verdict {
    /// Judges a run by what was seen of it.
    pub(crate) fn of(
        options: &Options,
        samples: &[Sample],
        difference: Difference,
        (times, faults): (Value, Value),
    ) -> Self {
        // The first quarter is for things to find their size.
        let seconds = samples.last().map_or(0.0, |sample| sample.seconds);
        let late = samples.iter().filter(|sample| sample.seconds >= seconds / 4.0);
        let (clients, server): (Vec<_>, Vec<_>) =
            late.map(|sample| ((sample.seconds, sample.clients), (sample.seconds, sample.server))).unzip();
        let (clients, server) = (Growth::of(&clients), Growth::of(&server));
        // What the allocator keeps of what was freed is not ours to say; it is shown.
        let is_flat = clients.in_use.is_some_and(|slope| slope.share_per_hour() <= options.bound);
        let writes = samples.last().map_or(0.0, |sample| sample.writes);
        Self {
            difference,
            grew: options.time >= LONG && !is_flat,
            clients,
            server,
            held: writes / (options.rate * seconds).max(1.0),
            times,
            faults,
        }
    }

    pub(crate) fn is_good(&self) -> bool {
        self.difference.is_none() && !self.grew
    }

    /// The verdict in words.
    pub(crate) fn text(&self, options: &Options) -> String {
        let mut text = String::new();
        let Difference { caches, handlers, is_stuck_one, went_back } = self.difference;
        let stuck = if is_stuck_one { "lost something" } else { "caught up" };
        _ = writeln!(
            text,
            "lost: {caches} of {0} caches and {handlers} of {0} handlers differ from the server; {went_back} events went back \
             in time; the stuck handler, let go, {stuck}",
            options.informers
        );
        for (who, growth) in [("clients", self.clients), ("server", self.server)] {
            let [in_use, resident] = [growth.in_use, growth.resident]
                .map(|slope| slope.map_or_else(|| "too few lines for a slope".to_owned(), shown));
            _ = writeln!(
                text,
                "memory of the {who} over the last three quarters: in use, at the least of each minute, {in_use}; resident {resident}"
            );
        }
        for (name, about) in [("all", "from write to handler"), ("calm", "outside of fault windows")] {
            let times = &self.times[name];
            _ = writeln!(
                text,
                "{about}: p50 {} ms, p99 {} ms, p99.9 {} ms of {} events",
                times["p50"], times["p99"], times["p999"], times["events"]
            );
        }
        let faults = self.faults.as_object().into_iter().flatten();
        let faults: Vec<_> = faults.map(|(kind, count)| format!("{kind} {count}")).collect();
        _ = writeln!(text, "faults: {}", faults.join(", "));
        _ = writeln!(text, "rate: {:.1} % of {} writes a second", self.held * 100.0, options.rate);
        let bound = match options.time >= LONG {
            true => {
                format!("the bound of what clients have in use is {:.1} % an hour", options.bound * 100.0)
            }
            false => "too short to judge by its memory".to_owned(),
        };
        let word = if self.is_good() { "good" } else { "BAD" };
        _ = write!(text, "verdict: {word} ({bound})");
        text
    }

    pub(crate) fn document(&self) -> Value {
        json!({
            "good": self.is_good(),
            "caches_differ": self.difference.caches,
            "handlers_differ": self.difference.handlers,
            "stuck_differs": self.difference.is_stuck_one,
            "went_back": self.difference.went_back,
            "client_memory": self.clients.document(),
            "server_memory": self.server.document(),
            "rate_held": self.held,
            "latency_ms": self.times,
            "faults": self.faults,
        })
    }
}

fn shown(slope: Slope) -> String {
    format!(
        "{:+.1} KB a minute, {:+.2} % of {:.1} MB an hour",
        slope.per_second * 60.0 / 1e3,
        slope.share_per_hour() * 100.0,
        slope.mean / 1e6
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soak::options::parse;

    fn sample(seconds: f64, in_use: f64) -> Sample {
        let memory =
            |in_use: f64| json!({ "in_use": in_use, "rss": in_use + seconds * 1e6, "cpu_seconds": 1 });
        let client = json!({ "memory": memory(in_use), "objects": 7, "relists": 1, "stuck": 3,
                             "lately": { "events": 100, "p50": 1.5, "p99": 2.5 } });
        let server = json!({ "memory": memory(1e6), "writes": seconds * 5_000.0 });
        Sample::of(&client, &server, seconds, None).unwrap()
    }

    /// A run whose memory grows by so many bytes a second after its first quarter.
    fn judged(minutes: &str, growth: f64, difference: Difference) -> Verdict {
        let options = parse(&["--minutes".to_owned(), minutes.to_owned()]).unwrap();
        let samples: Vec<_> =
            (1..=100).map(|at| f64::from(at) * 10.0).map(|at| sample(at, 1e8 + growth * at)).collect();
        Verdict::of(&options, &samples, difference, (json!({}), json!({})))
    }

    #[test]
    fn memory_that_grows_is_bad_in_a_long_run() {
        assert!(judged("20", 0.0, Difference::default()).is_good());
        assert!(!judged("20", 2_000.0, Difference::default()).is_good());
        assert!(judged("1", 2_000.0, Difference::default()).is_good());
    }

    #[test]
    fn whatever_is_lost_is_bad() {
        for difference in [
            Difference { caches: 1, ..Difference::default() },
            Difference { handlers: 1, ..Difference::default() },
            Difference { is_stuck_one: true, ..Difference::default() },
            Difference { went_back: 1, ..Difference::default() },
        ] {
            assert!(!judged("1", 0.0, difference).is_good());
        }
    }

    #[test]
    fn differences_are_found() {
        let [a, b] = [1, 2].map(|count| json!({ "count": count }));
        let truth = json!({ "namespaces": [a, b] });
        let read = json!({ "caches": [a, b], "folds": [a, b], "stuck": a, "went_back": 0 });
        assert!(Difference::between(&truth, &read).is_none());
        let read = json!({ "caches": [a, a], "folds": [b], "stuck": b, "went_back": 2 });
        let wanted = Difference { caches: 1, handlers: 2, is_stuck_one: true, went_back: 2 };
        assert_eq!(Difference::between(&truth, &read), wanted);
    }

    #[test]
    fn the_rate_is_that_of_the_writes() {
        assert_eq!(judged("1", 0.0, Difference::default()).held, 1.0);
    }
}
