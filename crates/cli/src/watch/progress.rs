//! Shows the progress of the initial lists on a terminal.

use crate::informers::WatchedResource;
use crate::number::{count, grouped, short};
use std::{
    io::{IsTerminal, Write},
    time::Instant,
};

/// A line on stderr that is updated.
#[derive(Debug)]
pub(super) struct Progress {
    is_shown: bool,
    began: Instant,
}

/// The progress of one or all initial lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ListProgress {
    objects: u64,
    /// The expected number of objects; `None` if it is not known.
    expected: Option<u64>,
}

impl Progress {
    /// Creates a line that is shown only if stderr is a terminal.
    pub(super) fn new(is_wanted: bool) -> Self {
        Self { is_shown: is_wanted && std::io::stderr().is_terminal(), began: Instant::now() }
    }

    /// Shows the progress of all lists.
    pub(super) fn draw(&self, watched: &[WatchedResource]) {
        if !self.is_shown {
            return;
        }
        let arrived = watched
            .iter()
            .map(arrived)
            .fold(ListProgress { objects: 0, expected: Some(0) }, ListProgress::and);
        let waiting: Vec<_> = watched
            .iter()
            .filter(|watched| !watched.informer.has_synced() && !watched.informer.is_stopped())
            .map(|watched| watched.kind.resource())
            .collect();
        self.write(&line(arrived, self.began.elapsed().as_secs_f64(), &waiting.join(", ")));
    }

    /// Shows the number of objects.
    pub(super) fn done<'f>(&self, watched: impl Iterator<Item = &'f WatchedResource>) {
        let one = |watched: &WatchedResource| match &watched.name {
            Some(name) => format!("{}/{name}", watched.resource()),
            None => format!("{} {}", grouped(watched.informer.len() as u64), watched.resource()),
        };
        let all = watched.map(one).collect::<Vec<_>>().join(", ");
        self.write(&format!(
            "{all} synced in {:.2}s; watching (Ctrl-C to stop)\n",
            self.began.elapsed().as_secs_f64()
        ));
    }

    /// Clears the line.
    pub(super) fn clear(&self) {
        self.write("");
    }

    fn write(&self, text: &str) {
        if self.is_shown {
            // The progress is not important enough for an error.
            let _ = write!(std::io::stderr(), "\r\x1b[K{text}");
        }
    }
}

/// Returns the progress of a resource, over all its namespaces.
fn arrived(watched: &WatchedResource) -> ListProgress {
    let status = watched.informer.status();
    let sources = status.sources.iter().map(|source| {
        let (progress, is_complete) = (source.status.progress, source.status.counts.replaces > 0);
        let expected = if is_complete { Some(progress.received) } else { progress.expected };
        ListProgress { objects: progress.received, expected }
    });
    sources.fold(ListProgress { objects: 0, expected: Some(0) }, ListProgress::and)
}

impl ListProgress {
    fn and(self, other: Self) -> Self {
        let expected = self.expected.zip(other.expected).map(|(one, other)| one + other);
        Self { objects: self.objects + other.objects, expected }
    }
}

fn line(arrived: ListProgress, seconds: f64, waiting: &str) -> String {
    let ListProgress { objects, expected } = arrived;
    let far = match expected.filter(|expected| *expected > objects) {
        Some(expected) => {
            let percent = 100 * objects / expected;
            format!("{} of {}, {percent}%", grouped(objects), count(expected, "object"))
        }
        None => format!("{} so far", count(objects, "object")),
    };
    format!("{far}, {}/s, waiting for {waiting}", short(objects as f64 / seconds.max(0.001)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_shown_if_it_is_known_for_all() {
        let some = ListProgress { objects: 1_500, expected: Some(10_000) };
        assert_eq!(line(some, 2.0, "pods"), "1,500 of 10,000 objects, 15%, 750/s, waiting for pods");
        let both = some.and(ListProgress { objects: 500, expected: None });
        assert_eq!(line(both, 2.0, "pods, nodes"), "2,000 objects so far, 1,000/s, waiting for pods, nodes");
        assert_eq!(some.and(some).expected, Some(20_000));
    }
}
