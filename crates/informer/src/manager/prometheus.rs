//! Collects metrics, and formats them for Prometheus.

use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
    SetRecorderError, SharedString, Unit,
};
use std::{
    collections::BTreeMap,
    fmt::Write,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// A recorder for the `metrics` facade that formats all metrics of the process as Prometheus text.
///
/// It is small, without further dependencies, and has fixed histogram buckets; `metrics-exporter-prometheus` has more options. The
/// handle is cheap to clone.
///
/// ```
/// use kube_informer::manager::PrometheusRecorder;
///
/// let recorder = PrometheusRecorder::new();
/// metrics::with_local_recorder(&recorder, || metrics::counter!("requests_total", "code" => "200").increment(3));
/// assert_eq!(recorder.render(), "# TYPE requests_total counter\nrequests_total{code=\"200\"} 3\n");
/// ```
#[derive(Clone, Debug, Default)]
pub struct PrometheusRecorder {
    families: Arc<Mutex<BTreeMap<String, Family>>>,
}

/// All metrics of one name.
#[derive(Debug, Default)]
struct Family {
    help: String,
    /// By the formatted labels.
    series: BTreeMap<String, Series>,
}

#[derive(Clone, Debug)]
enum Series {
    Counter(Arc<CounterCell>),
    Gauge(Arc<GaugeCell>),
    Histogram(Arc<HistogramCell>),
}

#[derive(Debug, Default)]
struct CounterCell(AtomicU64);

/// The bits of a float.
#[derive(Debug, Default)]
struct GaugeCell(AtomicU64);

#[derive(Debug)]
struct HistogramCell {
    bounds: &'static [f64],
    state: Mutex<HistogramState>,
}

#[derive(Debug, Default)]
struct HistogramState {
    /// For each bound, the number of values up to it; cumulative only in the output.
    counts: Vec<u64>,
    count: u64,
    sum: f64,
}

/// The upper bounds of the buckets of durations.
const SECONDS: &[f64] = &[0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0, 300.0];
/// The upper bounds of the buckets of other values.
const COUNTS: &[f64] = &[1.0, 10.0, 100.0, 1_000.0, 10_000.0, 100_000.0];

impl CounterFn for CounterCell {
    fn increment(&self, value: u64) {
        self.0.fetch_add(value, Ordering::Relaxed);
    }

    fn absolute(&self, value: u64) {
        self.0.fetch_max(value, Ordering::Relaxed);
    }
}

impl GaugeCell {
    fn change(&self, change: impl Fn(f64) -> f64) {
        let update = |bits| Some(change(f64::from_bits(bits)).to_bits());
        // The closure never returns `None`.
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, update);
    }
}

impl GaugeFn for GaugeCell {
    fn increment(&self, value: f64) {
        self.change(|known| known + value);
    }

    fn decrement(&self, value: f64) {
        self.change(|known| known - value);
    }

    fn set(&self, value: f64) {
        self.0.store(value.to_bits(), Ordering::Relaxed);
    }
}

impl HistogramCell {
    fn new(bounds: &'static [f64]) -> Self {
        let state = HistogramState { counts: vec![0; bounds.len()], ..HistogramState::default() };
        Self { bounds, state: Mutex::new(state) }
    }
}

impl HistogramFn for HistogramCell {
    fn record(&self, value: f64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.count += 1;
        state.sum += value;
        if let Some(bucket) = self.bounds.iter().position(|bound| value <= *bound) {
            state.counts[bucket] += 1;
        }
    }
}

impl PrometheusRecorder {
    /// Creates a recorder without metrics.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes this the recorder of the process. Metrics from now on are collected.
    ///
    /// # Errors
    /// [`SetRecorderError`] if the process has a recorder already.
    pub fn install(&self) -> Result<(), SetRecorderError<Self>> {
        metrics::set_global_recorder(self.clone())
    }

    /// Returns all metrics in the text format of Prometheus.
    #[must_use]
    pub fn render(&self) -> String {
        let mut text = String::new();
        for (name, family) in &*self.families() {
            family.render(name, &mut text);
        }
        text
    }

    fn families(&self) -> MutexGuard<'_, BTreeMap<String, Family>> {
        self.families.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn describe(&self, name: &KeyName, help: &SharedString) {
        let name = sanitize(name.as_str());
        self.families().entry(name).or_default().help = help.replace('\\', "\\\\").replace('\n', "\\n");
    }

    /// Returns the series of a key, which is created if it does not exist. The first registration of a name decides on its type.
    fn series(&self, key: &Key, create: impl FnOnce() -> Series) -> Series {
        let mut families = self.families();
        let family = families.entry(sanitize(key.name())).or_default();
        family.series.entry(labels(key)).or_insert_with(create).clone()
    }
}

impl Family {
    fn render(&self, name: &str, text: &mut String) {
        let Some(first) = self.series.values().next() else { return };
        let kind = match first {
            Series::Counter(_) => "counter",
            Series::Gauge(_) => "gauge",
            Series::Histogram(_) => "histogram",
        };
        if !self.help.is_empty() {
            let _ = writeln!(text, "# HELP {name} {}", self.help);
        }
        let _ = writeln!(text, "# TYPE {name} {kind}");
        for (labels, series) in &self.series {
            series.render(name, labels, text);
        }
    }
}

impl Series {
    /// Appends the lines of this series. Writing to a string does not fail.
    fn render(&self, name: &str, labels: &str, text: &mut String) {
        let braces = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
        match self {
            Self::Counter(cell) => {
                let _ = writeln!(text, "{name}{braces} {}", cell.0.load(Ordering::Relaxed));
            }
            Self::Gauge(cell) => {
                let _ = writeln!(text, "{name}{braces} {}", f64::from_bits(cell.0.load(Ordering::Relaxed)));
            }
            Self::Histogram(cell) => {
                let state = cell.state.lock().unwrap_or_else(PoisonError::into_inner);
                let comma = if labels.is_empty() { "" } else { "," };
                let mut below = 0;
                for (bound, count) in cell.bounds.iter().zip(&state.counts) {
                    below += count;
                    let _ = writeln!(text, "{name}_bucket{{{labels}{comma}le=\"{bound}\"}} {below}");
                }
                let _ = writeln!(text, "{name}_bucket{{{labels}{comma}le=\"+Inf\"}} {}", state.count);
                let _ = writeln!(text, "{name}_sum{braces} {}", state.sum);
                let _ = writeln!(text, "{name}_count{braces} {}", state.count);
            }
        }
    }
}

impl Recorder for PrometheusRecorder {
    fn describe_counter(&self, name: KeyName, _: Option<Unit>, help: SharedString) {
        self.describe(&name, &help);
    }

    fn describe_gauge(&self, name: KeyName, _: Option<Unit>, help: SharedString) {
        self.describe(&name, &help);
    }

    fn describe_histogram(&self, name: KeyName, _: Option<Unit>, help: SharedString) {
        self.describe(&name, &help);
    }

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        match self.series(key, || Series::Counter(Arc::default())) {
            Series::Counter(cell) => Counter::from_arc(cell),
            Series::Gauge(_) | Series::Histogram(_) => Counter::noop(),
        }
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        match self.series(key, || Series::Gauge(Arc::default())) {
            Series::Gauge(cell) => Gauge::from_arc(cell),
            Series::Counter(_) | Series::Histogram(_) => Gauge::noop(),
        }
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        let bounds = if key.name().ends_with("_seconds") { SECONDS } else { COUNTS };
        match self.series(key, || Series::Histogram(Arc::new(HistogramCell::new(bounds)))) {
            Series::Histogram(cell) => Histogram::from_arc(cell),
            Series::Counter(_) | Series::Gauge(_) => Histogram::noop(),
        }
    }
}

/// Replaces the characters that a name of Prometheus cannot have.
fn sanitize(name: &str) -> String {
    let valid = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let mut name: String = name.chars().map(|c| if valid(c) { c } else { '_' }).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        name.insert(0, '_');
    }
    name
}

/// Formats the labels, sorted by name: `code="200",method="GET"`.
fn labels(key: &Key) -> String {
    let escape = |value: &str| value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let mut labels: Vec<_> = key
        .labels()
        .map(|label| format!("{}=\"{}\"", sanitize(label.key()), escape(label.value())))
        .collect();
    labels.sort_unstable();
    labels.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use metrics::{counter, describe_gauge, gauge, histogram, with_local_recorder};

    #[test]
    fn all_types_are_formatted_with_escaped_labels() {
        let recorder = PrometheusRecorder::new();
        with_local_recorder(&recorder, || {
            describe_gauge!("depth", "Keys\nin the queue");
            let depth = gauge!("depth", "name" => "a \"b\"\\\n");
            depth.set(2.0);
            depth.increment(1.5);
            counter!("1.odd-name").increment(1);
            for value in [0.002, 0.2, 1000.0] {
                histogram!("wait_seconds", "name" => "x").record(value);
            }
            gauge!("wait_seconds", "name" => "x").set(9.0); // another type: ignored
        });
        let text = recorder.render();
        assert!(text.contains("# HELP depth Keys\\nin the queue\n# TYPE depth gauge\n"), "{text}");
        assert!(text.contains("depth{name=\"a \\\"b\\\"\\\\\\n\"} 3.5\n"), "{text}");
        assert!(text.contains("_1_odd_name 1\n"), "{text}");
        for line in [
            "wait_seconds_bucket{name=\"x\",le=\"0.001\"} 0\n",
            "wait_seconds_bucket{name=\"x\",le=\"0.005\"} 1\n",
            "wait_seconds_bucket{name=\"x\",le=\"300\"} 2\n",
            "wait_seconds_bucket{name=\"x\",le=\"+Inf\"} 3\n",
            "wait_seconds_sum{name=\"x\"} 1000.202\n",
            "wait_seconds_count{name=\"x\"} 3\n",
        ] {
            assert!(text.contains(line), "{line} is not in {text}");
        }
    }
}
