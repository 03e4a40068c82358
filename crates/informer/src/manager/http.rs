//! A small HTTP server for probes and metrics.

use super::{health::Health, prometheus::PrometheusRecorder};
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::{
    body::{Bytes, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use kube_informer_wire::Key;
use std::{convert::Infallible, sync::Arc, time::Duration};
use tokio::{net::TcpListener, sync::Semaphore, task::JoinSet};

/// The maximum number of connections at the same time, and the time for a request.
const MAX_CONNECTIONS: usize = 64;
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

const ONLY_GET: &str = "only GET is allowed\n";

/// The contents of the server.
#[derive(Clone)]
pub(super) struct Endpoints {
    pub(super) health: Health,
    pub(super) metrics: Option<PrometheusRecorder>,
    pub(super) debug: DebugEndpoint,
}

/// Whether `/debug/controllers` is served, which contains keys and errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DebugEndpoint {
    Off,
    On,
}

/// The response to a request for a path, as plain text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextResponse {
    /// The status code.
    pub status: StatusCode,
    /// The body, which should end with a line feed.
    pub text: String,
}

impl TextResponse {
    /// Returns a response with the status 200.
    #[must_use]
    pub fn ok(text: impl Into<String>) -> Self {
        Self { status: StatusCode::OK, text: text.into() }
    }

    /// Returns a response with the status 404.
    #[must_use]
    pub fn not_found() -> Self {
        Self { status: StatusCode::NOT_FOUND, text: "not found\n".to_owned() }
    }

    /// Returns a response with the status 503, for a probe that fails.
    #[must_use]
    pub fn unavailable(text: impl Into<String>) -> Self {
        Self { status: StatusCode::SERVICE_UNAVAILABLE, text: text.into() }
    }

    fn into_response(self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(Bytes::from(self.text)));
        *response.status_mut() = self.status;
        let text = header::HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
        response.headers_mut().insert(header::CONTENT_TYPE, text);
        response
    }
}

impl Endpoints {
    fn answer(&self, path: &str) -> TextResponse {
        let check = |report: super::health::Report| TextResponse {
            status: if report.is_ok { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE },
            text: report.text,
        };
        match path {
            "/healthz" | "/livez" => check(self.health.live()),
            "/readyz" => check(self.health.ready()),
            "/metrics" => self
                .metrics
                .as_ref()
                .map_or_else(TextResponse::not_found, |metrics| TextResponse::ok(metrics.render())),
            "/debug/controllers" if self.debug == DebugEndpoint::On => {
                TextResponse::ok(self.health.controllers())
            }
            path if self.debug == DebugEndpoint::On => {
                self.explain(path).unwrap_or_else(TextResponse::not_found)
            }
            _ => TextResponse::not_found(),
        }
    }

    /// Serves `/debug/controllers/NAME/NAMESPACE/OBJECT`, or without a namespace for cluster-scoped objects.
    fn explain(&self, path: &str) -> Option<TextResponse> {
        let (controller, key) = path.strip_prefix("/debug/controllers/")?.split_once('/')?;
        let key: Key = key.parse().ok()?;
        let text = self.health.explain(controller, &key)?;
        Some(TextResponse::ok(text))
    }
}

/// Serves the endpoints until it is dropped.
pub(super) async fn serve(listener: TcpListener, endpoints: Endpoints) -> Infallible {
    serve_text(listener, move |path| endpoints.answer(path)).await
}

/// Serves probes and metrics over HTTP/1 until it is dropped, for programs without a [`Manager`](super::Manager). `respond` gets the
/// path of each GET or HEAD request.
///
/// At most 64 connections are served at a time, and each for at most 10 seconds.
pub async fn serve_text(
    listener: TcpListener,
    respond: impl Fn(&str) -> TextResponse + Send + Sync + 'static,
) -> Infallible {
    let respond = Arc::new(respond);
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else {
            unreachable!("the semaphore is never closed");
        };
        let socket = match listener.accept().await {
            Ok((socket, _)) => socket,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_secs(1)).await;
                continue;
            }
        };
        let respond = Arc::clone(&respond);
        connections.spawn(async move {
            let _permit = permit;
            let service = service_fn(|request: Request<Incoming>| {
                let response = match *request.method() {
                    Method::GET | Method::HEAD => respond(request.uri().path()),
                    _ => TextResponse { status: StatusCode::METHOD_NOT_ALLOWED, text: ONLY_GET.to_owned() },
                };
                std::future::ready(Ok::<_, Infallible>(response.into_response()))
            });
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
