//! A reflector, its queue, and the loop that hands on what is queued.

use crate::{
    delta_fifo::{Batch, DeltaFifo},
    reflector::{Config, Reflector, ReflectorStatus, Report},
    source::{BoxError, ListerWatcher},
};
use kube_core::Resource;
use kube_informer_wire::ResourceVersion;
use std::{fmt, num::NonZeroUsize};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// What is done with each batch that a [`Controller`] pops.
///
/// A closure `FnMut(Batch<K>) -> Result<(), BoxError>` is one.
pub trait Process<K>: Send {
    /// Takes a batch. Nothing is popped before it is done, so waiting here makes the source wait once the queue is full.
    ///
    /// # Errors
    /// Whatever keeps it from going on: the controller ends with it.
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

/// Follows a source into a queue, and hands what is queued to a function: client-go's `Controller`.
///
/// [`Informer`](crate::informer::Informer) is the one that keeps a store and tells handlers. This is for those who keep
/// something of their own:
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_devserver::DevServer;
/// use kube_informer::{delta_fifo::{Controller, apply}, delta_fifo::DeltaFifo, source::ListWatch, cache::Store};
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
///     done.cancel(); // The first list is in, which is enough for an example.
///     Ok(())
/// };
/// let source = ListWatch::all(server.client());
/// Controller::new(source, DeltaFifo::builder().build(), Default::default(), process).run(cancel).await?;
/// assert!(store.version().is_some());
/// # Ok(()) }
/// ```
pub struct Controller<K, L, P> {
    reflector: Reflector<K, L, DeltaFifo<K>>,
    fifo: DeltaFifo<K>,
    process: P,
}

/// So many entries are popped together at most, so that one batch holds the store for a moment only.
const BATCH: NonZeroUsize = NonZeroUsize::new(1024).expect("it is not zero");

impl<K, L, P> Controller<K, L, P>
where
    K: Resource + Send + Sync + 'static,
    L: ListerWatcher<K>,
    P: Process<K>,
{
    /// Follows `source` into `fifo`, and hands what is popped from it to `process`.
    #[track_caller]
    pub fn new(source: L, fifo: DeltaFifo<K>, config: Config, process: P) -> Self {
        Self { reflector: Reflector::with_config(source, fifo.clone(), config), fifo, process }
    }

    /// Names the reflector, for logs and reports.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.reflector = self.reflector.named(name);
        self
    }

    /// Hears of every failure that costs a wait or an object. The default is to log it. A watch that merely breaks is opened again
    /// without a word.
    #[must_use]
    pub fn on_error(mut self, report: impl Fn(&Report<'_>) + Send + Sync + 'static) -> Self {
        self.reflector = self.reflector.on_error(report);
        self
    }

    /// Begins with a watch from this version, for a process that has the state of it; see [`Reflector::resume_from`].
    #[must_use]
    pub fn resume_from(mut self, version: ResourceVersion) -> Self {
        self.fifo.restored(Some(version.clone()));
        self.reflector = self.reflector.resume_from(version);
        self
    }

    /// Begins with the whole state, as it is from this version on, for a process that has something of it.
    pub(crate) fn list_from(mut self, version: ResourceVersion) -> Self {
        self.fifo.restored(Some(version.clone()));
        self.reflector.list_from(version);
        self
    }

    /// Begins with the whole state after all.
    #[cfg(feature = "saved")]
    pub(crate) fn start_over(mut self) -> Self {
        self.reflector.start_over();
        self
    }

    /// Where the reflector stands, now and as it changes.
    #[must_use]
    pub fn status(&self) -> watch::Receiver<ReflectorStatus> {
        self.reflector.status()
    }

    /// Follows until cancelled, or until a batch cannot be processed. The queue is closed when this ends.
    ///
    /// # Errors
    /// What [`Process::process`] said.
    pub async fn run(self, cancel: CancellationToken) -> Result<(), BoxError> {
        let Self { reflector, fifo, mut process } = self;
        let ends = cancel.child_token();
        // Whatever ends this, also a panic or being dropped, ends the reflector and whoever waits at the queue.
        let (_ends, _closes) = (ends.clone().drop_guard(), Closes(fifo.clone()));
        let pump = async {
            while let Some(batch) = fifo.pop_batch(BATCH).await {
                process.process(batch).await?;
            }
            Ok(())
        };
        tokio::select! {
            biased;
            () = reflector.run(ends) => Ok(()),
            outcome = pump => outcome,
        }
    }
}

/// Closes the queue when dropped.
struct Closes<K>(DeltaFifo<K>);

impl<K> Drop for Closes<K> {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl<K, L, P> fmt::Debug for Controller<K, L, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller").field("reflector", &self.reflector).finish_non_exhaustive()
    }
}
