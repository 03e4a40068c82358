//! Starts the server and handles HTTP requests.

use super::{
    commands,
    resource::Resource,
    response::{Query, Shared, respond},
    store::ReplayStore,
    watchers::Watchers,
};
use bytes::Bytes;
use clap::Args;
use futures_util::stream;
use http_body_util::{BodyExt, Full, StreamBody, combinators::BoxBody};
use hyper::{
    Request, Response, StatusCode,
    body::{Frame, Incoming},
    header::{ACCEPT, CONTENT_TYPE},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use kube_informer_bench_client::{
    options::{Encoding, Kind},
    session::print_line,
};
use serde_json::json;
use std::{
    convert::Infallible,
    sync::{Arc, atomic::AtomicU64},
};
use tokio::{net::TcpListener, runtime};

/// The options of the replay server.
#[derive(Args, Debug)]
pub(crate) struct ReplayOptions {
    /// The number of objects.
    #[arg(long)]
    objects: u64,
    /// The seed of the objects.
    #[arg(long, default_value = "1")]
    seed: u64,
    /// The kind of the objects.
    #[arg(long, value_enum, default_value = "pods")]
    kind: Kind,
    /// The only encoding to serve, which saves memory; both by default.
    #[arg(long, value_enum)]
    only: Option<Encoding>,
}

/// Serves until standard input is closed.
pub(crate) fn run(options: &ReplayOptions) -> Result<(), String> {
    let encodings = options.only.map_or_else(|| vec![Encoding::Json, Encoding::Protobuf], |only| vec![only]);
    let resource = Resource::new(options.kind, options.seed);
    let store = ReplayStore::new(options.objects, resource, &encodings)?;
    let shared = Arc::new(Shared { store, watchers: Watchers::default(), list_time: AtomicU64::new(0) });
    let runtime = runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    runtime.spawn(accept(listener, Arc::clone(&shared)));
    let checksum = shared.store.resource.checksum(options.objects).to_string();
    print_line(&json!({ "url": format!("http://{address}"), "checksum": checksum }));
    let outcome = commands::execute_all(&shared);
    runtime.shutdown_background();
    outcome
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        // Small events are sent immediately, as kube-apiserver does.
        _ = stream.set_nodelay(true);
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let service = service_fn(|request| {
                let response = handle(&shared, &request);
                async move { Ok::<_, Infallible>(response) }
            });
            // An error means that the client has closed the connection.
            _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

fn handle(shared: &Arc<Shared>, request: &Request<Incoming>) -> Response<BoxBody<Bytes, Infallible>> {
    if request.uri().path() != shared.store.resource.path {
        return Response::builder()
            .status(StatusCode::NOT_FOUND)
            .body(Full::default().boxed())
            .expect("an empty response is valid");
    }
    let accept = request.headers().get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let has_protobuf = shared.store.resource.schema.is_some();
    let encoding =
        if has_protobuf && accept.contains("protobuf") { Encoding::Protobuf } else { Encoding::Json };
    let query = Query::parse(request.uri().query().unwrap_or_default());
    let content_type = match (encoding, query.is_watch()) {
        (Encoding::Json, _) => "application/json",
        (Encoding::Protobuf, false) => "application/vnd.kubernetes.protobuf",
        (Encoding::Protobuf, true) => "application/vnd.kubernetes.protobuf;stream=watch",
    };
    let chunks = stream::unfold(respond(shared, query, encoding), async |mut chunks| {
        let chunk = chunks.recv().await?;
        Some((Ok::<_, Infallible>(Frame::data(chunk.into_bytes())), chunks))
    });
    Response::builder()
        .header(CONTENT_TYPE, content_type)
        .body(BodyExt::boxed(StreamBody::new(chunks)))
        .expect("the header is valid")
}
