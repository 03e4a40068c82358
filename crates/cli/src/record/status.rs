//! The progress of a recording as text: for people, and for Prometheus.

use crate::number::{age, bytes, count, short};
use jiff::Timestamp;
use kube_informer::history::RecordingStatus;
use std::{
    fmt::Write,
    time::{Duration, Instant},
};

/// Computes the rate of changes between two readings of the status.
#[derive(Debug)]
pub(super) struct Rate {
    changes: u64,
    since: Instant,
    per_second: f64,
}

impl Rate {
    pub(super) fn new() -> Self {
        Self { changes: 0, since: Instant::now(), per_second: 0.0 }
    }

    /// Returns the changes per second since the last call that was at least half a second ago.
    pub(super) fn update(&mut self, changes: u64, now: Instant) -> f64 {
        let elapsed = now.saturating_duration_since(self.since);
        if elapsed >= Duration::from_millis(500) {
            self.per_second = changes.saturating_sub(self.changes) as f64 / elapsed.as_secs_f64();
            self.changes = changes;
            self.since = now;
        }
        self.per_second
    }
}

/// Returns the seconds since the sink that is furthest behind received a list, an event or a bookmark.
fn lag(status: &RecordingStatus, now: Timestamp) -> Option<Duration> {
    let received = status.received?;
    Some(Duration::try_from(now.duration_since(received)).unwrap_or_default())
}

/// Returns the status line: changes per second, objects, bytes, span and lag.
pub(super) fn line(status: &RecordingStatus, per_second: f64, now: Timestamp) -> String {
    let mut line = format!(
        "{} changes/s, {}, {}",
        short(per_second),
        count(status.objects as u64, "object"),
        bytes(status.size)
    );
    if let Some(start) = status.start {
        let span = Duration::try_from(now.duration_since(start)).unwrap_or_default();
        let _ = write!(line, ", span {}", age(span));
    }
    match lag(status, now) {
        _ if status.unlisted > 0 => {
            let _ = write!(line, ", waiting for {}", count(status.unlisted as u64, "list"));
        }
        Some(lag) => {
            let _ = write!(line, ", lag {}", age(lag));
        }
        None => {}
    }
    if status.denied > 0 {
        let _ = write!(line, ", {} denied", count(status.denied as u64, "list"));
    }
    if let Some(error) = &status.error {
        let _ = write!(line, ", not written: {error}");
    }
    line
}

/// Returns why the recording is not healthy; `None` if it is.
pub(super) fn problem(status: &RecordingStatus, now: Timestamp) -> Option<String> {
    let flushed =
        status.flushed.map(|flushed| Duration::try_from(now.duration_since(flushed)).unwrap_or_default());
    match (flushed, &status.error) {
        (Some(since), error) if since > MAX_UNFLUSHED => {
            let why = error.as_deref().unwrap_or("the recorder does not respond");
            Some(format!("nothing was written for {}: {why}", age(since)))
        }
        _ => None,
    }
}

/// The time after which a recording that cannot be written is not healthy.
const MAX_UNFLUSHED: Duration = Duration::from_secs(60);

/// Returns the metrics in the text format of Prometheus.
pub(super) fn metrics(status: &RecordingStatus, now: Timestamp) -> String {
    let mut text = String::new();
    let mut metric = |name: &str, kind: &str, help: &str, value: f64| {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
    };
    let statistics = status.statistics;
    let counters = [
        ("informer_record_changes_total", "Recorded changes.", statistics.changes),
        (
            "informer_record_object_bytes_total",
            "Size of the changed objects as received.",
            statistics.object_bytes,
        ),
        (
            "informer_record_compressed_bytes_total",
            "Size of the changed objects after compression.",
            statistics.compressed_bytes,
        ),
        ("informer_record_segments_total", "Started segments.", statistics.segments),
    ];
    for (name, help, value) in counters {
        metric(name, "counter", help, value as f64);
    }
    let seconds = |time: Timestamp| time.as_microsecond() as f64 / 1e6;
    metric("informer_record_objects", "gauge", "Recorded objects that exist.", status.objects as f64);
    metric("informer_record_folder_bytes", "gauge", "Size of the folder.", status.size as f64);
    metric(
        "informer_record_unlisted",
        "gauge",
        "Watches that have not received a list yet.",
        status.unlisted as f64,
    );
    metric(
        "informer_record_denied",
        "gauge",
        "Watches of objects that may not be read.",
        status.denied as f64,
    );
    let has_error = f64::from(u8::from(status.error.is_some()));
    metric("informer_record_write_failed", "gauge", "1 if the last write failed.", has_error);
    if let Some(start) = status.start {
        metric("informer_record_start_timestamp_seconds", "gauge", "First readable moment.", seconds(start));
    }
    if let Some(flushed) = status.flushed {
        metric(
            "informer_record_flushed_timestamp_seconds",
            "gauge",
            "Last successful write.",
            seconds(flushed),
        );
    }
    if let Some(lag) = lag(status, now) {
        let help = "Seconds since the watch that is furthest behind received anything.";
        metric("informer_record_lag_seconds", "gauge", help, lag.as_secs_f64());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status() -> RecordingStatus {
        let mut status = RecordingStatus::default();
        status.objects = 1_200;
        status.size = 45_600_000;
        status.start = Some(Timestamp::from_second(1_000).unwrap());
        status.flushed = Some(Timestamp::from_second(5_000).unwrap());
        status.received = Some(Timestamp::from_second(4_997).unwrap());
        status
    }

    fn now() -> Timestamp {
        Timestamp::from_second(5_000).unwrap()
    }

    #[test]
    fn the_line_has_rate_size_span_and_lag() {
        let line = line(&status(), 12.34, now());
        assert_eq!(line, "12 changes/s, 1,200 objects, 45.6 MB, span 66m, lag 3s");
        let mut waiting = status();
        waiting.unlisted = 2;
        waiting.denied = 1;
        waiting.error = Some("disk full".to_owned());
        let line = super::line(&waiting, 0.0, now());
        assert!(line.ends_with("waiting for 2 lists, 1 list denied, not written: disk full"), "{line}");
    }

    #[test]
    fn a_recording_that_cannot_be_written_is_not_healthy() {
        assert_eq!(problem(&status(), now()), None);
        let later = Timestamp::from_second(5_100).unwrap();
        let mut full = status();
        full.error = Some("disk full".to_owned());
        assert_eq!(problem(&full, now()), None, "it is retried");
        assert_eq!(problem(&full, later).unwrap(), "nothing was written for 100s: disk full");
    }

    #[test]
    fn metrics_are_those_of_prometheus() {
        let text = metrics(&status(), now());
        assert!(
            text.contains("# TYPE informer_record_changes_total counter\ninformer_record_changes_total 0\n")
        );
        assert!(text.contains("informer_record_lag_seconds 3\n"), "{text}");
        assert!(text.contains("informer_record_start_timestamp_seconds 1000\n"), "{text}");
    }

    #[test]
    fn the_rate_is_that_of_the_last_interval() {
        let start = Instant::now();
        let mut rate = Rate { changes: 0, since: start, per_second: 0.0 };
        assert_eq!(rate.update(100, start + Duration::from_secs(2)), 50.0);
        assert_eq!(rate.update(101, start + Duration::from_millis(2_100)), 50.0);
        assert_eq!(rate.update(130, start + Duration::from_secs(3)), 30.0);
    }
}
