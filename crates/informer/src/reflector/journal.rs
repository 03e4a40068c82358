//! How the whole state came about, for those who wonder what took so long.

use super::{report::Progress, step::Via};
use std::time::Duration;
use tokio::time::Instant;

/// The whole state takes longer than this only if something is slow.
pub(super) const SLOW: Duration = Duration::from_secs(10);

/// What happened since the whole state was asked for.
#[derive(Debug)]
pub(super) struct Journal {
    pub(super) via: Via,
    pub(super) began: Instant,
    pub(super) pages: u32,
    pub(super) items: u64,
    pub(super) first_item: Option<Instant>,
    /// How many there will be, where the server tells.
    expected: Option<u64>,
    /// When something came last.
    alive: Instant,
    /// When it was last said that nothing comes.
    noticed: Option<Instant>,
}

impl Journal {
    pub(super) fn new(via: Via, now: Instant) -> Self {
        Self {
            via,
            began: now,
            pages: 0,
            items: 0,
            first_item: None,
            expected: None,
            alive: now,
            noticed: None,
        }
    }

    pub(super) fn page_asked(&mut self) {
        self.pages += 1;
    }

    /// A page came, and so many items are to follow, if the server tells.
    pub(super) fn page_came(&mut self, remaining: Option<u64>) {
        self.expected = remaining.map(|remaining| self.items + remaining);
    }

    /// How far it has come.
    pub(super) fn progress(&self) -> Progress {
        Progress { received: self.items, expected: self.expected.filter(|expected| *expected > self.items) }
    }

    pub(super) fn item_came(&mut self) {
        self.items += 1;
        self.first_item.get_or_insert_with(Instant::now);
    }

    pub(super) fn event_came(&mut self, now: Instant) {
        self.alive = now;
    }

    /// How long it took until the first item was there, if one was.
    pub(super) fn time_to_first_item(&self) -> Option<Duration> {
        self.first_item.map(|first| first - self.began)
    }

    /// When to say that nothing comes, unless something does.
    pub(super) fn notice_due(&self) -> Instant {
        self.noticed.map_or(self.alive, |noticed| noticed.max(self.alive)) + SLOW
    }

    /// It is said now. How long nothing came.
    pub(super) fn notice(&mut self, now: Instant) -> Duration {
        self.noticed = Some(now);
        now - self.alive
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_a_page_tells_of_the_rest_is_expected_until_it_came() {
        let mut journal = Journal::new(Via::List, Instant::now());
        let shown = |journal: &Journal| (journal.progress().received, journal.progress().expected);
        journal.item_came();
        assert_eq!(shown(&journal), (1, None));
        journal.page_came(Some(2));
        assert_eq!(shown(&journal), (1, Some(3)));
        journal.item_came();
        assert_eq!(shown(&journal), (2, Some(3)));
        journal.page_came(None);
        assert_eq!(shown(&journal), (2, None));
    }

    // R53
    #[tokio::test(start_paused = true)]
    async fn silence_is_noticed_every_ten_seconds_counted_from_the_last_event() {
        let began = Instant::now();
        let at = |seconds| began + Duration::from_secs(seconds);
        let mut journal = Journal::new(Via::Stream, began);
        assert_eq!(journal.notice_due(), at(10));
        assert_eq!(journal.notice(at(10)), Duration::from_secs(10));
        assert_eq!(journal.notice_due(), at(20));
        assert_eq!(journal.notice(at(20)), Duration::from_secs(20));
        journal.event_came(at(25));
        assert_eq!(journal.notice_due(), at(35));
        assert_eq!(journal.notice(at(35)), Duration::from_secs(10));
    }
}
