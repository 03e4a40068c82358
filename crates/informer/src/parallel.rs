//! Who else may lend a hand: the other cores of the machine, through the runtime.

use kube_informer_wire::chance;
#[cfg(feature = "saved")]
use std::panic::resume_unwind;
use std::{
    num::NonZeroUsize,
    sync::{
        LazyLock,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
};
use tokio::{runtime::Handle, task::JoinHandle};

/// The cores beside the one that asks, as one number for the whole process.
///
/// Many informers that list at once have all cores busy as it is: a thread for each of them would gain no time, and cost memory,
/// since allocators keep a heap for every thread.
#[derive(Debug)]
pub(crate) struct Cores {
    free: AtomicUsize,
}

/// One of them, until the work is done.
#[derive(Debug)]
pub(crate) struct Helper {
    runtime: Handle,
    turn: Turn,
}

#[derive(Debug)]
struct Turn(&'static Cores);

static CORES: LazyLock<Cores> = LazyLock::new(|| Cores::new(number() - 1));

impl Cores {
    pub(crate) const fn new(free: usize) -> Self {
        Self { free: AtomicUsize::new(free) }
    }

    /// Those of this machine.
    pub(crate) fn of_machine() -> &'static Self {
        &CORES
    }

    /// Somebody who has time; nobody outside of a runtime, and where all is to happen on one thread.
    pub(crate) fn helper(&'static self) -> Option<Helper> {
        let runtime = runtime()?;
        self.free.fetch_update(Relaxed, Relaxed, |free| free.checked_sub(1)).ok()?;
        Some(Helper { runtime, turn: Turn(self) })
    }
}

impl Helper {
    /// Has the work done, on a thread of the runtime's blocking pool.
    pub(crate) fn run<T: Send + 'static>(self, work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        let Self { runtime, turn } = self;
        runtime.spawn_blocking(move || {
            let _turn = turn;
            work()
        })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.free.fetch_add(1, Relaxed);
    }
}

/// Does the same with each of many, on all cores, and gives what came of it, in order. It waits for them.
#[cfg(feature = "saved")]
pub(crate) fn each<T: Sync, R: Send>(all: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let cores = hands();
    let (part, work) = (all.len().div_ceil(cores).max(1), &work);
    if cores == 1 {
        return all.iter().map(work).collect();
    }
    thread::scope(|scope| {
        let parts = all.chunks(part).map(|part| scope.spawn(|| part.iter().map(work).collect::<Vec<_>>()));
        let parts: Vec<_> = parts.collect();
        parts.into_iter().flat_map(|part| part.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}

/// How many there are.
fn number() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Does something that blocks where it holds nobody up, and waits for it.
///
/// A runtime that is about to end may not do it.
#[cfg(feature = "saved")]
pub(crate) async fn aside(work: impl FnOnce() + Send + 'static) {
    match runtime() {
        Some(runtime) => drop(runtime.spawn_blocking(work).await),
        None => work(),
    }
}

/// How many threads may share something that is waited for.
#[cfg(feature = "saved")]
pub(crate) fn hands() -> usize {
    if chance::is_fixed() { 1 } else { number() }
}

/// The runtime; nothing outside of one, and where all is to happen on one thread.
fn runtime() -> Option<Handle> {
    if chance::is_fixed() { None } else { Handle::try_current().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn no_more_help_than_there_are_cores_and_they_come_back() {
        static TWO: Cores = Cores::new(2);
        let (first, second) = (TWO.helper().unwrap(), TWO.helper().unwrap());
        assert!(TWO.helper().is_none());
        drop(first);
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let busy = TWO.helper().unwrap().run(move || wait.recv().is_ok());
        assert!(TWO.helper().is_none());
        go.send(()).unwrap();
        assert!(busy.await.unwrap());
        assert!(TWO.helper().is_some());
        second.run(|| panic!("on purpose")).await.unwrap_err();
        let all = (TWO.helper(), TWO.helper());
        assert!(all.0.is_some() && all.1.is_some());
    }

    #[test]
    fn nobody_helps_outside_of_a_runtime() {
        static ONE: Cores = Cores::new(1);
        assert!(ONE.helper().is_none());
    }
}
