//! Which cluster it is.

use kube_client::Client;
use serde::Deserialize;
use std::time::Duration;
use tokio::sync::OnceCell;

/// The uid of the namespace `kube-system`, which stands for a cluster; nothing where it may not be read, or is not there.
///
/// # Errors
/// [`kube_client::Error`] if the server did not answer, or had trouble of its own.
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

/// A cluster that is asked for its uid once.
pub(in super::super) struct Cluster {
    client: Client,
    uid: OnceCell<Option<String>>,
}

/// How long to wait before asking again, and at most.
const WAIT: Duration = Duration::from_millis(800);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// How long a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);

impl Cluster {
    pub(super) fn new(client: Client) -> Self {
        Self { client, uid: OnceCell::new() }
    }

    /// Its uid, or nothing where it may not be read. A server that cannot be reached is asked until it can.
    pub(super) async fn uid(&self) -> Option<&str> {
        let ask = async {
            let mut wait = WAIT;
            loop {
                let error = match tokio::time::timeout(PATIENCE, cluster_uid(&self.client)).await {
                    Ok(Ok(uid)) => return uid,
                    Ok(Err(error)) => error.to_string(),
                    Err(_) => format!("the server did not answer within {PATIENCE:?}"),
                };
                tracing::warn!(error, ?wait, "cannot tell which cluster it is; asking again");
                tokio::time::sleep(wait).await;
                wait = (wait * 2).min(LONGEST_WAIT);
            }
        };
        self.uid.get_or_init(|| ask).await.as_deref()
    }
}
