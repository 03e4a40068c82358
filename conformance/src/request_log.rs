//! Records the list and watch requests of a client.

use http::Request;
use std::{
    sync::{Arc, Mutex},
    task::{Context, Poll},
};
use tower_layer::Layer;
use tower_service::Service;

/// A layer of a client that counts its requests.
#[derive(Clone, Debug, Default)]
pub struct RequestLog(Arc<Mutex<RequestCounts>>);

/// The number of requests by type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestCounts {
    /// Pages of lists, and all requests that are not watches.
    pub lists: u64,
    /// Streaming lists.
    pub streams: u64,
    /// Other watches.
    pub watches: u64,
}

impl RequestLog {
    /// Returns the number of requests so far.
    #[must_use]
    pub fn counts(&self) -> RequestCounts {
        *self.0.lock().unwrap()
    }
}

impl RequestCounts {
    /// Returns the number of requests of all types.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.lists + self.streams + self.watches
    }

    /// Returns the number of requests since an earlier time.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            lists: self.lists - earlier.lists,
            streams: self.streams - earlier.streams,
            watches: self.watches - earlier.watches,
        }
    }
}

impl<S> Layer<S> for RequestLog {
    type Service = Recorded<S>;

    fn layer(&self, inner: S) -> Recorded<S> {
        Recorded { log: self.clone(), inner }
    }
}

/// A client whose requests are counted.
#[derive(Clone, Debug)]
pub struct Recorded<S> {
    log: RequestLog,
    inner: S,
}

impl<S: Service<Request<B>>, B> Service<Request<B>> for Recorded<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> S::Future {
        let query = request.uri().query().unwrap_or_default();
        let mut counts = self.log.0.lock().unwrap();
        if query.contains("sendInitialEvents=true") {
            counts.streams += 1;
        } else if query.contains("watch=") {
            counts.watches += 1;
        } else {
            counts.lists += 1;
        }
        drop(counts);
        self.inner.call(request)
    }
}
