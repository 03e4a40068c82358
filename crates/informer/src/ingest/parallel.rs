//! Ingests many objects on several threads, and returns them in order.

use super::{Ingest, RejectedError};
use crate::{
    object::{ListedObject, Object, RawObject},
    parallel::ThreadBudget,
    source::Error,
};
use kube_core::Resource;
use kube_informer_wire::{Key, ResourceVersion, WatchEvent};
use std::{collections::VecDeque, future::pending, mem};
use tokio::task::JoinHandle;

/// Ingests the objects of a list in batches.
///
/// A full batch goes to a thread of the runtime's blocking pool while a core is idle, and is otherwise ingested by the caller: so
/// the reader of a list is never far ahead of the ingestion. A short list never leaves the task.
pub(crate) struct ParallelIngest<K> {
    ingest: Ingest<K>,
    batch: Vec<Pending<K>>,
    bytes: usize,
    /// Oldest first.
    work: VecDeque<Work<K>>,
    threads: &'static ThreadBudget,
}

/// An object that waits in a batch.
struct Pending<K> {
    object: RawObject<K>,
    is_deleted: bool,
}

/// A listed object after ingestion.
pub(crate) struct IngestedItem<K> {
    /// Whether the object was deleted while the list was streamed.
    pub(crate) is_deleted: bool,
    pub(crate) result: Result<(Key, ListedObject<K>), RejectedError>,
}

enum Work<K> {
    Done(Vec<IngestedItem<K>>),
    Running(JoinHandle<Vec<IngestedItem<K>>>),
    /// The runtime shut down before the batch was ingested. The list is incomplete and must not be used.
    Lost,
}

/// The maximum number of objects in a batch of a list.
const LIST_BATCH: usize = 64;

/// The number of bytes at which a batch of a list is full.
const LIST_BATCH_BYTES: usize = 512 << 10;

impl<K: Resource + Send + Sync + 'static> ParallelIngest<K> {
    pub(crate) fn new(ingest: Ingest<K>) -> Self {
        Self { ingest, batch: Vec::new(), bytes: 0, work: VecDeque::new(), threads: ThreadBudget::process() }
    }

    /// Adds an object of the list.
    pub(crate) fn push(&mut self, object: RawObject<K>) {
        self.add(Pending { object, is_deleted: false });
    }

    /// Adds the final state of an object that was deleted while the list was streamed.
    pub(crate) fn push_deleted(&mut self, object: RawObject<K>) {
        self.add(Pending { object, is_deleted: true });
    }

    fn add(&mut self, pending: Pending<K>) {
        self.bytes += pending.object.len();
        self.batch.push(pending);
        if self.batch.len() >= LIST_BATCH || self.bytes >= LIST_BATCH_BYTES {
            self.dispatch();
        }
    }

    /// Returns the next batch if it is ready.
    pub(crate) fn next_ready(&mut self) -> Option<Vec<IngestedItem<K>>> {
        match self.work.front()? {
            Work::Lost => None,
            Work::Running(task) if !task.is_finished() => None,
            Work::Done(_) | Work::Running(_) => futures_util::FutureExt::now_or_never(self.next()).flatten(),
        }
    }

    /// Waits for the next batch; `None` if there is none.
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, no batch is lost.
    pub(crate) async fn next(&mut self) -> Option<Vec<IngestedItem<K>>> {
        let work = self.work.front_mut()?;
        let done = match work {
            Work::Done(done) => mem::take(done),
            Work::Running(task) => match task.await {
                Ok(done) => done,
                Err(error) => match error.try_into_panic() {
                    Ok(panic) => std::panic::resume_unwind(panic),
                    Err(_) => {
                        *work = Work::Lost;
                        pending().await
                    }
                },
            },
            Work::Lost => pending().await,
        };
        self.work.pop_front();
        Some(done)
    }

    /// Ingests the last, incomplete batch. [`next`](Self::next) then returns the remaining results.
    pub(crate) fn finish(&mut self) {
        let batch = self.take_batch();
        self.work.push_back(Work::Done(ingest_list(&self.ingest, batch)));
    }

    fn dispatch(&mut self) {
        let batch = self.take_batch();
        self.work.push_back(match self.threads.try_acquire() {
            Some(permit) => {
                let ingest = self.ingest.clone();
                Work::Running(permit.run(move || ingest_list(&ingest, batch)))
            }
            None => Work::Done(ingest_list(&self.ingest, batch)),
        });
    }

    fn take_batch(&mut self) -> Vec<Pending<K>> {
        self.bytes = 0;
        mem::take(&mut self.batch)
    }
}

fn ingest_list<K: Resource>(ingest: &Ingest<K>, batch: Vec<Pending<K>>) -> Vec<IngestedItem<K>> {
    let deleted: Vec<_> = batch.iter().map(|pending| pending.is_deleted).collect();
    let results = ingest.listed(batch.into_iter().map(|pending| pending.object).collect());
    let item = |(is_deleted, result)| IngestedItem { is_deleted, result };
    deleted.into_iter().zip(results).map(item).collect()
}

/// The object of a watch event after ingestion.
pub(crate) struct IngestedObject<K> {
    /// The resource version of the event, regardless of the transform.
    pub(crate) version: Option<ResourceVersion>,
    pub(crate) result: Result<(Key, Object<K>), RejectedError>,
}

/// A watch event before ingestion, or the error in its place.
type RawEvent<K> = Result<WatchEvent<RawObject<K>>, Error>;

/// From this many events and bytes on, half of a batch is ingested by another thread. Handing over takes about as long as decoding a
/// few kilobytes.
const PARALLEL_EVENTS: usize = 8;
const PARALLEL_BYTES: usize = 16 << 10;

/// Ingests the events that arrived together, on two threads if they are many.
pub(crate) async fn ingest_events<K: Resource + Send + Sync + 'static>(
    ingest: &Ingest<K>,
    mut events: Vec<RawEvent<K>>,
) -> Vec<Result<WatchEvent<IngestedObject<K>>, Error>> {
    let is_large =
        events.len() >= PARALLEL_EVENTS && events.iter().map(event_len).sum::<usize>() >= PARALLEL_BYTES;
    let permit = if is_large { ThreadBudget::process().try_acquire() } else { None };
    let second_half = permit.map(|permit| {
        let half = events.split_off(events.len() / 2);
        let ingest = ingest.clone();
        permit.run(move || ingest_each(&ingest, half))
    });
    let mut ingested = ingest_each(ingest, events);
    if let Some(half) = second_half {
        match half.await {
            Ok(half) => ingested.extend(half),
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // The runtime is shutting down, and this task with it.
                Err(_) => pending().await,
            },
        }
    }
    ingested
}

fn ingest_each<K: Resource>(
    ingest: &Ingest<K>,
    events: Vec<RawEvent<K>>,
) -> Vec<Result<WatchEvent<IngestedObject<K>>, Error>> {
    let one = |object: RawObject<K>| {
        let version = object.identity().and_then(|identity| identity.version());
        IngestedObject { version, result: ingest.watched(object) }
    };
    events.into_iter().map(|event| Ok(event?.map(one))).collect()
}

/// The bytes of the object of an event.
pub(crate) fn event_len<K>(event: &RawEvent<K>) -> usize {
    match event {
        Ok(WatchEvent::Added(object) | WatchEvent::Modified(object) | WatchEvent::Deleted(object)) => {
            object.len()
        }
        Ok(_) | Err(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Decoder;
    use futures_util::FutureExt;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube_informer_wire::{Format, ManagedFields, Raw};
    use std::{
        collections::HashSet,
        sync::{Arc, Mutex},
        thread::{self, ThreadId},
    };

    type Threads = Arc<Mutex<HashSet<ThreadId>>>;

    fn map(name: &str) -> RawObject<ConfigMap> {
        let mut map = ConfigMap::default();
        map.metadata.name = Some(name.into());
        map.into()
    }

    /// A stage that records the threads on which it runs, and panics at the object `bad`.
    fn recording(threads: &Threads) -> Ingest<ConfigMap> {
        let threads = Arc::clone(threads);
        Ingest::new().transform(move |map: ConfigMap| {
            threads.lock().unwrap().insert(thread::current().id());
            Ok(map)
        })
    }

    fn names(items: Vec<IngestedItem<ConfigMap>>) -> Vec<String> {
        items.into_iter().map(|item| item.result.unwrap().0.to_string()).collect()
    }

    async fn rest(list: &mut ParallelIngest<ConfigMap>) -> Vec<String> {
        let mut all = Vec::new();
        while let Some(done) = list.next().await {
            all.extend(names(done));
        }
        all
    }

    #[tokio::test]
    async fn a_long_list_is_ingested_by_several_threads_and_stays_in_order() {
        static TWO: ThreadBudget = ThreadBudget::new(2);
        let threads = Threads::default();
        let mut list = ParallelIngest::new(recording(&threads));
        list.threads = &TWO;
        let mut all = Vec::new();
        for number in 0..10 * LIST_BATCH + 7 {
            list.push(map(&number.to_string()));
            while let Some(done) = list.next_ready() {
                all.extend(names(done));
            }
        }
        list.finish();
        all.extend(rest(&mut list).await);
        let expected: Vec<_> = (0..10 * LIST_BATCH + 7).map(|number| number.to_string()).collect();
        assert_eq!(all, expected);
        assert!(threads.lock().unwrap().len() > 1);
    }

    #[tokio::test]
    async fn a_short_list_never_leaves_the_task() {
        let threads = Threads::default();
        let mut list = ParallelIngest::new(recording(&threads));
        (0..LIST_BATCH - 1).for_each(|number| list.push(map(&number.to_string())));
        assert!(list.next_ready().is_none());
        list.finish();
        assert_eq!(rest(&mut list).await.len(), LIST_BATCH - 1);
        assert_eq!(*threads.lock().unwrap(), HashSet::from([thread::current().id()]));
    }

    #[tokio::test]
    async fn an_incomplete_list_is_never_returned_as_complete_when_the_runtime_shuts_down() {
        let mut list = ParallelIngest::new(Ingest::new());
        let lost = tokio::spawn(pending());
        lost.abort();
        list.work.push_back(Work::Running(lost));
        list.push(map("0"));
        list.finish();
        tokio::task::yield_now().await;
        for _ in 0..2 {
            assert!(list.next_ready().is_none());
            assert!(list.next().now_or_never().is_none());
        }
    }

    fn encoded(decoder: &Decoder<ConfigMap>, name: &str, padding: usize) -> RawEvent<ConfigMap> {
        let text = format!(r#"{{"metadata":{{"name":"{name}"}}{:padding$}}}"#, "");
        let raw = Raw::new(Format::Json, text.into());
        Ok(WatchEvent::Added(RawObject::encoded(raw, decoder.clone())))
    }

    #[tokio::test]
    async fn events_stay_in_order_and_one_that_cannot_be_decoded_does_not_hide_the_others() {
        let decoder = Decoder::new(|raw: &Raw| Ok(raw.decode(ManagedFields::Keep)?));
        let mut events: Vec<_> =
            (0..64).map(|number| encoded(&decoder, &number.to_string(), PARALLEL_BYTES)).collect();
        let raw = Raw::new(Format::Json, r#"{"metadata":{"name":"bad"},"data":7}"#.into());
        events[40] = Ok(WatchEvent::Added(RawObject::encoded(raw, decoder)));
        events.push(Err(Error::Transport("cut".into())));
        let ingested = ingest_events(&Ingest::new(), events).await;
        let name = |event: Result<WatchEvent<IngestedObject<ConfigMap>>, Error>| match event {
            Ok(WatchEvent::Added(object)) => match object.result {
                Ok((key, _)) => key.to_string(),
                Err(error) => format!("{:?} rejected", error.key().map(ToString::to_string)),
            },
            Ok(_) => "other".to_owned(),
            Err(error) => error.to_string(),
        };
        let names: Vec<_> = ingested.into_iter().map(name).collect();
        let mut expected: Vec<_> = (0..64).map(|number| number.to_string()).collect();
        expected[40] = r#"Some("bad") rejected"#.into();
        expected.push("connection to the server failed".into());
        assert_eq!(names, expected);
    }

    #[tokio::test]
    async fn few_bytes_are_decoded_on_the_task_however_many_the_events() {
        let threads = Threads::default();
        let leaves_the_task = async |padding: usize| {
            let recorded = Arc::clone(&threads);
            let decoder = Decoder::new(move |raw: &Raw| {
                recorded.lock().unwrap().insert(thread::current().id());
                Ok(raw.decode::<ConfigMap>(ManagedFields::Keep)?)
            });
            let events = (0..64).map(|_| encoded(&decoder, "one", padding)).collect();
            ingest_events(&Ingest::new(), events).await;
            threads.lock().unwrap().drain().any(|id| id != thread::current().id())
        };
        assert!(!leaves_the_task(0).await);
        // Other tests may occupy all cores for a moment.
        let mut tries = 0;
        while thread::available_parallelism().is_ok_and(|cores| cores.get() > 1)
            && !leaves_the_task(PARALLEL_BYTES).await
        {
            tries += 1;
            assert!(tries < 1000, "no other thread decodes");
            tokio::task::yield_now().await;
        }
    }
}
