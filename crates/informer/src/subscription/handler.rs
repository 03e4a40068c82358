//! Receives the events of an informer with a callback.

use super::{
    broadcaster::{Broadcaster, OnStop, Receiver, Subscriber},
    options::SubscribeOptions,
    registration::Registration,
};
use crate::{event::Event, parallel::ThreadBudget};
use futures_util::FutureExt;
use std::{fmt, panic::AssertUnwindSafe, sync::Arc, time::Duration};
use tokio::{runtime::Handle, time::Instant};
use tokio_util::task::TaskTracker;

/// Handles the events of an informer sequentially.
///
/// Closures `FnMut(&Event<K>)` implement it, and [`Async`] implements it for functions that return a future.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_informer::{Event, Informer, subscription::EventHandler};
///
/// struct Counter {
///     added: u64,
/// }
///
/// impl EventHandler<Pod> for Counter {
///     async fn handle(&mut self, event: &Event<Pod>) {
///         if let Event::Added { .. } = event {
///             self.added += 1;
///         }
///     }
/// }
///
/// fn watch(pods: &Informer<Pod>) -> Result<(), Box<dyn std::error::Error>> {
///     pods.add_handler(Counter { added: 0 })?;
///     pods.add_handler(|event: &Event<Pod>| println!("{:?}", event.object().get().metadata.name))?;
///     Ok(())
/// }
/// ```
pub trait EventHandler<K>: Send + 'static {
    /// Handles an event. The next event is delivered when the returned future has completed.
    ///
    /// Like any future, it should not block the thread. If it panics, the panic is counted and the handler continues with
    /// the next event after a pause of a second.
    fn handle(&mut self, event: &Event<K>) -> impl Future<Output = ()> + Send;
}

impl<K: Send + Sync, F: FnMut(&Event<K>) + Send + 'static> EventHandler<K> for F {
    async fn handle(&mut self, event: &Event<K>) {
        self(event);
    }
}

/// Makes an [`EventHandler`] of a function that returns a future.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_informer::{Event, Informer, subscription::Async};
///
/// async fn notify(event: Event<Pod>) {
///     println!("{:?}", event.object().get().metadata.name);
/// }
///
/// fn watch(pods: &Informer<Pod>) -> Result<(), Box<dyn std::error::Error>> {
///     pods.add_handler(Async(notify))?;
///     Ok(())
/// }
/// ```
pub struct Async<F>(pub F);

impl<K, F, T> EventHandler<K> for Async<F>
where
    K: Send + Sync,
    F: FnMut(Event<K>) -> T + Send + 'static,
    T: Future<Output = ()> + Send,
{
    async fn handle(&mut self, event: &Event<K>) {
        (self.0)(event.clone()).await;
    }
}

impl<F> fmt::Debug for Async<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Async")
    }
}

/// An error when a handler is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddHandlerError {
    /// The informer has been stopped.
    #[error("cannot add a handler: the informer was stopped")]
    Stopped,
    /// The caller is not within a tokio runtime, in which the handler could run.
    #[error("cannot add a handler: not within a tokio runtime")]
    NoRuntime,
}

/// The pause after a panic of a handler, which may panic at every event.
const PANIC_PAUSE: Duration = Duration::from_secs(1);

/// The maximum time and number of chunks for which a handler with a backlog runs before it yields to other tasks.
const MAX_RUN: Duration = Duration::from_micros(500);
const MAX_RUN_CHUNKS: usize = 16;

/// The number of events between two updates of the depth.
const DEPTH_INTERVAL: usize = 32;

/// Adds a handler, which runs in a task of `tasks`.
pub(crate) fn add_handler<K: Send + Sync + 'static, H: EventHandler<K>>(
    broadcaster: &Arc<Broadcaster<K>>,
    handler: H,
    mut options: SubscribeOptions<K>,
    tasks: &TaskTracker,
) -> Result<Registration<K>, AddHandlerError> {
    let runtime = Handle::try_current().map_err(|_| AddHandlerError::NoRuntime)?;
    options.name.get_or_insert_with(|| std::any::type_name::<H>().to_owned());
    let subscriber = broadcaster.join(options, OnStop::Detach);
    if subscriber.is_closed() {
        return Err(AddHandlerError::Stopped);
    }
    let task = tasks.spawn_on(run(Receiver(Arc::clone(&subscriber)), handler), &runtime);
    subscriber.task.get_or_init(|| task.id());
    Ok(Registration::new(subscriber))
}

/// Delivers all events to a handler until it is removed or the informer is stopped.
async fn run<K: Send + Sync + 'static>(mut receiver: Receiver<K>, mut handler: impl EventHandler<K>) {
    let mut reads_objects = false;
    let mut run_start = Instant::now();
    let mut run_chunks = 0;
    loop {
        let chunk = match receiver.next_chunk() {
            Some(chunk) => chunk,
            None => {
                let Some(chunk) = receiver.wait_for_chunk().await else { return };
                run_start = Instant::now();
                run_chunks = 0;
                chunk
            }
        };
        // Only the first object is checked: usually all objects of a chunk are compressed, or none.
        let undecoded = chunk.events().first().map(Event::object).filter(|object| object.needs_decoding());
        if reads_objects && undecoded.is_some() {
            decode_ahead(chunk.events());
        }
        let mut delivered = 0;
        while delivered < chunk.events().len() && !receiver.is_closed() {
            // Panics are caught around all remaining events, not each. The loop continues behind the event that panicked.
            let delivery = deliver(&receiver, &mut handler, chunk.events(), &mut delivered);
            if AssertUnwindSafe(delivery).catch_unwind().await.is_err() {
                receiver.count_panic();
                let handler = &receiver.config.name;
                tracing::error!(handler, "handler panicked; continuing with the next event");
                let closed = receiver.wait_until(Subscriber::is_closed);
                let _ = tokio::time::timeout(PANIC_PAUSE, closed).await;
            }
        }
        if receiver.is_closed() {
            return;
        }
        if let Some(undecoded) = undecoded {
            reads_objects = !undecoded.needs_decoding();
        }
        let now = Instant::now();
        receiver.handled_chunk(&chunk, now);
        run_chunks += 1;
        if run_chunks == MAX_RUN_CHUNKS || now - run_start >= MAX_RUN {
            tokio::task::yield_now().await;
            run_chunks = 0;
            run_start = Instant::now();
        }
    }
}

/// Decodes the second half of the objects in parallel, while the handler reads the first half: a handler that reads compressed
/// objects mostly waits for decoding.
fn decode_ahead<K: Send + Sync + 'static>(events: &[Event<K>]) {
    let half = &events[events.len().div_ceil(2)..];
    let objects: Vec<_> =
        half.iter().map(Event::object).filter(|object| object.needs_decoding()).cloned().collect();
    if !objects.is_empty()
        && let Some(helper) = ThreadBudget::process().try_acquire()
    {
        // Not joined: a handler that needs an object waits only for that object.
        drop(helper.run(move || objects.iter().for_each(|object| drop(object.arc()))));
    }
}

/// Delivers the events from index `delivered` on, which counts them.
async fn deliver<K>(
    subscriber: &Subscriber<K>,
    handler: &mut impl EventHandler<K>,
    events: &[Event<K>],
    delivered: &mut usize,
) {
    let filter = &subscriber.config.filter;
    for (index, event) in events.iter().enumerate().skip(*delivered) {
        if subscriber.is_closed() {
            return;
        }
        *delivered = index + 1;
        if index % DEPTH_INTERVAL == 0 || *delivered == events.len() {
            subscriber.set_undelivered(events.len() - *delivered);
        }
        if filter.is_none() {
            handler.handle(event).await;
        } else if let Some(event) = filter.apply(event) {
            handler.handle(&event).await;
        }
    }
}
