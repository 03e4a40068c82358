//! A recorder for the `metrics` facade that keeps counters to be read by this program.

use metrics::{Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};
use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// The counters and gauges of everything that runs here. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct MetricValues {
    counters: Registered,
    gauges: Registered,
}

/// A gauge holds the bits of its number.
type Registered = Arc<Mutex<HashMap<Key, Arc<AtomicU64>>>>;

impl MetricValues {
    /// Installs a recorder for the metrics of the library.
    ///
    /// # Errors
    /// If there is one already.
    pub(crate) fn install() -> anyhow::Result<Self> {
        let metric_values = Self::default();
        let installed = metrics::set_global_recorder(metric_values.clone());
        installed.map_err(|_| anyhow::anyhow!("a recorder of metrics is installed already"))?;
        Ok(metric_values)
    }

    /// A counter of an informer, over all its reflectors.
    pub(crate) fn total(&self, counter: &str, informer: &str) -> u64 {
        self.read(counter, informer, |_| Some(String::new())).values().sum()
    }

    /// A counter of an informer by the values of a label.
    pub(crate) fn by(&self, counter: &str, informer: &str, label: &str) -> BTreeMap<String, u64> {
        self.read(counter, informer, |key| value_of(key, label).map(str::to_owned))
    }

    fn read(
        &self,
        counter: &str,
        informer: &str,
        group: impl Fn(&Key) -> Option<String>,
    ) -> BTreeMap<String, u64> {
        let mut sums = BTreeMap::new();
        for (key, value) in
            lock(&self.counters).iter().filter(|(key, _)| key.name() == counter && is_of(key, informer))
        {
            let value = value.load(Ordering::Relaxed);
            if let Some(group) = group(key).filter(|_| value > 0) {
                *sums.entry(group).or_insert(0) += value;
            }
        }
        sums
    }

    /// The highest of a gauge of an informer.
    pub(crate) fn highest(&self, gauge: &str, informer: &str) -> Option<f64> {
        let gauges = lock(&self.gauges);
        let fitting = gauges.iter().filter(|(key, _)| key.name() == gauge && is_of(key, informer));
        fitting.map(|(_, value)| f64::from_bits(value.load(Ordering::Relaxed))).reduce(f64::max)
    }
}

fn lock(registered: &Registered) -> MutexGuard<'_, HashMap<Key, Arc<AtomicU64>>> {
    registered.lock().unwrap_or_else(PoisonError::into_inner)
}

fn value_of<'k>(key: &'k Key, label: &str) -> Option<&'k str> {
    key.labels().find(|known| known.key() == label).map(metrics::Label::value)
}

/// Returns whether a reflector is the informer's. The reflector of a namespace is called `informer@namespace`.
fn is_of(key: &Key, informer: &str) -> bool {
    let rest = value_of(key, "name").and_then(|name| name.strip_prefix(informer));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('@'))
}

impl Recorder for MetricValues {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(Arc::clone(lock(&self.counters).entry(key.clone()).or_default()))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(Arc::clone(lock(&self.gauges).entry(key.clone()).or_default()))
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read_by_informer_and_label() {
        let metric_values = MetricValues::default();
        metrics::with_local_recorder(&metric_values, || {
            metrics::counter!("errors", "name" => "pods", "kind" => "expired").increment(2);
            metrics::counter!("errors", "name" => "pods@web", "kind" => "expired").increment(1);
            metrics::counter!("errors", "name" => "pods@web", "kind" => "transport").increment(1);
            metrics::counter!("errors", "name" => "podsets", "kind" => "expired").increment(7);
        });
        assert_eq!(metric_values.total("errors", "pods"), 4);
        let expected = [("expired", 3), ("transport", 1)].map(|(kind, count)| (kind.to_owned(), count));
        assert_eq!(metric_values.by("errors", "pods", "kind"), BTreeMap::from(expected));
    }
}
