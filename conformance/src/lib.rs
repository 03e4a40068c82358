//! Support for the conformance tests: a server of either kind, a proxy that disturbs connections, and an informer that checks events.

#![expect(
    clippy::unwrap_used,
    reason = "all of this serves tests, which end at the first thing that goes wrong"
)]
#![expect(clippy::missing_panics_doc, reason = "everything here panics where a test is to fail")]

mod random;
mod wait;
mod program;
mod proxy;
mod badge;
mod request_log;
mod server;
mod checked_informer;
mod network_fault;
mod instances;

pub mod comparison;

pub use badge::Badge;
pub use checked_informer::{CheckedInformer, Versions, listing, strategies, versions};
pub use network_fault::{FaultRound, NetworkFault, Reaction};
pub use proxy::{Direction, Disturbance, Proxy};
pub use random::Random;
pub use request_log::{RequestCounts, RequestLog};
pub use server::{Paused, Server};
pub use wait::{LIMIT, eventually, in_time, whole_test};
