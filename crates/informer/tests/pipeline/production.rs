//! What took others down in production.

use crate::world::World;
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

/// A large cluster whose agents hammer a server that answers 429 or 500 until it falls over.
#[tokio::test(start_paused = true)]
async fn a_server_that_fails_for_an_hour_is_not_hammered() {
    for code in [429, 500] {
        let server = DevServer::start();
        let failing = server.faults().inject(Fault::answer(code).of("configmaps"));
        let world = World::on(server, Config::default());
        tokio::time::sleep(Duration::from_secs(3600)).await;
        // Waits of 30 to 60 s, and a stream and a list each time.
        assert!((60..260).contains(&failing.hits()), "{code}: {} requests in an hour", failing.hits());
        failing.withdraw();
        world.create("a").await;
        world.settled().await;
        world.stop().await;
    }
}

/// Streaming lists that replayed everything each time the watch ended, every few minutes.
#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_in_time_replays_nothing() {
    let world = World::new(Config::default());
    world.create("a").await;
    world.settled().await;
    tokio::time::sleep(Duration::from_secs(7200)).await;
    world.change("a", "1").await;
    world.settled().await;
    assert_eq!(world.asked(), (0, 1));
    assert!(world.status.borrow().counts.watches >= 12, "{:?}", world.status.borrow().counts);
    world.stop().await;
}

/// A kind that seldom changes, a server without bookmarks and a history that is forgotten meanwhile.
#[tokio::test(start_paused = true)]
async fn a_slow_kind_without_bookmarks_keeps_in_step() {
    let server = DevServer::start();
    server.faults().inject(Fault::drop_bookmarks().on(Verb::Watch));
    let world = World::on(server, crate::world::listing());
    world.create("a").await;
    world.settled().await;
    world.server.compact();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    world.change("a", "1").await;
    world.settled().await;
    world.stop().await;
}

/// Remembers the headers of every request, and answers none.
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

/// Watches that are compressed in several members end after the first of them, or hold events back.
#[tokio::test(start_paused = true)]
async fn no_compressed_answer_is_asked_for() {
    let headers = Headers::default();
    let client = kube::Client::new(headers.clone(), "default");
    let source = ListWatch::<k8s_openapi::api::core::v1::ConfigMap>::all(client);
    assert!(source.watch(&WatchOptions::default()).await.is_err());
    assert!(source.list(&ListOptions::default(), &mut |_| {}).await.is_err());
    let headers = headers.0.lock().unwrap();
    assert_eq!(headers.len(), 2);
    assert!(headers.iter().all(|headers| headers["accept-encoding"] == "identity"), "{headers:?}");
}
