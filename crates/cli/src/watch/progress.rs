//! Tells a person at a terminal how the initial state arrives.

use crate::follow::Followed;
use crate::number::{count, grouped, short};
use std::{
    io::{IsTerminal, Write},
    sync::atomic::Ordering,
    time::Instant,
};

/// A line on stderr that is written over and over.
#[derive(Debug)]
pub(super) struct Progress {
    is_shown: bool,
    began: Instant,
}

impl Progress {
    /// Nothing is shown where nobody looks.
    pub(super) fn new(is_wanted: bool) -> Self {
        Self { is_shown: is_wanted && std::io::stderr().is_terminal(), began: Instant::now() }
    }

    /// Shows how far all have come.
    pub(super) fn draw(&self, followed: &[Followed]) {
        let arrived: u64 = followed.iter().map(|followed| followed.arrived.load(Ordering::Relaxed)).sum();
        let waiting: Vec<_> = followed
            .iter()
            .filter(|followed| !followed.informer.has_synced())
            .map(|f| f.kind.resource())
            .collect();
        let rate = short(arrived as f64 / self.began.elapsed().as_secs_f64().max(0.001));
        self.write(&format!(
            "{} so far, {rate}/s, waiting for {}",
            count(arrived, "object"),
            waiting.join(", ")
        ));
    }

    /// Says what there is.
    pub(super) fn done(&self, followed: &[Followed]) {
        let one = |followed: &Followed| {
            format!("{} {}", grouped(followed.informer.len() as u64), followed.kind.resource())
        };
        let all = followed.iter().map(one).collect::<Vec<_>>().join(", ");
        self.write(&format!(
            "{all} after {:.2} s; changes follow, Ctrl-C ends\n",
            self.began.elapsed().as_secs_f64()
        ));
    }

    /// Takes the line away.
    pub(super) fn clear(&self) {
        self.write("");
    }

    fn write(&self, text: &str) {
        if self.is_shown {
            // Whoever cannot read it does not miss it.
            let _ = write!(std::io::stderr(), "\r\x1b[K{text}");
        }
    }
}
