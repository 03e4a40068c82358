//! What has arrived on a watch, taken and checked together.

use crate::{
    parallel::ThreadBudget,
    source::{Error, Item, Wanted, Watch},
};
use futures_util::FutureExt;
use kube_informer_wire::WatchEvent;

/// An event of a watch, or what came in its place.
pub(super) type Arrived<K> = Result<WatchEvent<Item<K>>, Error>;

/// So many events are taken together at most.
const EVENTS: usize = 64;

/// So many bytes, about.
const BYTES: usize = 512 << 10;

/// From so many on, and so many bytes, half of them are decoded by somebody else who has time. To ask takes about as long as to decode
/// a few kilobytes.
const MANY: usize = 8;
const MUCH: usize = 16 << 10;

/// Takes what has arrived besides `first`, without waiting for more. Behind something that is no event nothing is taken.
pub(super) fn gather<K>(first: Arrived<K>, watch: &mut Watch<K>) -> Vec<Arrived<K>> {
    let mut bytes = size(&first);
    let mut events = vec![first];
    while events.len() < EVENTS
        && bytes < BYTES
        && let Some(Ok(_)) = events.last()
        && let Some(Some(event)) = watch.next().now_or_never()
    {
        bytes += size(&event);
        events.push(event);
    }
    events
}

/// Decodes events, or looks through them, on two cores where they are many. One that cannot be decoded stays as it is.
pub(super) async fn checked<K: Send + Sync + 'static>(
    mut events: Vec<Arrived<K>>,
    wanted: Wanted,
) -> Vec<Arrived<K>> {
    let is_much = events.len() >= MANY && events.iter().map(size).sum::<usize>() >= MUCH;
    let helper = if is_much { ThreadBudget::process().try_acquire() } else { None };
    let rest = helper.map(|helper| {
        let rest = events.split_off(events.len() / 2);
        helper.run(move || check(rest, wanted))
    });
    let mut events = check(events, wanted);
    match rest {
        None => {}
        Some(rest) => match rest.await {
            Ok(rest) => events.extend(rest),
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime is going down, and this task with it.
                Err(_) => std::future::pending().await,
            },
        },
    }
    events
}

fn check<K>(events: Vec<Arrived<K>>, wanted: Wanted) -> Vec<Arrived<K>> {
    events.into_iter().map(|event| Ok(event?.map(|item: Item<K>| item.checked_or_not(wanted)))).collect()
}

fn size<K>(event: &Arrived<K>) -> usize {
    match event {
        Ok(WatchEvent::Added(item) | WatchEvent::Modified(item) | WatchEvent::Deleted(item)) => item.len(),
        Ok(_) | Err(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Decoder;
    use futures_util::{StreamExt, stream};
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube_informer_wire::{Format, ManagedFields, Raw};
    use std::{
        collections::HashSet,
        sync::{Arc, Mutex},
        thread,
    };

    fn arrived(text: &str) -> Arrived<ConfigMap> {
        let decoder = Decoder::new(|raw: &Raw| Ok(raw.decode(ManagedFields::Keep)?));
        let raw = Raw::new(Format::Json, text.to_owned().into());
        Ok(WatchEvent::Added(Item::of_wire(raw, decoder)))
    }

    fn named(number: usize) -> Arrived<ConfigMap> {
        arrived(&format!(r#"{{"metadata":{{"name":"{number}"}}}}"#))
    }

    /// The names of events, and `bytes` of those that are not decoded.
    fn names(events: Vec<Arrived<ConfigMap>>) -> Vec<String> {
        let name = |event: Arrived<ConfigMap>| match event {
            Ok(WatchEvent::Added(item)) => {
                item.object().map_or("bytes".into(), |map| map.metadata.name.clone().unwrap())
            }
            other => format!("{other:?}"),
        };
        events.into_iter().map(name).collect()
    }

    #[tokio::test]
    async fn all_that_is_there_is_taken_and_no_more() {
        let there = stream::iter((1..10).map(named)).chain(stream::pending());
        let mut watch = Watch::of_items(there);
        assert_eq!(gather(named(0), &mut watch).len(), 10);
        let mut many = Watch::of_items(stream::iter((1..1000).map(named)));
        assert_eq!(gather(named(0), &mut many).len(), EVENTS);
        let large = format!(r#"{{"metadata":{{"name":"{}"}}}}"#, "x".repeat(BYTES));
        assert_eq!(gather(arrived(&large), &mut many).len(), 1);
    }

    #[tokio::test]
    async fn nothing_is_taken_behind_a_failure() {
        let broken = || Err(Error::Transport("broken".into()));
        let mut watch = Watch::of_items(stream::iter([named(1), broken(), named(2)]));
        assert_eq!(gather(named(0), &mut watch).len(), 3);
        assert_eq!(gather(broken(), &mut watch).len(), 1);
    }

    #[tokio::test]
    async fn the_order_stays_and_what_cannot_be_decoded_too() {
        let long = |number| arrived(&format!(r#"{{"metadata":{{"name":"{number}"}}{:MUCH$}}}"#, ""));
        for count in [1, MANY - 1, MANY, MANY + 1, EVENTS] {
            for make in [named, long] {
                let mut events: Vec<_> = (0..count).map(make).collect();
                events[count - 1] = arrived(r#"{"metadata":{"name":7}}"#);
                let mut expected: Vec<_> = (0..count).map(|number| number.to_string()).collect();
                expected[count - 1] = "bytes".into();
                assert_eq!(names(checked(events, Wanted::Object).await), expected);
            }
        }
    }

    #[tokio::test]
    async fn what_is_little_is_done_here_however_many_there_are() {
        let threads = Arc::new(Mutex::new(HashSet::new()));
        let elsewhere = async |length: usize| {
            let noted = Arc::clone(&threads);
            let decoder = Decoder::new(move |raw: &Raw| {
                noted.lock().unwrap().insert(thread::current().id());
                Ok(raw.decode::<ConfigMap>(ManagedFields::Keep)?)
            });
            let text = format!(r#"{{"metadata":{{"name":"one"}}{:length$}}}"#, "");
            let raw = Raw::new(Format::Json, text.into());
            let item = || Ok(WatchEvent::Added(Item::of_wire(raw.clone(), decoder.clone())));
            checked((0..EVENTS).map(|_| item()).collect(), Wanted::Object).await;
            threads.lock().unwrap().drain().any(|id| id != thread::current().id())
        };
        assert!(!elsewhere(0).await);
        // Others of these tests may have everybody busy for a moment.
        let mut tries = 0;
        while thread::available_parallelism().is_ok_and(|cores| cores.get() > 1) && !elsewhere(MUCH).await {
            tries += 1;
            assert!(tries < 1000, "nobody helps");
            tokio::task::yield_now().await;
        }
    }
}
