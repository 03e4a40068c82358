//! The moment that a server shows: now, or a time of a recorded past.

use jiff::Timestamp;
use std::sync::{
    OnceLock,
    atomic::{AtomicI64, Ordering},
};

/// The moment that a server shows. It is now, unless a past is set.
#[derive(Debug, Default)]
pub(crate) struct Moment {
    /// Microseconds since 1970.
    past: OnceLock<AtomicI64>,
}

impl Moment {
    /// Shows a time of the past from now on.
    pub(crate) fn set(&self, time: Timestamp) {
        let micros = time.as_microsecond();
        self.past.get_or_init(|| AtomicI64::new(micros)).store(micros, Ordering::Relaxed);
    }

    /// Returns the time of the past that is shown, which cannot be changed; `None` for now.
    pub(crate) fn past(&self) -> Option<Timestamp> {
        let micros = self.past.get()?.load(Ordering::Relaxed);
        Timestamp::from_microsecond(micros).ok()
    }
}
