//! Calls webhooks: functions in this process, or servers at a URL.

use super::{
    https,
    webhook::{ClientConfig, ServiceReference},
};
use futures_util::FutureExt;
use serde_json::Value;
use std::{
    collections::HashMap,
    fmt,
    future::Future,
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

/// The webhooks that run in this process, by the service and the path in their configuration.
#[derive(Default)]
pub(crate) struct Services(RwLock<HashMap<ServicePath, Handler>>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ServicePath {
    namespace: String,
    name: String,
    path: String,
}

type Handler =
    Arc<dyn Fn(Value) -> Pin<Box<dyn Future<Output = Result<Value, String>> + Send>> + Send + Sync>;

impl Services {
    /// Adds a webhook, or replaces the one of the same service and path.
    pub(crate) fn add<F>(&self, namespace: &str, name: &str, path: &str, handler: F)
    where
        F: Fn(Value) -> Pin<Box<dyn Future<Output = Result<Value, String>> + Send>> + Send + Sync + 'static,
    {
        let service = ServicePath::new(namespace, name, path);
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(service, Arc::new(handler));
    }

    /// Sends a review to a webhook, and returns the response.
    ///
    /// # Errors
    /// The reason, if the webhook cannot be reached or does not respond with JSON in time.
    pub(crate) async fn call(
        &self,
        client_config: &ClientConfig,
        timeout: Duration,
        review: &Value,
    ) -> Result<Value, String> {
        let ClientConfig { url, service, ca_bundle } = client_config;
        let (address, called) = match (url, service) {
            (Some(url), _) => (url.clone(), https::post(url, ca_bundle.as_deref(), review).boxed()),
            (None, Some(service)) => {
                let ServiceReference { namespace, name, port, .. } = service;
                let path = service.path.trim_start_matches('/');
                (format!("https://{name}.{namespace}.svc:{port}/{path}"), self.call_service(service, review))
            }
            (None, None) => return Err("the webhook has neither a URL nor a service".to_owned()),
        };
        let result = match tokio::time::timeout(timeout, called).await {
            Ok(result) => result,
            Err(_) => Err("context deadline exceeded".to_owned()),
        };
        let seconds = timeout.as_secs();
        result.map_err(|cause| format!("Post \"{address}?timeout={seconds}s\": {cause}"))
    }

    fn call_service(
        &self,
        service: &ServiceReference,
        review: &Value,
    ) -> Pin<Box<dyn Future<Output = Result<Value, String>> + Send>> {
        let ServiceReference { namespace, name, path, .. } = service;
        let services = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let Some(handler) = services.get(&ServicePath::new(namespace, name, path)).cloned() else {
            let is_same = |known: &&ServicePath| known.namespace == *namespace && known.name == *name;
            let cause = match services.keys().find(is_same) {
                Some(known) => format!("the service {name:?} has a webhook at {:?} only", known.path),
                None => format!("service {name:?} not found: start it with DevServer::serve_webhook"),
            };
            return std::future::ready(Err(cause)).boxed();
        };
        drop(services);
        let review = review.clone();
        let call = AssertUnwindSafe(async move { handler(review).await });
        call.catch_unwind()
            .map(|result| result.unwrap_or_else(|_| Err("the webhook panicked".to_owned())))
            .boxed()
    }
}

impl ServicePath {
    fn new(namespace: &str, name: &str, path: &str) -> Self {
        let path = format!("/{}", path.trim_start_matches('/'));
        Self { namespace: namespace.to_owned(), name: name.to_owned(), path }
    }
}

impl fmt::Debug for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let services = self.0.read().unwrap_or_else(PoisonError::into_inner);
        f.debug_set().entries(services.keys()).finish()
    }
}
