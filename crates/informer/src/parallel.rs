//! Runs CPU-bound work on other threads, bounded for the whole process.

use kube_informer_wire::rng;
use std::{
    num::NonZeroUsize,
    panic::resume_unwind,
    sync::{
        LazyLock,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
};
use tokio::{runtime::Handle, task::JoinHandle};

/// A limit on the number of extra threads.
///
/// The limit is per process: many informers that list at the same time use all cores anyway. More threads would not be faster,
/// and would use more memory, since allocators have a heap per thread.
#[derive(Debug)]
pub(crate) struct ThreadBudget {
    available: AtomicUsize,
}

/// The permission to use one extra thread of the runtime's blocking pool.
#[derive(Debug)]
pub(crate) struct Permit {
    runtime: Handle,
    reservation: Reservation,
}

/// Returns a thread to its budget when dropped.
#[derive(Debug)]
struct Reservation(&'static ThreadBudget);

static PROCESS: LazyLock<ThreadBudget> = LazyLock::new(|| ThreadBudget::new(cores() - 1));

impl ThreadBudget {
    pub(crate) const fn new(threads: usize) -> Self {
        Self { available: AtomicUsize::new(threads) }
    }

    /// Returns the budget of this process: one thread for each core except the caller's.
    pub(crate) fn process() -> &'static Self {
        &PROCESS
    }

    /// Reserves a thread; `None` if no thread is available, outside of a runtime, and in a simulation.
    pub(crate) fn try_acquire(&'static self) -> Option<Permit> {
        let runtime = runtime()?;
        self.available.fetch_update(Relaxed, Relaxed, |available| available.checked_sub(1)).ok()?;
        Some(Permit { runtime, reservation: Reservation(self) })
    }
}

impl Permit {
    /// Runs the work on a thread of the runtime's blocking pool, and then releases the permit.
    pub(crate) fn run<T: Send + 'static>(self, work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        let Self { runtime, reservation } = self;
        runtime.spawn_blocking(move || {
            let _reservation = reservation;
            work()
        })
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.0.available.fetch_add(1, Relaxed);
    }
}

/// Maps all items on all cores, and waits for the results. They are in the order of the items.
pub(crate) fn map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = thread_count();
    if threads == 1 {
        return items.iter().map(work).collect();
    }
    let work = &work;
    let chunk = items.len().div_ceil(threads).max(1);
    thread::scope(|scope| {
        let chunks = items.chunks(chunk);
        let running: Vec<_> =
            chunks.map(|chunk| scope.spawn(|| chunk.iter().map(work).collect::<Vec<_>>())).collect();
        let join = |running: thread::ScopedJoinHandle<'_, Vec<R>>| {
            running.join().unwrap_or_else(|panic| resume_unwind(panic))
        };
        running.into_iter().flat_map(join).collect()
    })
}

/// Runs blocking work on the runtime's blocking pool, and waits for it. A runtime that is shutting down may not run it.
pub(crate) async fn run_blocking(work: impl FnOnce() + Send + 'static) {
    match runtime() {
        Some(runtime) => drop(runtime.spawn_blocking(work).await),
        None => work(),
    }
}

/// Returns the number of threads for work that the caller waits for; one in a simulation.
pub(crate) fn thread_count() -> usize {
    if rng::is_seeded() { 1 } else { cores() }
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Returns the current runtime; `None` outside of a runtime, and in a simulation, which has one thread.
fn runtime() -> Option<Handle> {
    if rng::is_seeded() { None } else { Handle::try_current().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn permits_are_bounded_and_returned() {
        static TWO: ThreadBudget = ThreadBudget::new(2);
        let first = TWO.try_acquire().unwrap();
        let second = TWO.try_acquire().unwrap();
        assert!(TWO.try_acquire().is_none());
        drop(first);
        let (finish, wait) = std::sync::mpsc::channel::<()>();
        let running = TWO.try_acquire().unwrap().run(move || wait.recv().is_ok());
        assert!(TWO.try_acquire().is_none());
        finish.send(()).unwrap();
        assert!(running.await.unwrap());
        assert!(TWO.try_acquire().is_some());
        second.run(|| panic!("on purpose")).await.unwrap_err();
        let all = [TWO.try_acquire(), TWO.try_acquire()];
        assert!(all.iter().all(Option::is_some));
    }

    #[test]
    fn there_are_no_permits_outside_of_a_runtime() {
        static ONE: ThreadBudget = ThreadBudget::new(1);
        assert!(ONE.try_acquire().is_none());
    }

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<_> = (0..1000).collect();
        assert_eq!(map(&items, |item| item * 2), (0..2000).step_by(2).collect::<Vec<_>>());
        assert!(map(&[] as &[usize], |item| item * 2).is_empty());
    }
}
