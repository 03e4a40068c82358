//! Who else may lend a hand: the other cores of the machine, through the runtime.

use kube_informer_wire::chance;
use tokio::runtime::Handle;

/// The runtime whose blocking threads may take work over; nothing outside of one, and where all is to happen on one thread.
pub(crate) fn helpers() -> Option<Handle> {
    if chance::is_fixed() { None } else { Handle::try_current().ok() }
}

/// Does something that blocks where it holds nobody up, and waits for it.
///
/// A runtime that is about to end may not do it.
#[cfg(feature = "saved")]
pub(crate) async fn aside(work: impl FnOnce() + Send + 'static) {
    match helpers() {
        Some(runtime) => drop(runtime.spawn_blocking(work).await),
        None => work(),
    }
}

/// How many threads may share something that is waited for.
#[cfg(feature = "saved")]
pub(crate) fn hands() -> usize {
    if chance::is_fixed() {
        1
    } else {
        std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
    }
}
