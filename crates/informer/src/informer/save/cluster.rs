//! Identifies a cluster.

use kube_client::Client;
use serde::Deserialize;
use std::time::Duration;
use tokio::sync::OnceCell;

/// Returns the uid of the namespace `kube-system`, which identifies a cluster. `None` if the namespace does not exist or the
/// client has no permission to read it.
///
/// # Errors
/// [`kube_client::Error`] if the request fails.
pub async fn cluster_uid(client: &Client) -> Result<Option<String>, kube_client::Error> {
    #[derive(Deserialize)]
    struct Namespace {
        metadata: Metadata,
    }
    #[derive(Deserialize)]
    struct Metadata {
        uid: Option<String>,
    }
    let request = http::Request::get("/api/v1/namespaces/kube-system")
        .header(http::header::ACCEPT, "application/json")
        .body(Vec::new())
        .map_err(kube_client::Error::HttpError)?;
    match client.request::<Namespace>(request).await {
        Ok(namespace) => Ok(namespace.metadata.uid),
        Err(kube_client::Error::Api(status)) if matches!(status.code, 401 | 403 | 404) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A cluster whose uid is requested once.
pub(in super::super) struct Cluster {
    client: Client,
    uid: OnceCell<Option<String>>,
}

/// The delay before the first retry. It doubles with each retry.
const MIN_RETRY_DELAY: Duration = Duration::from_millis(800);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(30);

const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);

impl Cluster {
    pub(super) fn new(client: Client) -> Self {
        Self { client, uid: OnceCell::new() }
    }

    /// Returns the uid; `None` without permission to read it. A failed request is retried until it succeeds.
    pub(super) async fn uid(&self) -> Option<&str> {
        let request = async {
            let mut delay = MIN_RETRY_DELAY;
            loop {
                let error = match tokio::time::timeout(RESPONSE_TIMEOUT, cluster_uid(&self.client)).await {
                    Ok(Ok(uid)) => return uid,
                    Ok(Err(error)) => error.to_string(),
                    Err(_) => format!("no response within {RESPONSE_TIMEOUT:?}"),
                };
                tracing::warn!(error, ?delay, "failed to read the uid of the cluster; retrying");
                tokio::time::sleep(delay).await;
                delay = (delay * 2).min(MAX_RETRY_DELAY);
            }
        };
        self.uid.get_or_init(|| request).await.as_deref()
    }
}
