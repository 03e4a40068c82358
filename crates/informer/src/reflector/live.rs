//! A watch that is open.

use crate::source::Watch;
use metrics::Histogram;
use tokio::time::Instant;
use tracing::Span;

/// An open watch, which tells how long it was open when it is dropped.
pub(super) struct Live<K> {
    pub(super) watch: Watch<K>,
    pub(super) span: Span,
    opened: Instant,
    duration: Histogram,
}

impl<K> Live<K> {
    pub(super) fn new(watch: Watch<K>, span: Span, duration: Histogram) -> Self {
        Self { watch, span, opened: Instant::now(), duration }
    }
}

impl<K> Drop for Live<K> {
    fn drop(&mut self) {
        self.duration.record(self.opened.elapsed());
    }
}
