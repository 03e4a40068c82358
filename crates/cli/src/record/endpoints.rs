//! Serves /healthz, /readyz and /metrics of a recording.

use super::status::{metrics, problem};
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::{body::Bytes, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use jiff::Timestamp;
use kube_informer::history::RecordingStatus;
use std::{convert::Infallible, future::ready, sync::Arc, time::Duration};
use tokio::{
    net::TcpListener,
    sync::{Semaphore, watch},
    task::JoinSet,
};

/// The maximum number of connections at a time.
const MAX_CONNECTIONS: usize = 64;
/// The maximum time of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Serves the endpoints until it is dropped.
pub(super) async fn serve(listener: TcpListener, status: watch::Receiver<RecordingStatus>) -> Infallible {
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let permit = Arc::clone(&permits).acquire_owned().await.expect("the semaphore is never closed");
        let Ok((socket, _)) = listener.accept().await else {
            // Too many open files, for example.
            tokio::time::sleep(Duration::from_secs(1)).await;
            continue;
        };
        let status = status.clone();
        connections.spawn(async move {
            let _permit = permit;
            let service =
                service_fn(|request| ready(Ok::<_, Infallible>(respond(&request, &status.borrow()))));
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(REQUEST_TIMEOUT)
                .keep_alive(false)
                .serve_connection(TokioIo::new(socket), service);
            // A client that disconnects does not affect this process.
            let _ = tokio::time::timeout(REQUEST_TIMEOUT, connection).await;
        });
    }
}

fn respond<B>(request: &Request<B>, status: &RecordingStatus) -> Response<Full<Bytes>> {
    let now = Timestamp::now();
    let ok = |text: String| (StatusCode::OK, text);
    let unavailable = |text: String| (StatusCode::SERVICE_UNAVAILABLE, text);
    let (code, text) = match (request.method(), request.uri().path()) {
        (&Method::GET | &Method::HEAD, "/healthz") => {
            problem(status, now).map_or_else(|| ok("ok\n".to_owned()), |why| unavailable(format!("{why}\n")))
        }
        (&Method::GET | &Method::HEAD, "/readyz") if status.flushed.is_none() || status.unlisted > 0 => {
            unavailable(format!("{} lists have not been received yet\n", status.unlisted))
        }
        (&Method::GET | &Method::HEAD, "/readyz") => ok("ok\n".to_owned()),
        (&Method::GET | &Method::HEAD, "/metrics") => ok(metrics(status, now)),
        (&Method::GET | &Method::HEAD, _) => {
            (StatusCode::NOT_FOUND, "not found: expected /healthz, /readyz or /metrics\n".to_owned())
        }
        _ => (StatusCode::METHOD_NOT_ALLOWED, "only GET is allowed\n".to_owned()),
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = code;
    let text = header::HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, text);
    response
}
