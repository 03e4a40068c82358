//! Requests to the API server.

use crate::config::{Config, Mode};
use crate::error::LeaseError;
use crate::names::{GROUP_LABEL, group_label};
use crate::record::Record;
use crate::request::{Request, RequestError, Response};
use crate::restore::Listing;
use futures_util::StreamExt;
use k8s_openapi::api::coordination::v1::Lease;
use kube_client::api::{DeleteParams, ListParams, PostParams, Preconditions, WatchParams};
use kube_client::core::response::Status;
use kube_client::{Api, Client};
use kube_core::WatchEvent;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tracing::debug;

/// An event of the list and watch of the Leases.
#[derive(Debug)]
pub(crate) enum ViewEvent {
    Listed(Listing),
    Changed(Record),
    Deleted(Record),
    /// The list was refused.
    Refused(LeaseError),
}

/// The Leases of a namespace.
#[derive(Clone, Debug)]
pub(crate) struct LeaseApi {
    api: Api<Lease>,
    config: Arc<Config>,
}

impl LeaseApi {
    pub(crate) fn new(client: Client, config: &Arc<Config>) -> Self {
        Self { api: Api::namespaced(client, &config.namespace), config: Arc::clone(config) }
    }

    /// Sends a request, and gives up after the request timeout.
    pub(crate) async fn send(&self, request: Request) -> Response {
        let timeout = self.config.timing.request_timeout();
        let name = match &request {
            Request::Get { name } | Request::Delete { name, .. } => name.clone(),
            Request::Create(lease) | Request::Update(lease) => {
                lease.metadata.name.clone().unwrap_or_default()
            }
        };
        match tokio::time::timeout(timeout, self.call(request)).await {
            Ok(Ok(lease)) => Ok(Record::new(lease)),
            Ok(Err(error)) => Err(self.classify(&name, &error)),
            Err(_) => {
                debug!(lease = name, ?timeout, "no response in time");
                Err(RequestError::Unknown)
            }
        }
    }

    async fn call(&self, request: Request) -> kube_client::Result<Lease> {
        match request {
            Request::Get { name } => self.api.get(&name).await,
            Request::Create(lease) => self.api.create(&PostParams::default(), &lease).await,
            Request::Update(lease) => {
                let name = lease.metadata.name.as_deref().unwrap_or_default();
                self.api.replace(name, &PostParams::default(), &lease).await
            }
            Request::Delete { name, uid, version } => {
                let preconditions = Preconditions { uid: Some(uid), resource_version: Some(version) };
                let params = DeleteParams::default().preconditions(preconditions);
                Ok(self.api.delete(&name, &params).await?.left().unwrap_or_default())
            }
        }
    }

    fn classify(&self, name: &str, error: &kube_client::Error) -> RequestError {
        let kube_client::Error::Api(status) = error else {
            debug!(lease = name, %error, "request failed");
            return RequestError::Unknown;
        };
        let is_namespace =
            |status: &Status| status.details.as_ref().is_some_and(|details| details.kind == "namespaces");
        match status.code {
            409 => RequestError::Conflict,
            404 if is_namespace(status) => {
                let namespace = self.config.namespace.clone();
                RequestError::Refused(LeaseError::NamespaceNotFound { namespace })
            }
            404 => RequestError::NotFound,
            403 => RequestError::Refused(LeaseError::Forbidden {
                namespace: self.config.namespace.clone(),
                message: status.message.clone(),
                role: self.config.role(),
            }),
            400 | 405 | 422 => {
                let (name, message) = (name.to_owned(), status.message.clone());
                RequestError::Refused(LeaseError::Rejected { name, message })
            }
            code => {
                debug!(lease = name, code, message = status.message, "request failed");
                RequestError::Unknown
            }
        }
    }

    /// Lists and watches the Leases until the receiver is dropped. `newest` is the newest version that the replica knows.
    pub(crate) async fn follow(self, events: mpsc::Sender<ViewEvent>, newest: watch::Receiver<Option<u64>>) {
        let retry_period = self.config.timing.retry_period;
        let mut delay = retry_period / 8;
        while !events.is_closed() {
            match self.list_and_watch(&events, &newest).await {
                Ok(()) => delay = retry_period / 8,
                Err(RequestError::Refused(problem)) => {
                    if events.send(ViewEvent::Refused(problem)).await.is_err() {
                        return;
                    }
                    delay = retry_period;
                }
                Err(_) => delay = (delay * 2).min(retry_period / 2),
            }
            tokio::select! {
                () = tokio::time::sleep(delay) => {}
                () = events.closed() => return,
            }
        }
    }

    /// Returns when the watch has ended.
    async fn list_and_watch(
        &self,
        events: &mpsc::Sender<ViewEvent>,
        newest: &watch::Receiver<Option<u64>>,
    ) -> Result<(), RequestError> {
        let name = &self.config.name;
        let (list_params, watch_params) = match self.config.mode {
            Mode::Leader => {
                let fields = format!("metadata.name={name}");
                (ListParams::default().fields(&fields), WatchParams::default().fields(&fields))
            }
            Mode::Shards { .. } => {
                let labels = format!("{GROUP_LABEL}={}", group_label(name));
                (ListParams::default().labels(&labels), WatchParams::default().labels(&labels))
            }
        };
        let timeout = self.config.timing.request_timeout();
        let known = *newest.borrow();
        let list = within(timeout, self.api.list(&list_params)).await?;
        let list = list.map_err(|error| self.classify(name, &error))?;
        let version = list.metadata.resource_version.unwrap_or_default();
        let records = list.items.into_iter().map(Record::new).collect();
        let listing = Listing { records, version: version.parse().ok(), known };
        if events.send(ViewEvent::Listed(listing)).await.is_err() {
            return Ok(());
        }
        let watch = within(timeout, self.api.watch(&watch_params, &version)).await?;
        let mut watch = std::pin::pin!(watch.map_err(|error| self.classify(name, &error))?);
        // Each holder renews its Lease several times within the lease duration. If no event arrives in this
        // time, either there is no holder or the connection is broken. A new list shows which.
        while let Ok(Some(event)) = within(self.config.timing.lease_duration, watch.next()).await {
            let event = match event {
                Ok(WatchEvent::Added(lease) | WatchEvent::Modified(lease)) => {
                    ViewEvent::Changed(Record::new(lease))
                }
                Ok(WatchEvent::Deleted(lease)) => ViewEvent::Deleted(Record::new(lease)),
                Ok(WatchEvent::Bookmark(_)) => continue,
                Ok(WatchEvent::Error(status)) => {
                    debug!(code = status.code, message = status.message, "watch of leases ended");
                    return Ok(());
                }
                Err(error) => {
                    debug!(%error, "watch of leases failed");
                    return Ok(());
                }
            };
            if events.send(event).await.is_err() {
                return Ok(());
            }
        }
        Ok(())
    }
}

async fn within<T>(timeout: Duration, future: impl Future<Output = T>) -> Result<T, RequestError> {
    tokio::time::timeout(timeout, future).await.map_err(|_| RequestError::Unknown)
}
