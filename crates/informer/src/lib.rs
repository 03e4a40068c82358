//! client-go's informer machinery for Rust: an indexed, always-fresh local copy of Kubernetes resources.
//!
//! [`Informer`] is where most begin: it keeps the copy, and tells any number of followers of each [`Event`].
//!
//! ```
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube_devserver::DevServer;
//! use kube_informer::Informer;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = DevServer::start(); // in place of a cluster
//! let maps = Informer::<ConfigMap>::new(server.client()).start()?;
//! maps.synced().await?;
//! println!("{} config maps at {:?}", maps.len(), maps.version());
//! # Ok(()) }
//! ```
//!
//! What it keeps is a [`Store`](cache::Store), of which every read is of one moment and takes no lock. What fills it is a
//! [`Reflector`](reflector::Reflector), which lists, watches, and comes back from every failure. [`Keep`] says whether objects are
//! kept decoded or compressed, and a [`Lazy`] one is kept as the server sent it.
//!
//! The modules stand in the order in which data flows, and each can be used alone:
//!
//! | module | what it does |
//! |---|---|
//! | [`wire`] | keys, versions, options, selectors, frames, errors |
//! | [`list_watch`] | lists a page, opens a watch |
//! | [`reflector`] | follows a source for ever, and writes what it sees to a [`Sink`](reflector::Sink) |
//! | [`fifo`] | what happened to which key, in order |
//! | [`store`] | what is true now, with indexes |
//! | [`controller`] | deltas meet the store, events come out |
//! | [`subscription`] | what happened, told to each follower at its own pace |
//! | [`informer`] | all of it behind one handle, and the registry of shared ones |
//! | `reconcile` | the loop of a controller, with the feature of that name |
//! | `bridge` | the way to `kube::runtime`, with the feature `kube-runtime` |
//!
//! `examples/` has a program for each thing one does with it, and each runs without a cluster.

mod sync;
mod boxed;
mod waiters;
mod parallel;
pub mod object;
pub mod source;
mod labels;
pub mod event;
mod delta;
pub mod ingest;
pub mod reflector;
pub mod cache;
pub mod delta_fifo;
pub mod subscription;
pub mod informer;
#[cfg(feature = "controller")]
pub mod controller;
#[cfg(feature = "kube-runtime")]
pub mod bridge;
#[cfg(test)]
mod testing;

pub use delta::{Delta, DeltaBatch};
pub use event::Event;
pub use informer::{Informer, Informers};
pub use kube_informer_wire as wire;
pub use kube_informer_wire::Lazy;
pub use object::{Object, Storage};

/// The README's example, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}
