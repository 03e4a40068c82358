//! Waits until several caches have synced.

use super::sync_error::SyncError;
use crate::boxed::BoxFuture;
use futures_util::{StreamExt, stream::FuturesUnordered};
use std::{fmt, time::Duration};

/// An [`Informer`](super::Informer), or the [registration](crate::subscription::Registration) of a handler.
pub trait Synced: Send + Sync {
    /// Returns the name for error messages.
    fn name(&self) -> String;

    /// Waits until it has synced, or has failed.
    fn synced(&self) -> BoxFuture<'static, Result<(), SyncError>>;

    /// Returns the reason why it has not synced; `None` if there is no error.
    fn blocked_on(&self) -> Option<String>;
}

/// Waits until all caches have synced, at most for `timeout`. Does not wait for a cache that has failed, for example without
/// permission.
///
/// ```
/// use k8s_openapi::api::core::v1::{ConfigMap, Pod};
/// use kube_devserver::DevServer;
/// use kube_informer::{Informer, informer::{Synced, wait_for_sync}};
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = DevServer::start();
/// let pods = Informer::<Pod>::builder(server.client()).start()?;
/// let maps = Informer::<ConfigMap>::builder(server.client()).start()?;
/// let caches: [&dyn Synced; 2] = [&pods, &maps];
/// wait_for_sync(caches, Duration::from_secs(10)).await?;
/// assert!(pods.has_synced() && maps.has_synced());
/// # Ok(()) }
/// ```
///
/// # Errors
/// [`NotSyncedError`] lists the caches that have not synced, with the reasons.
pub async fn wait_for_sync<'a>(
    caches: impl IntoIterator<Item = &'a dyn Synced>,
    timeout: Duration,
) -> Result<(), NotSyncedError> {
    let caches: Vec<_> = caches.into_iter().collect();
    let mut pending: FuturesUnordered<_> = caches
        .iter()
        .enumerate()
        .map(|(number, cache)| {
            let synced = cache.synced();
            async move { (number, synced.await) }
        })
        .collect();
    let mut results = vec![None; caches.len()];
    let collect = async {
        while let Some((number, result)) = pending.next().await {
            results[number] = Some(result);
        }
    };
    // After a timeout, the caches without a result are reported below.
    let _ = tokio::time::timeout(timeout, collect).await;
    let mut waiting = Vec::new();
    for (cache, result) in caches.into_iter().zip(results) {
        let reason = match result {
            Some(Ok(())) => continue,
            Some(Err(error)) => NotSyncedReason::Failed(error),
            None => NotSyncedReason::TimedOut { timeout, blocked_on: cache.blocked_on() },
        };
        waiting.push((cache.name(), reason));
    }
    waiting.sort_by(|(one, _), (other, _)| one.cmp(other));
    if waiting.is_empty() { Ok(()) } else { Err(NotSyncedError { waiting }) }
}

/// The error of caches that have not synced.
#[derive(Clone, Debug)]
pub struct NotSyncedError {
    /// The names, sorted, with the reasons.
    pub waiting: Vec<(String, NotSyncedReason)>,
}

/// The reason why a cache has not synced.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum NotSyncedReason {
    /// It failed.
    Failed(SyncError),
    /// It has not synced in time.
    #[non_exhaustive]
    TimedOut {
        /// The timeout.
        timeout: Duration,
        /// Its last error, if there was one.
        blocked_on: Option<String>,
    },
}

impl fmt::Display for NotSyncedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("failed to sync all caches")?;
        for (number, (name, reason)) in self.waiting.iter().enumerate() {
            write!(f, "{} {name}: {reason}", if number == 0 { ":" } else { ";" })?;
        }
        Ok(())
    }
}

impl fmt::Display for NotSyncedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => error.fmt(f),
            Self::TimedOut { timeout, blocked_on: None } => write!(f, "not synced within {timeout:?}"),
            Self::TimedOut { timeout, blocked_on: Some(error) } => {
                write!(f, "not synced within {timeout:?}, last error: {error}")
            }
        }
    }
}

impl std::error::Error for NotSyncedError {
    /// Returns the first error.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.waiting.iter().find_map(|(_, reason)| match reason {
            NotSyncedReason::Failed(error) => Some(error as _),
            NotSyncedReason::TimedOut { .. } => None,
        })
    }
}
