//! client-go's informer machinery for Rust: an indexed, always-fresh local copy of Kubernetes resources.
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
//!
//! ```
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube_devserver::DevServer;
//! use kube_informer::{list_watch::ListWatch, reflector::Reflector, store::Store};
//! use tokio_util::sync::CancellationToken;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = DevServer::start();
//! let (maps, writer) = Store::<ConfigMap>::builder().build()?;
//! let reflector = Reflector::new(ListWatch::all(server.client()), writer);
//! let (mut status, cancel) = (reflector.status(), CancellationToken::new());
//! let task = tokio::spawn(reflector.run(cancel.clone()));
//! status.wait_for(|status| status.version.is_some()).await?;
//! assert_eq!(maps.version(), status.borrow().version);
//! # cancel.cancel(); task.await?; Ok(()) }
//! ```

mod sync;
mod waiters;
pub mod list_watch;
mod listing;
pub mod reflector;
pub mod fifo;
pub mod store;
pub mod controller;
pub mod subscription;
pub mod informer;
#[cfg(feature = "reconcile")]
pub mod reconcile;
#[cfg(feature = "kube-runtime")]
pub mod bridge;
#[cfg(test)]
mod testing;

pub use controller::Event;
pub use informer::{Informer, Informers};
pub use kube_informer_wire as wire;
pub use listing::Listing;

/// The README's example, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}
