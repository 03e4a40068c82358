//! Who else may lend a hand: the other cores of the machine, through the runtime.

use kube_informer_wire::chance;
use tokio::runtime::Handle;

/// The runtime whose blocking threads may take work over; nothing outside of one, and where all is to happen on one thread.
pub(crate) fn helpers() -> Option<Handle> {
    if chance::is_fixed() { None } else { Handle::try_current().ok() }
}
