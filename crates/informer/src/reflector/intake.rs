//! Objects of the initial state on their way into the sink's form, on as many cores as there are.

use super::sink::{Collected, Collector, Presence};
use crate::{parallel::ThreadBudget, source::Item};
use std::{collections::VecDeque, future::pending, mem};
use tokio::task::JoinHandle;

/// Decodes in batches, and gives back in the order in which things came.
///
/// A full batch goes to a thread of the runtime's blocking pool while there are idle cores, and is otherwise done by
/// whoever brings it: so the reader of a source is never further ahead than it is fast, and what waits stays small. Few
/// objects never leave the task.
pub(super) struct Intake<K> {
    batch: Vec<(Presence, Item<K>)>,
    bytes: usize,
    /// Oldest first.
    work: VecDeque<Work<K>>,
    cores: &'static ThreadBudget,
}

/// What became of one object of the source.
pub(super) struct Taken<K> {
    pub(super) presence: Presence,
    pub(super) collected: Collected<K>,
}

enum Work<K> {
    Done(Vec<Taken<K>>),
    Elsewhere(JoinHandle<Vec<Taken<K>>>),
    /// The runtime went down with it. What comes behind it is not all there is, and goes nowhere.
    Lost,
}

/// A batch has so many objects.
const OBJECTS: usize = 64;

/// Or so many bytes.
const BYTES: usize = 512 << 10;

impl<K: Send + Sync + 'static> Intake<K> {
    pub(super) fn new() -> Self {
        Self { batch: Vec::new(), bytes: 0, work: VecDeque::new(), cores: ThreadBudget::process() }
    }

    /// Takes an object in.
    pub(super) fn push(&mut self, presence: Presence, item: Item<K>, collector: &Collector<K>) {
        self.bytes += item.len();
        self.batch.push((presence, item));
        if self.batch.len() >= OBJECTS || self.bytes >= BYTES {
            self.dispatch(collector);
        }
    }

    /// Something that is done, if what is next in order is.
    pub(super) fn next_done(&mut self) -> Option<Vec<Taken<K>>> {
        match self.work.front()? {
            Work::Lost => None,
            Work::Elsewhere(task) if !task.is_finished() => None,
            Work::Done(_) | Work::Elsewhere(_) => {
                futures_util::FutureExt::now_or_never(self.next()).flatten()
            }
        }
    }

    /// The next of all that was taken in; nothing if there is no more.
    ///
    /// # Cancel safety
    /// Dropped while it waits, it has taken nothing.
    pub(super) async fn next(&mut self) -> Option<Vec<Taken<K>>> {
        let work = self.work.front_mut()?;
        let done = match work {
            Work::Done(done) => mem::take(done),
            Work::Elsewhere(task) => match task.await {
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

    /// Does what there is of the last batch. [`next`](Self::next) then gives all that is left.
    pub(super) fn complete(&mut self, collector: &Collector<K>) {
        let batch = self.take_batch();
        self.work.push_back(Work::Done(collect(batch, collector)));
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        (self.batch, self.bytes, self.work) = (Vec::new(), 0, VecDeque::new());
    }

    fn dispatch(&mut self, collector: &Collector<K>) {
        let batch = self.take_batch();
        self.work.push_back(match self.cores.try_acquire() {
            Some(helper) => {
                let collector = collector.clone();
                Work::Elsewhere(helper.run(move || collect(batch, &collector)))
            }
            None => Work::Done(collect(batch, collector)),
        });
    }

    fn take_batch(&mut self) -> Vec<(Presence, Item<K>)> {
        self.bytes = 0;
        mem::take(&mut self.batch)
    }
}

fn collect<K>(batch: Vec<(Presence, Item<K>)>, collector: &Collector<K>) -> Vec<Taken<K>> {
    let (presences, items): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
    let collected = collector.collect(items);
    presences.into_iter().zip(collected).map(|(presence, collected)| Taken { presence, collected }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reflector::LeftOut;
    use futures_util::FutureExt;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube_informer_wire::Key;
    use std::sync::{Arc, Mutex};

    fn map(number: usize) -> Item<ConfigMap> {
        let mut map = ConfigMap::default();
        map.metadata.name = Some(number.to_string());
        map.into()
    }

    /// A way to collect that notes on which thread it does.
    fn collector(threads: &Arc<Mutex<Vec<std::thread::ThreadId>>>) -> Collector<ConfigMap> {
        let threads = Arc::clone(threads);
        Collector::new(move |item: Item<ConfigMap>| {
            threads.lock().unwrap().push(std::thread::current().id());
            let map = item.into_object().map_err(LeftOut::Undecodable)?;
            assert_ne!(map.metadata.name.as_deref(), Some("bad"));
            Ok((Key::of(&map).unwrap(), Arc::new(map).into()))
        })
    }

    async fn rest(intake: &mut Intake<ConfigMap>) -> Vec<String> {
        let mut keys = Vec::new();
        while let Some(done) = intake.next().await {
            keys.extend(done.into_iter().map(|taken| taken.collected.unwrap().0.to_string()));
        }
        keys
    }

    #[tokio::test]
    async fn many_come_back_in_order_from_several_threads() {
        static TWO: ThreadBudget = ThreadBudget::new(2);
        let (threads, mut intake) = (Arc::default(), Intake::new());
        intake.cores = &TWO;
        let (collector, mut keys) = (collector(&threads), Vec::new());
        for number in 0..10 * OBJECTS + 7 {
            intake.push(Presence::Here, map(number), &collector);
            while let Some(done) = intake.next_done() {
                keys.extend(done.into_iter().map(|taken| taken.collected.unwrap().0.to_string()));
            }
        }
        intake.complete(&collector);
        keys.extend(rest(&mut intake).await);
        let expected: Vec<_> = (0..10 * OBJECTS + 7).map(|number| number.to_string()).collect();
        assert_eq!(keys, expected);
        let mut threads = threads.lock().unwrap().clone();
        threads.sort_unstable_by_key(|thread| format!("{thread:?}"));
        threads.dedup();
        assert!(threads.len() > 1, "{threads:?}");
    }

    #[tokio::test]
    async fn few_never_leave_the_task() {
        let (threads, mut intake) = (Arc::default(), Intake::new());
        let collector = collector(&threads);
        (0..OBJECTS - 1).for_each(|number| intake.push(Presence::Here, map(number), &collector));
        assert!(intake.next_done().is_none());
        intake.complete(&collector);
        assert_eq!(rest(&mut intake).await.len(), OBJECTS - 1);
        let here = std::thread::current().id();
        assert!(threads.lock().unwrap().iter().all(|thread| *thread == here));
    }

    #[tokio::test]
    async fn what_is_forgotten_does_not_come_back() {
        let (threads, mut intake) = (Arc::default(), Intake::new());
        let collector = collector(&threads);
        (0..3 * OBJECTS + 1).for_each(|number| intake.push(Presence::Here, map(number), &collector));
        intake.clear();
        intake.push(Presence::Gone, map(0), &collector);
        intake.complete(&collector);
        assert_eq!(rest(&mut intake).await, ["0"]);
    }

    #[tokio::test]
    async fn what_went_down_with_the_runtime_is_not_taken_for_nothing() {
        let (threads, mut intake) = (Arc::default(), Intake::new());
        let collector = collector(&threads);
        let lost = tokio::spawn(pending());
        lost.abort();
        intake.work.push_back(Work::Elsewhere(lost));
        intake.push(Presence::Here, map(0), &collector);
        intake.complete(&collector);
        tokio::task::yield_now().await;
        for _ in 0..2 {
            assert!(intake.next_done().is_none());
            assert!(intake.next().now_or_never().is_none(), "what comes behind it is not all there is");
        }
    }

    #[tokio::test]
    async fn a_panic_elsewhere_is_a_panic_here() {
        static ONE: ThreadBudget = ThreadBudget::new(1);
        let (threads, mut intake) = (Arc::default(), Intake::new());
        intake.cores = &ONE;
        let collector = collector(&threads);
        let mut bad = ConfigMap::default();
        bad.metadata.name = Some("bad".into());
        intake.push(Presence::Here, bad.into(), &collector);
        (1..OBJECTS).for_each(|number| intake.push(Presence::Here, map(number), &collector));
        let waiting = tokio::spawn(async move { rest(&mut intake).await });
        assert!(waiting.await.unwrap_err().is_panic());
    }
}
