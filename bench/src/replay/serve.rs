//! Starts the server, and answers HTTP.

use super::{
    answer::{Query, Shared, answer},
    form::Form,
    orders,
    watchers::Watchers,
    world::World,
};
use bytes::Bytes;
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
    session::say,
};
use serde_json::json;
use std::{
    convert::Infallible,
    sync::{Arc, atomic::AtomicU64},
    time::Instant,
};
use tokio::{net::TcpListener, runtime};

type Answer = Response<BoxBody<Bytes, Infallible>>;

/// Serves until standard input ends.
pub(crate) fn run(arguments: impl Iterator<Item = String>) -> Result<(), String> {
    let options = Options::parse(arguments)?;
    let began = Instant::now();
    let world = World::new(options.count, Form::new(options.kind, options.seed), &options.encodings)?;
    let shared = Arc::new(Shared { world, watchers: Watchers::default(), asked_at: AtomicU64::new(0) });
    let runtime = runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    runtime.spawn(accept(listener, Arc::clone(&shared)));
    say(&json!({
        "url": format!("http://{address}"),
        "checksum": shared.world.form.checksum(options.count).to_string(),
        "encode_seconds": began.elapsed().as_secs_f64(),
    }));
    let outcome = orders::follow(&shared);
    runtime.shutdown_background();
    outcome
}

#[derive(Debug)]
struct Options {
    count: u64,
    seed: u64,
    kind: Kind,
    encodings: Vec<Encoding>,
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            count: 10_000,
            seed: 1,
            kind: Kind::Pods,
            encodings: vec![Encoding::Json, Encoding::Protobuf],
        };
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
            let number = || value.parse().map_err(|_| format!("{name} needs a number, not `{value}`"));
            match (name.as_str(), value.as_str()) {
                ("--n", _) => options.count = number()?,
                ("--seed", _) => options.seed = number()?,
                ("--kind", "pods") => options.kind = Kind::Pods,
                ("--kind", "widgets") => options.kind = Kind::Widgets,
                ("--only", "json") => options.encodings = vec![Encoding::Json],
                ("--only", "protobuf") => options.encodings = vec![Encoding::Protobuf],
                _ => return Err(format!("`{name} {value}` is not understood")),
            }
        }
        Ok(options)
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        // Small events go out at once, as a real server sends them.
        _ = stream.set_nodelay(true);
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let service = service_fn(|request| {
                let answer = respond(&shared, &request);
                async move { Ok::<_, Infallible>(answer) }
            });
            // A client that goes away in the middle is nothing to speak of.
            _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

fn respond(shared: &Arc<Shared>, request: &Request<Incoming>) -> Answer {
    if request.uri().path() != shared.world.form.path {
        return Response::builder()
            .status(StatusCode::NOT_FOUND)
            .body(Full::default().boxed())
            .expect("nothing is wrong with an empty answer");
    }
    let accept = request.headers().get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let has_protobuf = shared.world.form.schema.is_some();
    let encoding =
        if has_protobuf && accept.contains("protobuf") { Encoding::Protobuf } else { Encoding::Json };
    let query = Query::parse(request.uri().query().unwrap_or_default());
    let content_type = content_type(encoding, query.is_watch());
    let chunks = stream::unfold(answer(shared, query, encoding), async |mut chunks| {
        let chunk = chunks.recv().await?;
        Some((Ok::<_, Infallible>(Frame::data(chunk.into_bytes())), chunks))
    });
    Response::builder()
        .header(CONTENT_TYPE, content_type)
        .body(BodyExt::boxed(StreamBody::new(chunks)))
        .expect("the header is well formed")
}

fn content_type(encoding: Encoding, is_watch: bool) -> &'static str {
    match (encoding, is_watch) {
        (Encoding::Json, _) => "application/json",
        (Encoding::Protobuf, false) => "application/vnd.kubernetes.protobuf",
        (Encoding::Protobuf, true) => "application/vnd.kubernetes.protobuf;stream=watch",
    }
}
