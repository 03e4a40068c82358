//! Decides whether an event is created, counted or dropped, as client-go's `EventCorrelator`.

use crate::controller::recent::Recent;
use k8s_openapi::{
    api::core::v1::{Event, ObjectReference},
    apimachinery::pkg::apis::meta::v1::Time,
    jiff::Timestamp,
};
use kube_workqueue::limiter::{Bucket, RateLimiter};
use std::{collections::BTreeSet, hash::RandomState, time::Duration};
use tokio::time::Instant;

/// The maximum number of entries of each cache.
const CACHE_SIZE: usize = 4096;
/// Events about one object that are sent at once, and how many are sent per second after that: one in five minutes.
const SPAM_BURST: u32 = 25;
const SPAM_RATE: f64 = 1.0 / 300.0;
/// The number of similar events, which differ only in their message, from which on they are combined.
const MAX_SIMILAR: usize = 10;
/// The maximum age of the last similar event. After it, the messages are forgotten.
const SIMILAR_INTERVAL: Duration = Duration::from_secs(600);
const COMBINED_PREFIX: &str = "(combined from similar events): ";

/// The recent events of a process.
pub(super) struct Correlator {
    /// By object.
    spam: Recent<String, Bucket, RandomState>,
    /// By all parts of the event except the message.
    similar: Recent<String, Similar, RandomState>,
    /// By all parts of the event, or without the message if similar events are combined.
    sent: Recent<String, Sent, RandomState>,
}

/// The messages of similar events.
struct Similar {
    messages: BTreeSet<String>,
    last: Instant,
}

/// An event on the server.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) name: String,
    pub(super) count: i32,
    pub(super) first: Timestamp,
}

/// The decision about an event.
pub(super) enum Decision {
    /// Too many events about this object: send nothing.
    Drop,
    /// Create it.
    Create { event: Box<Event>, key: String },
    /// Increment the count of the event on the server.
    Count { event: Box<Event>, key: String, known: Sent },
}

impl Correlator {
    pub(super) fn new() -> Self {
        Self {
            spam: Recent::new(CACHE_SIZE),
            similar: Recent::new(CACHE_SIZE),
            sent: Recent::new(CACHE_SIZE),
        }
    }

    /// Decides what to do with an event that happens `now`.
    pub(super) fn decide(&mut self, mut event: Event, now: Instant) -> Decision {
        let object = object_key(&event.involved_object);
        let source = event.reporting_component.clone().unwrap_or_default();
        let spam_key = format!("{source}\n{object}");
        let bucket = self.spam.entry(&spam_key, || Bucket::new(SPAM_RATE, SPAM_BURST));
        // A bucket hands out tokens in advance, which is a debt here: it is not taken.
        let mut after = bucket.clone();
        if !after.when(&spam_key, now).is_zero() {
            return Decision::Drop;
        }
        *bucket = after;
        let kind = event.type_.clone().unwrap_or_default();
        let reason = event.reason.clone().unwrap_or_default();
        let message = event.message.clone().unwrap_or_default();
        let similar_key = format!("{spam_key}\n{kind}\n{reason}");
        let similar = self.similar.entry(&similar_key, || Similar { messages: BTreeSet::new(), last: now });
        if now.duration_since(similar.last) > SIMILAR_INTERVAL {
            similar.messages.clear();
        }
        similar.last = now;
        similar.messages.insert(message.clone());
        let key = if similar.messages.len() < MAX_SIMILAR {
            format!("{similar_key}\n{message}")
        } else {
            similar.messages.pop_first();
            event.message = Some(format!("{COMBINED_PREFIX}{message}"));
            similar_key
        };
        match self.sent.get(&key).cloned() {
            None => Decision::Create { event: Box::new(event), key },
            Some(known) => {
                event.metadata.name = Some(known.name.clone());
                event.count = Some(known.count.saturating_add(1));
                event.first_timestamp = Some(Time(known.first));
                Decision::Count { event: Box::new(event), key, known }
            }
        }
    }

    /// Records that an event is on the server.
    pub(super) fn sent(&mut self, key: &str, event: &Event, now: Timestamp) {
        let sent = Sent {
            name: event.metadata.name.clone().unwrap_or_default(),
            count: event.count.unwrap_or(1),
            first: event.first_timestamp.as_ref().map_or(now, |first| first.0),
        };
        *self.sent.entry(&key.to_owned(), || sent.clone()) = sent.clone();
    }

    /// Forgets an event that is not on the server any more.
    pub(super) fn expired(&mut self, key: &str) {
        self.sent.remove(&key.to_owned());
    }
}

fn object_key(object: &ObjectReference) -> String {
    let part = |part: &Option<String>| part.clone().unwrap_or_default();
    [&object.kind, &object.namespace, &object.name, &object.uid, &object.api_version].map(part).join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(object: &str, message: &str) -> Event {
        Event {
            involved_object: ObjectReference { name: Some(object.into()), ..ObjectReference::default() },
            reason: Some("Failed".into()),
            message: Some(message.into()),
            type_: Some("Warning".into()),
            ..Event::default()
        }
    }

    /// Decides on an event, and records it as sent.
    fn send(correlator: &mut Correlator, event: Event, now: Instant) -> String {
        match correlator.decide(event, now) {
            Decision::Drop => "drop".to_owned(),
            Decision::Create { mut event, key } => {
                event.metadata.name = Some("e".into());
                event.count = Some(1);
                correlator.sent(&key, &event, Timestamp::UNIX_EPOCH);
                format!("create {}", event.message.unwrap_or_default())
            }
            Decision::Count { event, key, .. } => {
                correlator.sent(&key, &event, Timestamp::UNIX_EPOCH);
                format!("{} {}", event.count.unwrap_or_default(), event.message.unwrap_or_default())
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_same_event_is_counted() {
        let (mut correlator, now) = (Correlator::new(), Instant::now());
        assert_eq!(send(&mut correlator, event("a", "m"), now), "create m");
        assert_eq!(send(&mut correlator, event("a", "m"), now), "2 m");
        assert_eq!(send(&mut correlator, event("a", "m"), now), "3 m");
        assert_eq!(send(&mut correlator, event("b", "m"), now), "create m", "another object");
        assert_eq!(send(&mut correlator, event("a", "n"), now), "create n", "another message");
    }

    #[tokio::test(start_paused = true)]
    async fn similar_events_are_combined_from_the_tenth_on() {
        let (mut correlator, now) = (Correlator::new(), Instant::now());
        for number in 0..9 {
            let message = format!("m{number}");
            assert_eq!(send(&mut correlator, event("a", &message), now), format!("create {message}"));
        }
        let combined = |number: usize| format!("{COMBINED_PREFIX}m{number}");
        assert_eq!(send(&mut correlator, event("a", "m9"), now), format!("create {}", combined(9)));
        assert_eq!(send(&mut correlator, event("a", "m10"), now), format!("2 {}", combined(10)));
        let later = now + SIMILAR_INTERVAL + Duration::from_secs(3000);
        assert_eq!(send(&mut correlator, event("a", "m11"), later), "create m11", "the interval is over");
    }

    #[tokio::test(start_paused = true)]
    async fn many_events_about_one_object_are_dropped() {
        let (mut correlator, now) = (Correlator::new(), Instant::now());
        let results: Vec<_> = (0..40).map(|_| send(&mut correlator, event("a", "m"), now)).collect();
        assert_eq!(results.iter().filter(|result| *result == "drop").count(), 40 - SPAM_BURST as usize);
        assert_eq!(send(&mut correlator, event("b", "m"), now), "create m", "another object is not affected");
        let later = now + Duration::from_secs(301);
        assert_eq!(send(&mut correlator, event("a", "m"), later), "26 m", "one more after five minutes");
        assert_eq!(send(&mut correlator, event("a", "m"), later), "drop");
    }
}
