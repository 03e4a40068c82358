//! Keeps a sink in sync with a source: lists, watches, and recovers from failures.
//!
//! A [`Reflector`] reads a [source](crate::source::ListerWatcher) and writes to a [`Sink`], such as a queue or a store:
//!
//! ```
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube_devserver::DevServer;
//! use kube_informer::{source::ListWatch, reflector::Reflector, cache::Store};
//! use tokio_util::sync::CancellationToken;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = DevServer::start(); // in place of a cluster
//! let (store, writer) = Store::builder().build()?;
//! let source = ListWatch::<ConfigMap>::all(server.client());
//! let reflector = Reflector::new(source, writer).on_error(|report| eprintln!("{}", report.cause));
//! let mut status = reflector.status();
//! let cancel = CancellationToken::new();
//! let reflecting = tokio::spawn(reflector.run(cancel.clone()));
//! status.wait_for(|status| status.version.is_some()).await?;
//! println!("{} config maps at {:?}", store.len(), store.version());
//! cancel.cancel();
//! reflecting.await?;
//! # Ok(()) }
//! ```

mod backoff;
mod config;
mod cursor;
mod sink;
mod resync;
pub mod metrics;
mod telemetry;
mod list_session;
mod consistency;
mod watch_session;
mod driver;

#[cfg(test)]
mod tests;

pub use backoff::Backoff;
pub use config::{Config, Consistency, InitialList, Strategy};
pub use driver::{ListAndWatchEnd, Reflector};
pub use sink::Sink;
pub use telemetry::{
    Activity, Cause, Counts, Differences, Progress, ReflectorPhase, ReflectorStatus, Report, Retry,
};
