//! Requests of sources with clients that retry: kube's retries do not apply to them.

use http::{Request, Response};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, Config,
    client::{Body, retry::RetryPolicy},
};
use kube_devserver::{DevServer, Fault};
use kube_informer::{
    BoxError, BoxFuture, Informer, document,
    reflector::Strategy,
    source::{ListWatch, ListerWatcher},
    wire::{ListOptions, WatchOptions},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};
use tower::retry::Retry;
use tower_service::Service;

/// The statuses that are tested: kube retries all of them except 500.
const CODES: [u16; 4] = [429, 500, 503, 504];

/// The client that `Client::try_default` creates.
fn default_client(server: &DevServer) -> Client {
    Client::try_from(Config::new(server.url().unwrap().parse().unwrap())).unwrap()
}

/// Sends each kind of request to a server that fails twice, and checks that each is sent once.
async fn check_sent_once(client: &Client, server: &DevServer) {
    let source = ListWatch::<ConfigMap>::namespaced(client.clone(), "default");
    for code in CODES {
        let failing = server.faults().inject(Fault::answer(code).times(2));
        let error = source.list(&ListOptions::default(), &mut |_| {}).await.unwrap_err();
        assert_eq!(error.as_status().unwrap().code, code, "{error}");
        assert_eq!(failing.hits(), 1, "{code}: a list is sent once");
        failing.withdraw();

        let failing = server.faults().inject(Fault::answer(code).times(2));
        let error = source.watch(&WatchOptions::default()).await.unwrap_err();
        assert_eq!(error.as_status().unwrap().code, code, "{error}");
        assert_eq!(failing.hits(), 1, "{code}: a watch is sent once");
        failing.withdraw();

        let failing = server.faults().inject(Fault::answer(code).times(2));
        let request = document::Request::new("/api/v1/namespaces/default/configmaps/a");
        let error = request.get::<ConfigMap>(client).await.unwrap_err();
        assert!(matches!(error, kube::Error::Api(status) if status.code == code));
        assert_eq!(failing.hits(), 1, "{code}: a document is requested once");
        failing.withdraw();
    }
}

/// Checks that the client retries requests of kube itself: otherwise the tests above would check nothing.
async fn check_retries_other_requests(client: &Client, server: &DevServer) {
    let failing = server.faults().inject(Fault::answer(503).times(2));
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    maps.list(&Default::default()).await.unwrap();
    assert_eq!(failing.hits(), 2);
}

// A13
#[tokio::test]
async fn requests_through_a_default_client_are_sent_once() {
    let server = DevServer::builder().listen("127.0.0.1:0").start().await.unwrap();
    let client = default_client(&server);
    check_sent_once(&client, &server).await;
    check_retries_other_requests(&client, &server).await;
    server.stop().await;
}

/// Counts requests and forwards them to a client.
#[derive(Clone)]
struct Counted {
    client: Client,
    requests: Arc<AtomicU64>,
}

impl Service<Request<Body>> for Counted {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<Body>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        self.requests.fetch_add(1, Ordering::SeqCst);
        let client = self.client.clone();
        Box::pin(async move { Ok(client.send(request).await?) })
    }
}

// A13
#[tokio::test(start_paused = true)]
async fn requests_through_kubes_retry_layer_are_sent_once() {
    for policy in [RetryPolicy::default(), RetryPolicy::server_retry()] {
        let server = DevServer::start();
        let requests = Arc::new(AtomicU64::new(0));
        let counted = Counted { client: server.client(), requests: Arc::clone(&requests) };
        let client = Client::new(Retry::new(policy, counted), "default");
        check_sent_once(&client, &server).await;
        assert_eq!(requests.load(Ordering::SeqCst), 3 * CODES.len() as u64);
        check_retries_other_requests(&client, &server).await;
        server.stop().await;
    }
}

// A13
#[tokio::test]
async fn an_informer_with_a_default_client_reports_each_failure() {
    let server = DevServer::builder().listen("127.0.0.1:0").start().await.unwrap();
    let failing = server.faults().inject(Fault::answer(503).of("configmaps").times(2));
    let mut config = kube_informer::reflector::Config::default();
    config.strategy = Strategy::List;
    config.backoff.initial = Duration::from_millis(1);
    let informer = Informer::<ConfigMap>::builder(default_client(&server)).config(config).start().unwrap();
    informer.synced().await.unwrap();
    assert_eq!((failing.hits(), informer.status().counts.errors), (2, 2));
    informer.stop();
    informer.stopped().await;
    server.stop().await;
}
