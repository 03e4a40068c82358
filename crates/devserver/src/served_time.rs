//! The time whose state a server serves: the current time, or one of a recorded history.

use jiff::Timestamp;
use std::sync::{
    OnceLock,
    atomic::{AtomicI64, Ordering},
};

/// The time whose state a server serves: the current time, unless a recorded one is set.
#[derive(Debug, Default)]
pub(crate) struct ServedTime {
    /// Microseconds since 1970.
    past: OnceLock<AtomicI64>,
}

impl ServedTime {
    /// Serves this recorded time from now on.
    pub(crate) fn set(&self, time: Timestamp) {
        let micros = time.as_microsecond();
        self.past.get_or_init(|| AtomicI64::new(micros)).store(micros, Ordering::Relaxed);
    }

    /// Returns the recorded time, whose state cannot be changed; `None` for the current time.
    pub(crate) fn past(&self) -> Option<Timestamp> {
        let micros = self.past.get()?.load(Ordering::Relaxed);
        Timestamp::from_microsecond(micros).ok()
    }
}
