//! A client whose requests receive scripted responses.

use bytes::Bytes;
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use kube::{Client, client::Body};
use kube_informer::BoxFuture;
use serde_json::{Value, json};
use std::{
    collections::VecDeque,
    convert::Infallible,
    sync::{Arc, Mutex},
    task::{Context, Poll},
};
use tower_service::Service;

pub(crate) type Response = http::Response<BoxBody<Bytes, Infallible>>;

/// Sends one response per request. Requests after the last one never complete.
#[derive(Clone)]
struct ScriptedServer(Arc<Mutex<VecDeque<Response>>>);

impl Service<http::Request<Body>> for ScriptedServer {
    type Response = Response;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: http::Request<Body>) -> Self::Future {
        let response = self.0.lock().unwrap().pop_front();
        Box::pin(async {
            match response {
                Some(response) => Ok(response),
                None => std::future::pending().await,
            }
        })
    }
}

/// Returns a client whose requests receive these bodies, in order.
pub(crate) fn client(responses: impl IntoIterator<Item: Into<Bytes>>) -> Client {
    client_with(responses.into_iter().map(|body| http::Response::new(Full::new(body.into()).boxed())))
}

/// Returns a client whose requests receive these responses, in order.
pub(crate) fn client_with(responses: impl IntoIterator<Item = Response>) -> Client {
    Client::new(ScriptedServer(Arc::new(Mutex::new(responses.into_iter().collect()))), "default")
}

/// Returns a list of these objects at version 5.
pub(crate) fn list(items: &[Value]) -> String {
    json!({ "kind": "List", "apiVersion": "v1", "metadata": { "resourceVersion": "5" }, "items": items })
        .to_string()
}
