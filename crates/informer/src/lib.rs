//! client-go's informer machinery for Rust: a local, indexed, current copy of Kubernetes resources.
//!
//! An **informer** lists a resource, watches it, and keeps a copy in memory. Reads come from the copy and cost the API server
//! nothing; subscribers receive every change in the order of the watch. When the connection breaks or the server forgets a
//! version, the informer recovers by itself and delivers the missed changes.
//!
//! ```
//! use k8s_openapi::api::core::v1::Pod;
//! use kube_devserver::{Churn, DevServer};
//! use kube_informer::{Event, Informer};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = DevServer::start(); // instead of a cluster
//! server.churn(Churn::pods(10));
//! let pods = Informer::<Pod>::builder(server.client())
//!     .index("node", |pod: &Pod| pod.spec.as_ref()?.node_name.clone())
//!     .start()?;
//! pods.synced().await?; // the initial list is complete; otherwise the error has the reason
//!
//! println!("{} pods, {} on node-1", pods.len(), pods.by_index("node", "node-1")?.len());
//! let mut events = pods.subscribe(); // the objects that exist, then changes
//! while let Some(event) = events.next().await {
//!     match &event {
//!         Event::Added { key, phase, .. } => println!("{key} was added ({phase:?})"),
//!         Event::Updated { key, .. } => println!("{key} changed"),
//!         Event::Deleted { key, .. } => println!("{key} was deleted"),
//!         _ => {}
//!     }
//! #   if events.registration().depth() == 0 { break }
//! }
//! # Ok(()) }
//! ```
//!
//! # Storage
//!
//! [`Storage`] selects the format of stored objects; the API is the same.
//!
//! | storage | memory of a pod with 11 KB of JSON | a read costs | choose it for |
//! |---|---|---|---|
//! | `Decoded`, the default | 44 KB | a reference count | most programs |
//! | `Encoded` | its size on the wire | decoding | large caches that are read rarely |
//! | `Compressed` (feature `compressed`) | less than 1 KB, in a cache of 100,000 | decompressing and decoding | very large caches |
//! | [`lazy`](informer::InformerBuilder::lazy) | 8 KB | decoding the part that is read | a few fields of many large objects |
//!
//! `metadata.managedFields` are about half of most objects and are dropped before decoding, unless
//! [kept](informer::InformerBuilder::managed_fields).
//!
//! # Subscribing
//!
//! [`subscribe`](Informer::subscribe) returns a stream, [`add_handler`](Informer::add_handler) runs a callback in a task of its own.
//! Subscribers are independent of each other and of the cache. A [`Policy`] decides what happens to one that falls behind: events are
//! folded per object (`Coalesce`, the default), kept without limit (`Unbounded`), or the informer waits (`Block`).
//!
//! # Controllers
//!
//! With the feature `controller`, `Controller` calls a reconcile function for each object that changed, with backoff and a rate
//! limit after failures, metrics, and functions for finalizers, server-side apply, conditions and events. With the feature
//! `manager`, `Manager` runs several controllers with probes and a graceful shutdown. [`Store::wait_for`] waits until the cache has your own writes. Without a cluster, `kube-devserver` serves
//! the Kubernetes API in the test process.
//!
//! # Features
//!
//! | feature | adds | needs |
//! |---|---|---|
//! | `controller` | `Controller`: the reconcile loop | |
//! | `manager` | `Manager`: several controllers, probes, metrics, shutdown | `controller` |
//! | `compressed` | `Storage::Compressed` | a C compiler, for zstd |
//! | `saved` | `InformerBuilder::save_to`: a cache that is restored after a restart | `compressed` |
//! | `history` | `history`: replays a recorded history (`kube-history`) into an informer | a C compiler, for zstd |
//! | `kube-runtime` | `bridge`: drives `kube::runtime` | |
//! | `leases` | `InformerBuilder::shards`, `Controller::leases`: replicas share the objects (`kube-leases`) | |
//! | `testing` | `source::Script`, `Informer::inject` | |
//!
//! # Building blocks
//!
//! The modules are in the order of the data flow. An informer consists of these parts, which can be used separately.
//!
//! | module | contents | client-go |
//! |---|---|---|
//! | [`document`] | requests for documents of limited size | |
//! | [`object`] | objects in transit and at rest | |
//! | [`source`] | [`ListWatch`](source::ListWatch) and other sources, [`Pager`](source::Pager) | `ListerWatcher`, `pager` |
//! | [`retry_watch`] | [`RetryWatch`](retry_watch::RetryWatch): a watch that is reopened, without a cache | `tools/watch` |
//! | [`ingest`] | decoding, transforms, encoding | `TransformFunc` |
//! | [`reflector`] | [`Reflector`](reflector::Reflector): lists and watches, recovers from failures | `Reflector` |
//! | [`cache`] | [`Store`] and its indexes, snapshots and listers | `Indexer`, listers |
//! | [`delta_fifo`] | [`DeltaFifo`](delta_fifo::DeltaFifo) and its process loop | `DeltaFIFO`, `cache.Controller` |
//! | [`subscription`] | [`Subscription`], handlers, policies | `ResourceEventHandler` |
//! | [`informer`] | [`Informer`] and [`Informers`], status, saving | `SharedIndexInformer`, `SharedInformerFactory` |
//! | `controller` | the reconcile loop | `workqueue`, controller-runtime |
//! | `manager` | several controllers in one process | `manager` of controller-runtime |
//! | [`wire`] | keys, versions, options, selectors, frames | `metav1`, `fields`, `labels` |
//!
//! `examples/` has a runnable program for each task.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod sync;
mod boxed;
mod recorder_id;
mod waiters;
mod parallel;
mod request_body;
pub mod document;
pub mod object;
pub mod source;
pub mod retry_watch;
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
#[cfg_attr(docsrs, doc(cfg(feature = "controller")))]
pub mod controller;
#[cfg(feature = "manager")]
#[cfg_attr(docsrs, doc(cfg(feature = "manager")))]
pub mod manager;
#[cfg(feature = "kube-runtime")]
#[cfg_attr(docsrs, doc(cfg(feature = "kube-runtime")))]
pub mod bridge;
#[cfg(feature = "history")]
#[cfg_attr(docsrs, doc(cfg(feature = "history")))]
pub mod history;
#[cfg(test)]
mod testing;

pub use boxed::{BoxError, BoxFuture};
pub use cache::{Snapshot, Store};
#[cfg(feature = "controller")]
#[cfg_attr(docsrs, doc(cfg(feature = "controller")))]
pub use controller::{Action, Controller};
pub use delta::{Delta, DeltaBatch};
pub use event::Event;
pub use informer::{Informer, Informers, StartError, SyncError};
pub use kube_informer_wire as wire;
pub use kube_informer_wire::{Key, Lazy, ManagedFields, ResourceVersion};
pub use object::{Object, Storage};
pub use subscription::{Policy, Subscription};

/// Compiles and runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}

/// Compiles the example in the README of the crate.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
