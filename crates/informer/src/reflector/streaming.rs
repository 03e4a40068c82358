//! Decides what follows where a stream ends before its initial state is complete.

use super::{
    config::Strategy,
    cursor::{Cursor, Phase},
    failure::Failure,
    step::Then,
};
use tokio::time::Instant;

/// So many streams may end early before a list takes their place.
const STREAM_TRIES: u32 = 3;

impl Cursor {
    /// A stream failed before its initial state was complete.
    pub(super) fn stream_failed(&mut self, failure: Failure, now: Instant) {
        match failure {
            Failure::Throttled(_) | Failure::Refused => self.wait(failure, Then::Stream, now),
            Failure::Expired | Failure::TooLarge if !self.is_last_unavailable => {
                self.is_last_unavailable = true;
                self.phase = Phase::Streaming;
            }
            Failure::Expired
            | Failure::TooLarge
            | Failure::Away(_)
            | Failure::Internal
            | Failure::Other(_) => {
                self.give_up_stream(failure, now);
            }
        }
    }

    /// A stream ended before its initial state was complete.
    pub(super) fn stream_broken(&mut self, now: Instant) {
        self.broken_streams += 1;
        if self.broken_streams < STREAM_TRIES {
            self.wait(Failure::Other(None), Then::Stream, now);
        } else {
            self.give_up_stream(Failure::Other(None), now);
        }
    }

    /// A list takes the place of a stream, if it may.
    fn give_up_stream(&mut self, failure: Failure, now: Instant) {
        match self.config.strategy {
            Strategy::Stream | Strategy::List => self.begin_list(),
            Strategy::StreamOnly => self.wait(failure, Then::Round, now),
        }
    }
}
