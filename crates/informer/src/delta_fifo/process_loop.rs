//! Runs a reflector into a queue, and processes the queued batches.

use super::fifo::{Batch, DeltaFifo};
use crate::{
    boxed::BoxError,
    reflector::{Config, Reflector, ReflectorStatus, Report},
    source::ListerWatcher,
};
use kube_core::Resource;
use kube_informer_wire::ResourceVersion;
use std::{fmt, num::NonZeroUsize};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Processes the batches that a [`ProcessLoop`] pops.
///
/// Implemented by closures `FnMut(Batch<K>) -> Result<(), BoxError>`.
pub trait Process<K>: Send {
    /// Processes a batch. The next one is popped when this returns. Once the queue is full, the source waits.
    ///
    /// # Errors
    /// Any error ends the loop.
    fn process(&mut self, batch: Batch<K>) -> impl Future<Output = Result<(), BoxError>> + Send;
}

impl<K: Send + Sync, F> Process<K> for F
where
    F: FnMut(Batch<K>) -> Result<(), BoxError> + Send,
{
    async fn process(&mut self, batch: Batch<K>) -> Result<(), BoxError> {
        self(batch)
    }
}

/// Runs a reflector into a queue, and passes the queued batches to a function: client-go's `cache.Controller`.
///
/// Use it for programs that do not need the store and the subscribers of an [`Informer`](crate::Informer):
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_devserver::DevServer;
/// use kube_informer::{cache::Store, delta_fifo::{DeltaFifo, ProcessLoop, apply}, source::ListWatch};
/// use tokio_util::sync::CancellationToken;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// let server = DevServer::start();
/// let (store, mut writer) = Store::<ConfigMap>::builder().build()?;
/// let cancel = CancellationToken::new();
/// let done = cancel.clone();
/// let process = move |batch| {
///     let mut events = Vec::new();
///     apply(batch, &mut writer, &mut events).done();
///     done.cancel(); // The first list is enough for an example.
///     Ok(())
/// };
/// let source = ListWatch::all(server.client());
/// ProcessLoop::new(source, DeltaFifo::builder().build(), Default::default(), process).run(cancel).await?;
/// assert!(store.version().is_some());
/// # Ok(()) }
/// ```
pub struct ProcessLoop<K, L, P> {
    reflector: Reflector<K, L, DeltaFifo<K>>,
    fifo: DeltaFifo<K>,
    process: P,
}

/// The maximum number of entries in a batch, so that one batch locks the store for a moment only.
const BATCH: NonZeroUsize = NonZeroUsize::new(1024).expect("not zero");

impl<K, L, P> ProcessLoop<K, L, P>
where
    K: Resource + Send + Sync + 'static,
    L: ListerWatcher<K>,
    P: Process<K>,
{
    /// Creates a loop that reflects `source` into `fifo` and passes each batch to `process`.
    #[track_caller]
    pub fn new(source: L, fifo: DeltaFifo<K>, config: Config, process: P) -> Self {
        Self { reflector: Reflector::with_config(source, fifo.clone(), config), fifo, process }
    }

    /// Sets the name for logs, metrics and reports.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.reflector = self.reflector.named(name);
        self
    }

    /// Sets the function that is called for every failure that causes a retry or skips an object. The default logs it.
    #[must_use]
    pub fn on_error(mut self, report: impl Fn(&Report<'_>) + Send + Sync + 'static) -> Self {
        self.reflector = self.reflector.on_error(report);
        self
    }

    /// Starts with a watch from this version, for a function that has the state of that version; see [`Reflector::resume_from`].
    #[must_use]
    pub fn resume_from(mut self, version: ResourceVersion) -> Self {
        self.fifo.restored(Some(version.clone()));
        self.reflector = self.reflector.resume_from(version);
        self
    }

    /// Returns a receiver of the status of the reflector.
    #[must_use]
    pub fn status(&self) -> watch::Receiver<ReflectorStatus> {
        self.reflector.status()
    }

    /// Runs until canceled, or until a batch cannot be processed. The queue is closed when this returns.
    ///
    /// # Errors
    /// The error of [`Process::process`].
    pub async fn run(self, cancel: CancellationToken) -> Result<(), BoxError> {
        let Self { reflector, fifo, mut process } = self;
        let stop = cancel.child_token();
        // The reflector and the producers must end in any case, also if this panics or is dropped.
        let _stop = stop.clone().drop_guard();
        let _close = CloseOnDrop(fifo.clone());
        let process_all = async {
            while let Some(batch) = fifo.pop_batch(BATCH).await {
                process.process(batch).await?;
            }
            Ok(())
        };
        tokio::select! {
            biased;
            () = reflector.run(stop) => Ok(()),
            result = process_all => result,
        }
    }
}

/// Closes the queue when dropped.
struct CloseOnDrop<K>(DeltaFifo<K>);

impl<K> Drop for CloseOnDrop<K> {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl<K, L, P> fmt::Debug for ProcessLoop<K, L, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessLoop").field("reflector", &self.reflector).finish_non_exhaustive()
    }
}
