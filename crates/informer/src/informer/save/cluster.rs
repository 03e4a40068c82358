//! Identifies a cluster.

use crate::{boxed::error_chain, document};
use kube_client::Client;
use serde::Deserialize;
use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::sync::{Notify, OnceCell};

/// Returns the uid of the namespace `kube-system`, which identifies a cluster. `None` if the namespace does not exist or the
/// client has no permission to read it.
///
/// # Errors
/// [`kube_client::Error`] if the request fails, or if the response is larger than 1 MiB.
pub async fn cluster_uid(client: &Client) -> Result<Option<String>, kube_client::Error> {
    #[derive(Deserialize)]
    struct Namespace {
        metadata: Metadata,
    }
    #[derive(Deserialize)]
    struct Metadata {
        uid: Option<String>,
    }
    let namespace = document::Request::new("/api/v1/namespaces/kube-system").max_size(1 << 20);
    match namespace.get::<Namespace>(client).await {
        Ok(namespace) => Ok(namespace.metadata.uid),
        Err(kube_client::Error::Api(status)) if matches!(status.code, 401 | 403 | 404) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A cluster whose uid is requested once.
pub(in super::super) struct Cluster {
    client: Client,
    uid: OnceCell<Option<String>>,
    /// The error of the last request; `None` once it has succeeded.
    error: Mutex<Option<String>>,
    /// Wakes in the order of the waiting sources, unlike a watch channel, so that simulated runs repeat.
    failed: Notify,
}

/// The delay before the first retry. It doubles with each retry.
const MIN_RETRY_DELAY: Duration = Duration::from_millis(800);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(30);

const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);

impl Cluster {
    pub(super) fn new(client: Client) -> Self {
        Self { client, uid: OnceCell::new(), error: Mutex::default(), failed: Notify::new() }
    }

    /// Waits until a request for the uid fails.
    pub(super) async fn failed(&self) {
        self.failed.notified().await;
    }

    /// Returns the error of the last request; `None` if it succeeded, or was not sent.
    pub(super) fn error(&self) -> Option<String> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_error(&self, error: Option<String>) {
        *self.error.lock().unwrap_or_else(PoisonError::into_inner) = error;
    }

    /// Returns the uid; `None` without permission to read it. A failed request is retried until it succeeds.
    pub(super) async fn uid(&self) -> Option<&str> {
        let request = async {
            let mut delay = MIN_RETRY_DELAY;
            loop {
                let error = match tokio::time::timeout(RESPONSE_TIMEOUT, cluster_uid(&self.client)).await {
                    Ok(Ok(uid)) => {
                        self.set_error(None);
                        return uid;
                    }
                    Ok(Err(error)) => error_chain(&error),
                    Err(_) => format!("no response within {RESPONSE_TIMEOUT:?}"),
                };
                let error = format!("failed to read the uid of the namespace kube-system: {error}");
                self.set_error(Some(error.clone()));
                self.failed.notify_waiters();
                tracing::warn!(error, ?delay, "failed to read the uid of the cluster; retrying");
                tokio::time::sleep(delay).await;
                delay = (delay * 2).min(MAX_RETRY_DELAY);
            }
        };
        self.uid.get_or_init(|| request).await.as_deref()
    }
}
