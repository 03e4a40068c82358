//! A metrics recorder for tests.

use metrics::{Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, Unit};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

/// Records the value of each metric, by its name and the values of its labels except `name`.
#[derive(Default)]
pub(crate) struct Figures {
    pub(crate) all: Arc<Mutex<BTreeMap<String, f64>>>,
    /// The number of registrations of metrics.
    pub(crate) registered: AtomicUsize,
}

struct Figure {
    key: String,
    all: Arc<Mutex<BTreeMap<String, f64>>>,
}

impl Figure {
    fn change(&self, change: impl Fn(f64) -> f64) {
        let mut all = self.all.lock().unwrap();
        let figure = all.entry(self.key.clone()).or_default();
        *figure = change(*figure);
    }
}

impl CounterFn for Figure {
    fn increment(&self, by: u64) {
        self.change(|figure| figure + by as f64);
    }
    fn absolute(&self, value: u64) {
        self.change(|_| value as f64);
    }
}

impl GaugeFn for Figure {
    fn increment(&self, by: f64) {
        self.change(|figure| figure + by);
    }
    fn decrement(&self, by: f64) {
        self.change(|figure| figure - by);
    }
    fn set(&self, value: f64) {
        self.change(|_| value);
    }
}

impl HistogramFn for Figure {
    fn record(&self, value: f64) {
        self.change(|figure| figure + value);
    }
}

impl Figures {
    fn figure(&self, key: &Key) -> Arc<Figure> {
        self.registered.fetch_add(1, Ordering::Relaxed);
        let labels = key.labels().filter(|label| label.key() != "name");
        let key = labels.fold(key.name().to_owned(), |key, label| format!("{key} {}", label.value()));
        Arc::new(Figure { key, all: Arc::clone(&self.all) })
    }

    /// Returns the value of a metric; zero if it was not recorded.
    pub(crate) fn of(&self, name: &str, label: &str) -> f64 {
        let key = format!("{name} {label}");
        self.all.lock().unwrap().get(key.trim()).copied().unwrap_or_default()
    }
}

impl metrics::Recorder for Figures {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: metrics::SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: metrics::SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: metrics::SharedString) {}
    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        assert!(key.labels().any(|label| label.key() == "name" && !label.value().is_empty()));
        Counter::from_arc(self.figure(key))
    }
    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.figure(key))
    }
    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.figure(key))
    }
}
