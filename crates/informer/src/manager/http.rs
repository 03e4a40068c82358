//! A small HTTP server for probes and metrics.

use super::{health::Health, prometheus::PrometheusRecorder};
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::{body::Bytes, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use kube_informer_wire::Key;
use std::{convert::Infallible, sync::Arc, time::Duration};
use tokio::{net::TcpListener, sync::Semaphore, task::JoinSet};

/// The maximum number of connections at the same time, and the time for a request.
const MAX_CONNECTIONS: usize = 64;
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

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

struct Answer {
    status: StatusCode,
    text: String,
}

impl Answer {
    fn ok(text: String) -> Self {
        Self { status: StatusCode::OK, text }
    }

    fn not_found() -> Self {
        Self { status: StatusCode::NOT_FOUND, text: "not found\n".to_owned() }
    }
}

impl Endpoints {
    fn answer(&self, path: &str) -> Answer {
        let check = |report: super::health::Report| Answer {
            status: if report.is_ok { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE },
            text: report.text,
        };
        match path {
            "/healthz" | "/livez" => check(self.health.live()),
            "/readyz" => check(self.health.ready()),
            "/metrics" => {
                self.metrics.as_ref().map_or_else(Answer::not_found, |metrics| Answer::ok(metrics.render()))
            }
            "/debug/controllers" if self.debug == DebugEndpoint::On => Answer::ok(self.health.controllers()),
            path if self.debug == DebugEndpoint::On => self.explain(path).unwrap_or_else(Answer::not_found),
            _ => Answer::not_found(),
        }
    }

    /// Serves `/debug/controllers/NAME/NAMESPACE/OBJECT`, or without a namespace for cluster-scoped objects.
    fn explain(&self, path: &str) -> Option<Answer> {
        let (controller, key) = path.strip_prefix("/debug/controllers/")?.split_once('/')?;
        let key: Key = key.parse().ok()?;
        let text = self.health.explain(controller, &key)?;
        Some(Answer::ok(text))
    }

    fn respond<B>(&self, request: &Request<B>) -> Response<Full<Bytes>> {
        let answer = match *request.method() {
            Method::GET | Method::HEAD => self.answer(request.uri().path()),
            _ => Answer { status: StatusCode::METHOD_NOT_ALLOWED, text: "only GET is allowed\n".to_owned() },
        };
        let mut response = Response::new(Full::new(Bytes::from(answer.text)));
        *response.status_mut() = answer.status;
        let text = header::HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
        response.headers_mut().insert(header::CONTENT_TYPE, text);
        response
    }
}

/// Serves the endpoints until it is dropped.
pub(super) async fn serve(listener: TcpListener, endpoints: Endpoints) -> Infallible {
    let endpoints = Arc::new(endpoints);
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
        let endpoints = Arc::clone(&endpoints);
        connections.spawn(async move {
            let _permit = permit;
            let service =
                service_fn(|request| std::future::ready(Ok::<_, Infallible>(endpoints.respond(&request))));
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
