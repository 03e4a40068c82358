//! Leader election and sharded replicas on Kubernetes Leases.
//!
//! A controller with several replicas needs one of two things: one replica that works while the others wait,
//! or a division of the objects among all of them. Both use leases: [`Leases::leader`] has one lease,
//! [`Leases::shards`] has one for each range of hashes. A replica works only while it holds the lease, and
//! releases it after its work has ended when replicas are added or removed. There is no coordinator; the
//! state is stored in `coordination.k8s.io/v1` Leases.
//!
//! ```
//! use kube_leases::Leases;
//! # use kube_devserver::DevServer;
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let server = DevServer::start();
//! # let client = server.client();
//! let leases = Leases::leader("website-controller").namespace("default").start(client)?;
//!
//! let leadership = leases.acquired().await?;
//! let work = async { println!("leading") };
//! if leadership.run_while_held(work).await.is_err() {
//!     println!("the lease was lost; the work was dropped");
//! }
//!
//! drop(leadership); // the work has ended
//! leases.stop();
//! leases.stopped().await; // a successor leads at once
//! # Ok(())
//! # }
//! ```
//!
//! With shards, each replica follows the ranges that it holds:
//!
//! ```
//! use kube_leases::{Leases, ShardChange};
//! # use kube_devserver::DevServer;
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let server = DevServer::start();
//! # let client = server.client();
//! let leases = Leases::shards("websites", 16).namespace("default").start(client)?;
//! let mut changes = leases.changes();
//! while let Some(change) = changes.next().await {
//!     match change {
//!         ShardChange::Gained(shard) => println!("work on {:?}, and drop the handle when done", shard.range()),
//!         ShardChange::Draining { shard } => println!("start no work on shard {shard}"),
//!         ShardChange::Lost { shard } => println!("shard {shard} was released"),
//!         _ => {}
//!     }
//!     # leases.stop();
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Guarantees
//!
//! - **Mutual exclusion.** No two replicas hold a shard at the same time, if the clocks of their machines run at rates that differ by less than
//!   the ratio of lease duration to renew deadline (1.5 by default). Absolute times of different machines are never compared.
//! - **Fencing.** [`Shard::run_while_held`] checks the deadline before each poll, by a clock that includes suspensions. After a failed check the
//!   future is not polled again. A suspension within one poll is the exception; [`Shard::replace`] and [`Shard::merge_patch`] make
//!   writes safe in this case.
//! - **Draining.** A shard is released when the last handle of it was dropped, or when the drain timeout is over and its futures were cancelled.
//! - **Liveness.** If the API server is reachable, each shard is held within the lease duration and 5 s after a replica was killed, and at
//!   once after a graceful stop. Members hold the same number of shards, give or take one.
//!
//! `docs/scaling.md` of the repository has the assumptions in detail, the failure modes, and measurements.
//!
//! # From client-go
//!
//! | client-go | here |
//! |---|---|
//! | `LeaderElectionConfig`, `LeaseLock` | [`Leases::leader`] and [`LeasesBuilder`], with the same defaults and rules |
//! | `LeaseDuration`, `RenewDeadline`, `RetryPeriod` | [`LeasesBuilder::lease_duration`], [`renew_deadline`](LeasesBuilder::renew_deadline), [`retry_period`](LeasesBuilder::retry_period) |
//! | `OnStartedLeading` | [`Leases::acquired`], [`Leases::changes`] |
//! | `OnStoppedLeading`, the context of `OnStartedLeading` | [`Shard::lost`], [`Shard::run_while_held`] |
//! | `OnNewLeader`, `GetLeader` | [`Leases::status`] |
//! | `IsLeader` | [`Shard::is_held`], which also checks the deadline |
//! | `ReleaseOnCancel` | always, after draining: [`Leases::stop`] |
//!
//! Candidates of client-go and of this crate can take turns on one Lease. There are four differences: a holder renews at a third of the lease
//! duration instead of at the retry period, candidates watch the Lease instead of polling it, a process that finds its own identity in a
//! Lease that another process wrote waits until it expires, and a replica that has lost its lease becomes a candidate again instead of
//! ending.

mod clock;
mod range;
mod error;
mod timing;
mod names;
mod config;
mod record;
mod assignment;
mod overview;
mod view;
mod request;
mod restore;
mod election;
mod membership;
mod shard_table;
mod replica;
mod term;
mod fenced_write;
mod lease_api;
mod status;
mod driver;
mod changes;
mod leases;

#[cfg(test)]
mod simulation;

pub use assignment::assign;
pub use changes::{Changes, ShardChange};
pub use clock::{BootTime, Clock, SystemClock, TokioClock};
pub use error::{ConfigError, LeaseError};
pub use fenced_write::FencedWriteError;
pub use leases::{Leases, LeasesBuilder};
pub use overview::{GroupKind, GroupOverview, MemberOverview, ShardOverview};
pub use range::{HashRange, ShardKey, shard_hash, shard_of};
pub use status::{MemberStatus, ShardStatus, Status};
pub use term::{LeaseLost, Shard};

/// Compiles the example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
