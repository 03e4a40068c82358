//! The handle of an informer.

use super::{
    inner::Body,
    status::{Status, StatusWatch},
    sync::Verdict,
    sync_error::SyncError,
    wait_for_sync::Synced,
};
use crate::{
    cache::Store,
    source::BoxFuture,
    subscription::{AddHandlerError, EventHandler, Registration, SubscribeOptions, Subscription},
};
use futures_util::FutureExt;
use kube_core::Resource;
use std::{fmt, ops::Deref, pin::pin, sync::Arc};

/// A local, indexed, always-fresh copy of a resource, which any number of followers can follow.
///
/// This is a handle: cheap to clone, and the informer is stopped when the last one is dropped. It reads like the
/// [`Store`] that it keeps.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_devserver::{Churn, DevServer};
/// use kube_informer::{Event, Informer};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = DevServer::start(); // in place of a cluster
/// server.churn(Churn::pods(10));
/// let pods = Informer::<Pod>::new(server.client())
///     .index("node", |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.node_name.clone()))
///     .start()?;
/// pods.synced().await?;
/// assert_eq!(pods.len(), 10);
///
/// let mut events = pods.subscribe();
/// while let Some(event) = events.next().await {
///     match event {
///         Event::Added { object, initial } => println!("{:?} is there, initially: {initial}", object.metadata.name),
///         Event::Updated { old, new } => println!("{:?} became {:?}", old.status, new.status),
///         Event::Deleted { last_known, .. } => println!("{:?} is gone", last_known.metadata.name),
///     }
/// #   if events.registration().depth() == 0 { break; }
/// }
/// pods.stop().await;
/// # Ok(()) }
/// ```
pub struct Informer<K> {
    body: Arc<Body<K>>,
    keeper: Arc<Keeper<K>>,
}

/// Stops the informer when the last handle goes.
struct Keeper<K>(Arc<Body<K>>);

impl<K> Drop for Keeper<K> {
    fn drop(&mut self) {
        self.0.shut();
    }
}

impl<K: Resource + Send + Sync + 'static> Informer<K> {
    pub(super) fn new_handle(body: Arc<Body<K>>) -> Self {
        Self { keeper: Arc::new(Keeper(Arc::clone(&body))), body }
    }

    /// Starts an informer that was [built](super::Builder::build), within a tokio runtime. One that runs already, or was stopped,
    /// is left as it is.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(&self) {
        if !self.body.start() {
            tracing::warn!(informer = self.body.name, "informer was started or stopped before");
        }
    }

    /// Where it stands.
    #[must_use]
    pub fn status(&self) -> Status {
        self.body.status()
    }

    /// Follows where it stands.
    #[must_use]
    pub fn watch_status(&self) -> StatusWatch {
        let body = Arc::clone(&self.body);
        StatusWatch {
            read: Arc::new(move || body.status()),
            milestones: self.body.milestones.subscribe(),
            sources: self.body.sources.iter().map(|(_, status, _)| status.clone()).collect(),
        }
    }

    /// Follows it as a stream: what there is, then what happens. Once it is stopped, the stream is at its end.
    #[must_use]
    pub fn subscribe(&self) -> Subscription<K> {
        self.subscribe_with(SubscribeOptions::new())
    }

    /// Follows it as a stream, in the way asked for.
    #[must_use]
    pub fn subscribe_with(&self, options: SubscribeOptions<K>) -> Subscription<K> {
        self.body.broadcaster.subscribe(options)
    }

    /// Follows it with a callback: what there is, then what happens. It goes on until it is
    /// [removed](Registration::remove) or the informer is stopped.
    ///
    /// A handler that holds a handle of its informer keeps it from ending when the others are dropped; let it hold the
    /// [store](Self::store).
    ///
    /// # Errors
    /// [`AddHandlerError`] if the informer has been stopped, or this is not within a tokio runtime.
    pub fn add_handler(&self, handler: impl EventHandler<K>) -> Result<Registration<K>, AddHandlerError> {
        self.add_handler_with(handler, SubscribeOptions::new())
    }

    /// Follows it with a callback, in the way asked for.
    ///
    /// # Errors
    /// [`AddHandlerError`] if the informer has been stopped, or this is not within a tokio runtime.
    pub fn add_handler_with(
        &self,
        handler: impl EventHandler<K>,
        options: SubscribeOptions<K>,
    ) -> Result<Registration<K>, AddHandlerError> {
        self.body.broadcaster.add_handler(handler, options, &self.body.tasks)
    }

    /// Tells followers what did not happen, to see what a handler makes of it. The cache stays as it is.
    #[cfg(any(test, feature = "testing"))]
    pub fn pretend(&self, events: impl IntoIterator<Item = crate::event::Event<K>>) {
        self.body.broadcaster.inject(events);
    }

    /// How many tasks of it run: one for each source, one for each handler, and one that resyncs.
    #[must_use]
    pub fn tasks(&self) -> usize {
        self.body.tasks.len()
    }
}

impl<K: Send + Sync + 'static> Informer<K> {
    /// Waits until the cache is complete.
    ///
    /// # Errors
    /// [`SyncError`] if the server says no, if objects could not be read, or if it was stopped. The informer goes on asking
    /// all the same, and what this says later may differ.
    pub fn synced(&self) -> impl Future<Output = Result<(), SyncError>> + Send + 'static + use<K> {
        let body = Arc::clone(&self.body);
        async move {
            loop {
                let mut changed = pin!(body.progress.changed());
                changed.as_mut().enable();
                let is_stopped = body.broadcaster.is_closed();
                match body.progress.verdict() {
                    Verdict::Synced => return Ok(()),
                    Verdict::Failed(error) => return Err(error),
                    Verdict::Pending if is_stopped => {
                        return Err(SyncError::Stopped { resource: body.resource.clone() });
                    }
                    Verdict::Pending => changed.await,
                }
            }
        }
    }
}

impl<K> Informer<K> {
    /// The name it was given, or what kind its objects are of.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.body.name
    }

    /// The cache, to hand to those who only read. It stays readable when the informer is stopped, and is not kept up to
    /// date then.
    #[must_use]
    pub fn store(&self) -> &Store<K> {
        &self.body.store
    }

    /// Whether both are handles of one informer.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.body, &other.body)
    }

    /// Whether the cache has been complete.
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.body.progress.is_complete()
    }

    /// Whether it was started, also if it was stopped since.
    #[must_use]
    pub fn has_started(&self) -> bool {
        self.body.milestones.borrow().started.is_some()
    }

    /// Whether it was stopped.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.body.broadcaster.is_closed()
    }

    /// Stops it, at once. Await what this returns to wait until nothing of it runs any longer: handlers finish with the
    /// event they are at. Do not await it within a handler.
    pub fn stop(&self) -> impl Future<Output = ()> + Send + 'static + use<K> {
        self.body.shut();
        let tasks = self.body.tasks.clone();
        async move { tasks.wait().await }
    }
}

impl<K> Deref for Informer<K> {
    type Target = Store<K>;

    fn deref(&self) -> &Store<K> {
        &self.body.store
    }
}

impl<K: Resource + Send + Sync + 'static> Synced for Informer<K> {
    fn name(&self) -> String {
        self.body.name.clone()
    }

    fn synced(&self) -> BoxFuture<'static, Result<(), SyncError>> {
        Self::synced(self).boxed()
    }

    fn trouble(&self) -> Option<String> {
        if self.has_started() { self.status().last_error } else { Some("it was not started".to_owned()) }
    }
}

impl<K: Send + Sync + 'static> Synced for Registration<K> {
    fn name(&self) -> String {
        Self::name(self).to_owned()
    }

    fn synced(&self) -> BoxFuture<'static, Result<(), SyncError>> {
        let (settled, name) = (self.clone().wait_for_sync(), Self::name(self).to_owned());
        async move { if settled.await { Ok(()) } else { Err(SyncError::Stopped { resource: name }) } }.boxed()
    }

    fn trouble(&self) -> Option<String> {
        (self.depth() > 0).then(|| format!("{} events have not been handled", self.depth()))
    }
}

impl<K> Clone for Informer<K> {
    fn clone(&self) -> Self {
        Self { body: Arc::clone(&self.body), keeper: Arc::clone(&self.keeper) }
    }
}

impl<K> fmt::Debug for Informer<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Informer")
            .field("name", &self.body.name)
            .field("store", &self.body.store)
            .finish_non_exhaustive()
    }
}
