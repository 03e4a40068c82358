//! Who else may lend a hand: the other cores of the machine, through the runtime.

use kube_informer_wire::chance;
#[cfg(feature = "saved")]
use std::{num::NonZero, panic::resume_unwind, thread};
use tokio::runtime::Handle;

/// The runtime whose blocking threads may take work over; nothing outside of one, and where all is to happen on one thread.
pub(crate) fn helpers() -> Option<Handle> {
    if chance::is_fixed() { None } else { Handle::try_current().ok() }
}

/// Does the same with each of many, on all cores, and gives what came of it, in order. It waits for them.
#[cfg(feature = "saved")]
pub(crate) fn each<T: Sync, R: Send>(all: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let cores = if chance::is_fixed() { 1 } else { thread::available_parallelism().map_or(1, NonZero::get) };
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
