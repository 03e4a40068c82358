//! Limits how often a reflector sends the same kind of request.

use std::time::Duration;
use tokio::time::Instant;

/// The kinds of requests that are limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestKind {
    /// A list of one object for the version of the server.
    Probe,
    /// The first page of a list.
    List,
    /// A page of a list after the first.
    Page,
    /// A streaming list.
    Stream,
    /// A watch.
    Watch,
}

/// The maximum number of requests of one kind in any [`PERIOD`].
const MAX_REQUESTS: usize = 5;

const PERIOD: Duration = Duration::from_secs(10);

/// The last requests of each kind.
#[derive(Debug, Default)]
pub(super) struct RequestLimiter {
    sent: Vec<SentRequest>,
}

#[derive(Debug)]
struct SentRequest {
    kind: RequestKind,
    at: Instant,
}

impl RequestLimiter {
    /// Records a request at `now`. Returns the delay instead, if there were too many requests of its kind.
    pub(super) fn delay(&mut self, kind: RequestKind, now: Instant) -> Option<Duration> {
        self.sent.retain(|request| now - request.at < PERIOD);
        let mut same = self.sent.iter().filter(|request| request.kind == kind);
        let oldest = same.next().map(|request| request.at);
        if same.count() + 1 >= MAX_REQUESTS {
            return oldest.map(|oldest| oldest + PERIOD - now);
        }
        self.sent(kind, now);
        None
    }

    /// Records a request that is not limited itself.
    pub(super) fn sent(&mut self, kind: RequestKind, now: Instant) {
        let is_kind = |request: &SentRequest| request.kind == kind;
        if self.sent.iter().filter(|request| is_kind(request)).count() >= MAX_REQUESTS
            && let Some(oldest) = self.sent.iter().position(is_kind)
        {
            self.sent.remove(oldest);
        }
        self.sent.push(SentRequest { kind, at: now });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A8
    #[test]
    fn at_most_five_requests_of_a_kind_are_sent_in_any_ten_seconds() {
        let started_at = Instant::now();
        let mut limiter = RequestLimiter::default();
        let mut now = started_at;
        let mut sent = Vec::new();
        while sent.len() < 50 {
            match limiter.delay(RequestKind::Watch, now) {
                Some(delay) => now += delay,
                None => {
                    sent.push(now);
                    now += Duration::from_millis(300);
                }
            }
        }
        for window in sent.windows(MAX_REQUESTS + 1) {
            assert!(window[MAX_REQUESTS] - window[0] >= PERIOD);
        }
        assert_eq!(sent[4] - sent[0], Duration::from_millis(1200), "the first requests are not delayed");
        assert_eq!(limiter.delay(RequestKind::List, now), None, "other kinds are counted separately");
    }
}
