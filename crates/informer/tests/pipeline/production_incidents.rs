//! Regression tests for known production incidents of other clients.

use crate::harness::Harness;
use kube_devserver::{DevServer, Fault, Verb};
use kube_informer::{
    reflector::Config,
    source::{BoxFuture, ListWatch, ListerWatcher},
    wire::{ListOptions, WatchOptions},
};
use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};
use tower_service::Service;

/// Agents of a large cluster that overload a failing server with requests.
#[tokio::test(start_paused = true)]
async fn a_server_that_fails_for_an_hour_receives_few_requests() {
    for code in [429, 500] {
        let server = DevServer::start();
        let failing = server.faults().inject(Fault::answer(code).of("configmaps"));
        let harness = Harness::on(server, Config::default());
        tokio::time::sleep(Duration::from_secs(3600)).await;
        // Delays of 30 to 60 s, with a streaming list and a list each time.
        assert!((60..260).contains(&failing.hits()), "{code}: {} requests in an hour", failing.hits());
        failing.withdraw();
        harness.create("a").await;
        harness.check_converged().await;
        harness.stop().await;
    }
}

/// Streaming lists that deliver all objects again whenever the watch ends.
#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_by_timeout_is_resumed() {
    let harness = Harness::new(Config::default());
    harness.create("a").await;
    harness.check_converged().await;
    tokio::time::sleep(Duration::from_secs(7200)).await;
    harness.change("a", "1").await;
    harness.check_converged().await;
    assert_eq!(harness.list_counts(), (0, 1));
    assert!(harness.status.borrow().counts.watches >= 12, "{:?}", harness.status.borrow().counts);
    harness.stop().await;
}

/// A kind that rarely changes, without bookmarks, and with a compacted history.
#[tokio::test(start_paused = true)]
async fn a_rarely_changing_kind_without_bookmarks_stays_current() {
    let server = DevServer::start();
    server.faults().inject(Fault::drop_bookmarks().on(Verb::Watch));
    let harness = Harness::on(server, crate::harness::listing());
    harness.create("a").await;
    harness.check_converged().await;
    harness.server.compact();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    harness.change("a", "1").await;
    harness.check_converged().await;
    harness.stop().await;
}

/// Records the headers of every request, and fails it.
#[derive(Clone, Default)]
struct Headers(Arc<Mutex<Vec<http::HeaderMap>>>);

impl Service<http::Request<kube::client::Body>> for Headers {
    type Response = http::Response<kube::client::Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<kube::client::Body>) -> Self::Future {
        self.0.lock().unwrap().push(request.headers().clone());
        let answer = http::Response::builder().status(503).body(kube::client::Body::empty()).unwrap();
        Box::pin(async { Ok(answer) })
    }
}

/// Compressed watches that end early or delay events.
#[tokio::test(start_paused = true)]
async fn compressed_responses_are_not_requested() {
    let headers = Headers::default();
    let client = kube::Client::new(headers.clone(), "default");
    let source = ListWatch::<k8s_openapi::api::core::v1::ConfigMap>::all(client);
    assert!(source.watch(&WatchOptions::default()).await.is_err());
    assert!(source.list(&ListOptions::default(), &mut |_| {}).await.is_err());
    let headers = headers.0.lock().unwrap();
    assert_eq!(headers.len(), 2);
    assert!(headers.iter().all(|headers| headers["accept-encoding"] == "identity"), "{headers:?}");
}
