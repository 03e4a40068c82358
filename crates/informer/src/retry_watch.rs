//! A watch that is reopened when it ends, without a cache.
//!
//! Use it to wait for a change after a known version, such as that of an object that the program has written. To keep a current copy of a resource, use
//! an [`Informer`](crate::Informer), which also recovers when the version has expired.

use crate::source::{Error, ListerWatcher, Watch};
use futures_core::Stream;
use futures_util::stream;
use kube_core::{Resource, Status};
use kube_informer_wire::{ResourceVersion, WatchEvent, WatchOptions};
use std::{fmt, sync::Arc, time::Duration};
use tokio::time::{Instant, sleep_until, timeout_at};

/// The shortest time between two requests, as in client-go.
const MIN_RESTART_DELAY: Duration = Duration::from_secs(1);
/// The longest time between two requests that fail, unless the server requests more with `Retry-After`.
const MAX_RESTART_DELAY: Duration = Duration::from_secs(30);
/// The maximum `Retry-After` that is respected.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(600);
/// The timeout that is requested from the server.
const WATCH_TIMEOUT: Duration = Duration::from_secs(300);
/// The time after its timeout when a watch that has not ended is considered dead.
const GRACE: Duration = Duration::from_secs(30);

/// A watch from a version that is reopened when it ends or fails: client-go's `RetryWatcher`.
///
/// It delivers [`WatchEvent::Added`], [`Modified`](WatchEvent::Modified) and [`Deleted`](WatchEvent::Deleted), each once. Bookmarks are
/// not delivered; they move the version from which the watch is reopened. Temporary errors are not delivered either. An object that
/// cannot be decoded is delivered as an error, and the watch continues.
///
/// The watch ends after an error that a retry cannot resolve: the version has expired (410), or the credentials or permissions are
/// missing (401, 403). At least a second passes between two requests, and up to 30 seconds if requests fail, or ten minutes if the server
/// requests them with `Retry-After`.
///
/// Dropping it closes the watch.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_devserver::DevServer;
/// use kube_informer::{
///     retry_watch::RetryWatch,
///     source::{ListWatch, Pager},
///     wire::WatchEvent,
/// };
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use kube::{Api, api::{ObjectMeta, PostParams}};
/// # let server = DevServer::start();
/// # let api = Api::<ConfigMap>::default_namespaced(server.client());
/// let maps = ListWatch::<ConfigMap>::namespaced(server.client(), "default");
/// let list = Pager::new(&maps).list::<ConfigMap>(&Default::default()).await?;
/// let mut watch = RetryWatch::new(maps, list.version.expect("lists of an API server have a version"))?;
/// # let map = ConfigMap { metadata: ObjectMeta { name: Some("a".into()), ..Default::default() }, ..Default::default() };
/// # api.create(&PostParams::default(), &map).await?;
/// if let Some(Ok(WatchEvent::Added(map))) = watch.next().await {
///     println!("{} was created", map.metadata.name.as_deref().unwrap_or_default());
/// }
/// # Ok(()) }
/// ```
#[doc(alias = "RetryWatcher")]
#[doc(alias = "NewRetryWatcher")]
pub struct RetryWatch<K, S> {
    source: S,
    version: ResourceVersion,
    watch: Option<OpenWatch<K>>,
    /// The time before which no request is sent.
    not_before: Option<Instant>,
    /// The number of requests that failed since the last event.
    failures: u32,
    has_ended: bool,
}

struct OpenWatch<K> {
    watch: Watch<K>,
    /// When the watch is considered dead.
    deadline: Instant,
}

/// The start version of a [`RetryWatch`] does not identify a state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "initial version {version:?} is not supported: a watch that is reopened needs the version of a list or an object"
)]
pub struct InitialVersionError {
    version: String,
}

/// A [`RetryWatch`] ended before a condition held.
#[derive(Debug, thiserror::Error)]
#[error("watch ended before the condition held")]
pub struct WatchEndedError {
    /// The error that ended the watch.
    #[source]
    pub error: Option<Error>,
}

impl<K, S> RetryWatch<K, S>
where
    K: Resource + Send + Sync + 'static,
    S: ListerWatcher<K>,
{
    /// Creates a watch of the changes after `version`. Requests are sent by [`next`](Self::next).
    ///
    /// # Errors
    /// [`InitialVersionError`] if the version is `0`, which means any version.
    pub fn new(source: S, version: ResourceVersion) -> Result<Self, InitialVersionError> {
        if version.is_any() {
            return Err(InitialVersionError { version: version.to_string() });
        }
        Ok(Self { source, version, watch: None, not_before: None, failures: 0, has_ended: false })
    }

    /// Returns the version from which the watch would be reopened.
    #[must_use]
    pub fn version(&self) -> &ResourceVersion {
        &self.version
    }

    /// Waits for the next event, or for an error; see the [type](Self). `None` once the watch has ended.
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, no event is lost.
    pub async fn next(&mut self) -> Option<Result<WatchEvent<Arc<K>>, Error>> {
        loop {
            if self.has_ended {
                return None;
            }
            let outcome = match &mut self.watch {
                None => self.open().await,
                Some(open) => match timeout_at(open.deadline, open.watch.next()).await {
                    Ok(Some(Ok(event))) => self.received(event),
                    Ok(Some(Err(error))) => self.failed(error),
                    // A watch that ends, or is dead, is reopened.
                    Ok(None) | Err(_) => {
                        self.watch = None;
                        None
                    }
                },
            };
            if outcome.is_some() {
                return outcome;
            }
        }
    }

    /// Waits until an event fulfills `condition`, and returns it. Call it again with another condition to wait for a sequence of events:
    /// each call continues after the event of the last one.
    ///
    /// ```
    /// use k8s_openapi::api::batch::v1::Job;
    /// use kube_informer::{ResourceVersion, retry_watch::RetryWatch, source::ListWatch, wire::WatchEvent};
    /// use std::{error::Error, sync::Arc, time::Duration};
    ///
    /// async fn wait_for_job(jobs: ListWatch<Job>, created: ResourceVersion) -> Result<(), Box<dyn Error>> {
    ///     let mut watch = RetryWatch::new(jobs, created)?;
    ///     let is_done = |event: &WatchEvent<Arc<Job>>| match event {
    ///         WatchEvent::Modified(job) => job.status.as_ref().is_some_and(|status| status.succeeded.is_some()),
    ///         _ => false,
    ///     };
    ///     tokio::time::timeout(Duration::from_secs(600), watch.until(is_done)).await??;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// [`WatchEndedError`] if the watch ends first.
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, events that did not fulfill the condition are consumed.
    #[doc(alias = "Until")]
    #[doc(alias = "UntilWithoutRetry")]
    pub async fn until(
        &mut self,
        mut condition: impl FnMut(&WatchEvent<Arc<K>>) -> bool,
    ) -> Result<WatchEvent<Arc<K>>, WatchEndedError> {
        let mut last_error = None;
        while let Some(next) = self.next().await {
            match next {
                Ok(event) if condition(&event) => return Ok(event),
                Ok(_) => last_error = None,
                Err(error) => last_error = Some(error),
            }
        }
        Err(WatchEndedError { error: last_error })
    }

    /// Converts the watch to a stream.
    pub fn into_stream(self) -> impl Stream<Item = Result<WatchEvent<Arc<K>>, Error>> + Send
    where
        S: Send,
    {
        stream::unfold(self, |mut watch| async move { watch.next().await.map(|event| (event, watch)) })
    }

    /// Sends a request when its time has come.
    async fn open(&mut self) -> Option<Result<WatchEvent<Arc<K>>, Error>> {
        if let Some(time) = self.not_before {
            sleep_until(time).await;
        }
        let now = Instant::now();
        self.not_before = Some(now + MIN_RESTART_DELAY);
        let deadline = now + WATCH_TIMEOUT + GRACE;
        let options =
            WatchOptions { timeout: Some(WATCH_TIMEOUT), ..WatchOptions::after(self.version.clone()) };
        match timeout_at(deadline, self.source.watch(&options)).await {
            Ok(Ok(watch)) => self.watch = Some(OpenWatch { watch, deadline }),
            Ok(Err(error)) => return self.failed(error),
            Err(_) => {}
        }
        None
    }

    /// Returns the event if it is delivered, and records its version.
    fn received(
        &mut self,
        event: WatchEvent<crate::source::RawObject<K>>,
    ) -> Option<Result<WatchEvent<Arc<K>>, Error>> {
        let decoded = match event {
            WatchEvent::Added(raw) => raw.into_object().map(|object| WatchEvent::Added(Arc::new(object))),
            WatchEvent::Modified(raw) => {
                raw.into_object().map(|object| WatchEvent::Modified(Arc::new(object)))
            }
            WatchEvent::Deleted(raw) => raw.into_object().map(|object| WatchEvent::Deleted(Arc::new(object))),
            WatchEvent::Bookmark { version, .. } | WatchEvent::Unknown { version: Some(version), .. } => {
                self.failures = 0;
                self.advance(version);
                return None;
            }
            WatchEvent::Error(status) => return self.failed(Error::status(*status)),
            _ => return None,
        };
        let event = match decoded {
            Ok(event) => event,
            Err(error) => {
                if let Some(version) = error.version().cloned() {
                    self.advance(version);
                }
                return Some(Err(Error::Item(error)));
            }
        };
        let (WatchEvent::Added(object) | WatchEvent::Modified(object) | WatchEvent::Deleted(object)) = &event
        else {
            return None;
        };
        let version = object.meta().resource_version.as_deref().unwrap_or_default();
        let Ok(Some(version)) = ResourceVersion::parse_optional(version) else {
            self.has_ended = true;
            let message =
                "object of a watch event has no valid resourceVersion, so that the watch cannot be reopened";
            return Some(Err(Error::status(Status::failure(message, "InternalError").with_code(500))));
        };
        self.failures = 0;
        self.advance(version).then_some(Ok(event))
    }

    /// Records a version. Returns false if it is not newer than the last one.
    fn advance(&mut self, version: ResourceVersion) -> bool {
        // Versions that cannot be compared are opaque, and the last one counts.
        let is_new = version.partial_cmp(&self.version).is_none_or(std::cmp::Ordering::is_gt);
        if is_new {
            self.version = version;
        }
        is_new
    }

    /// Closes the watch after an error, and returns the error if it is delivered.
    fn failed(&mut self, error: Error) -> Option<Result<WatchEvent<Arc<K>>, Error>> {
        if matches!(error, Error::Event(_) | Error::Item(_) | Error::Kind(_)) {
            return Some(Err(error));
        }
        self.watch = None;
        if error.is_expired() || error.is_unauthorized() || error.is_forbidden() {
            self.has_ended = true;
            return Some(Err(error));
        }
        let delay = MIN_RESTART_DELAY.saturating_mul(1 << self.failures.min(5)).min(MAX_RESTART_DELAY);
        let delay = error.retry_after().unwrap_or_default().min(MAX_RETRY_AFTER).max(delay);
        self.failures += 1;
        self.not_before = self.not_before.max(Some(Instant::now() + delay));
        tracing::debug!(error = %error, ?delay, version = %self.version, "watch failed; reopening it");
        None
    }
}

impl<K, S> fmt::Debug for RetryWatch<K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryWatch")
            .field("version", &self.version)
            .field("is_open", &self.watch.is_some())
            .field("has_ended", &self.has_ended)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
