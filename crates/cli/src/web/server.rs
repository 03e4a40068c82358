//! Serves the page and its API over HTTP.

use super::{
    access::{Access, Refused},
    api::{ApiError, answer, status_json},
    export, page,
    query::{MAX_QUERY, Query},
    source::ChangeSource,
    stream::{LastEvent, Streams, events},
};
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use http::{
    HeaderValue, Method, Request, Response, StatusCode,
    header::{self, HeaderName},
    request::Parts,
};
use http_body_util::{BodyExt, Full, Limited, StreamBody, combinators::UnsyncBoxBody};
use hyper::{
    body::{Body, Frame},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{Value, json};
use std::{convert::Infallible, error::Error, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    sync::Semaphore,
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;

/// The maximum number of connections; a page has about three.
const MAX_CONNECTIONS: usize = 512;
/// The maximum number of queries that run at the same time.
const MAX_QUERIES: usize = 4;
/// The time for the headers of a request, and for TLS.
const HEADERS: Duration = Duration::from_secs(10);
/// The time for the body of a request.
const BODY: Duration = Duration::from_secs(5);
/// The maximum size of the headers, and of the body of a request.
const MAX_HEADERS: usize = 32 << 10;
const MAX_BODY: usize = 4 << 10;
/// The time to wait if no connection can be accepted.
const RETRY: Duration = Duration::from_millis(50);

/// Only files of this server are loaded, and no script of a document runs.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
    base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// The headers of every response.
const HEADERS_OF_RESPONSES: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

type ResponseBody = UnsyncBoxBody<Bytes, Infallible>;

/// The page of one source.
#[derive(Clone, Debug)]
pub(super) struct Site {
    pub(super) source: Arc<dyn ChangeSource>,
    pub(super) access: Arc<Access>,
    pub(super) streams: Streams,
    queries: Arc<Semaphore>,
}

impl Site {
    pub(super) fn new(source: Arc<dyn ChangeSource>, access: Access) -> Self {
        let queries = Arc::new(Semaphore::new(MAX_QUERIES));
        Self { source, access: Arc::new(access), streams: Streams::default(), queries }
    }

    /// Accepts connections until this is dropped.
    pub(super) async fn listen(self, listener: TcpListener, tls: Option<TlsAcceptor>) {
        let limit = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let mut connections = JoinSet::new();
        loop {
            let Ok(permit) = Arc::clone(&limit).acquire_owned().await else { return };
            let stream = tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => stream,
                    Err(_) => {
                        tokio::time::sleep(RETRY).await;
                        continue;
                    }
                },
                Some(_) = connections.join_next() => continue,
            };
            // Events are small, and wanted at once. Without this option they only arrive later.
            let _ = stream.set_nodelay(true);
            let (site, tls) = (self.clone(), tls.clone());
            connections.spawn(async move {
                match tls {
                    None => site.serve(stream).await,
                    Some(tls) => {
                        if let Ok(Ok(stream)) = tokio::time::timeout(HEADERS, tls.accept(stream)).await {
                            site.serve(stream).await;
                        }
                    }
                }
                drop(permit);
            });
        }
    }

    /// Serves one connection, until it is closed or its client stops reading.
    pub(super) async fn serve(self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        let last_event = LastEvent::default();
        let of_connection = last_event.clone();
        let service = service_fn(move |request: Request<hyper::body::Incoming>| {
            let (site, last_event) = (self.clone(), of_connection.clone());
            async move { Ok::<_, Infallible>(site.respond(request, last_event).await) }
        });
        let mut server = http1::Builder::new();
        server.timer(TokioTimer::new()).header_read_timeout(HEADERS).max_buf_size(MAX_HEADERS);
        let connection = server.serve_connection(TokioIo::new(stream), service);
        tokio::select! {
            // A connection that ends early is the business of its client.
            _ = connection => {}
            () = last_event.stalled() => {}
        }
    }

    async fn respond<B>(&self, request: Request<B>, last_event: LastEvent) -> Response<ResponseBody>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let (parts, body) = request.into_parts();
        let mut response = match self.access.check_site(&parts) {
            Err(refused) => refuse(&refused),
            Ok(()) => match parts.uri.path().strip_prefix("/api/v1/") {
                Some("login") => self.login(&parts, body).await,
                Some(resource) => self.resource(&parts, resource, last_event).await,
                None => get_file(&parts),
            },
        };
        for (name, value) in HEADERS_OF_RESPONSES {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }

    async fn login<B>(&self, parts: &Parts, body: B) -> Response<ResponseBody>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let media = parts.headers.get(header::CONTENT_TYPE).and_then(|media| media.to_str().ok());
        // A form of another site cannot send JSON.
        if parts.method != Method::POST || media != Some("application/json") {
            return failed(415, "login is a POST with the Content-Type application/json");
        }
        let read = tokio::time::timeout(BODY, Limited::new(body, MAX_BODY).collect()).await;
        let Ok(Ok(body)) = read else { return failed(400, "the body is too large, too slow or incomplete") };
        let body: Value = serde_json::from_slice(&body.to_bytes()).unwrap_or_default();
        let token = body.get("token").and_then(Value::as_str).unwrap_or_default();
        match self.access.login(token) {
            Ok(cookie) => with_cookie(&cookie),
            Err(refused) => refuse(&refused),
        }
    }

    async fn resource(&self, parts: &Parts, resource: &str, last_event: LastEvent) -> Response<ResponseBody> {
        if resource == "logout" && parts.method == Method::POST {
            return with_cookie(&self.access.logout(&parts.headers));
        }
        if parts.method != Method::GET {
            return failed(405, "only GET is supported");
        }
        if let Err(refused) = self.access.check_session(&parts.headers) {
            return refuse(&refused);
        }
        let query = parts.uri.query().unwrap_or_default();
        if query.len() > MAX_QUERY {
            return failed(414, "the query string is too long");
        }
        match resource {
            "stream" => {
                let events = events(Arc::clone(&self.source), self.streams.clone(), last_event);
                streamed("text/event-stream", events)
            }
            "export" => self.export(query),
            _ => self.query(resource, query).await,
        }
    }

    async fn query(&self, resource: &str, query: &str) -> Response<ResponseBody> {
        let Ok(permit) = Arc::clone(&self.queries).acquire_owned().await else {
            return failed(503, "the server is stopping");
        };
        let (source, streams) = (Arc::clone(&self.source), self.streams.count());
        let (resource, query) = (resource.to_owned(), query.to_owned());
        let has_token = self.access.has_token();
        let answered = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            match resource.as_str() {
                "status" => {
                    let mut status = status_json(&*source, streams);
                    status["login"] = json!(has_token);
                    Ok(status)
                }
                _ => answer(&*source, &resource, &query),
            }
        });
        match answered.await {
            Ok(Ok(value)) => respond(StatusCode::OK, "application/json", value.to_string()),
            Ok(Err(ApiError { code, message })) => failed(code, &message),
            Err(_) => failed(500, "the query failed"),
        }
    }

    fn export(&self, query: &str) -> Response<ResponseBody> {
        let query = Query::parse(query);
        let selected = query.range().and_then(|range| Ok((query.filter(&*self.source)?, range)));
        let (filter, range) = match selected {
            Ok(selected) => selected,
            Err(error) => return failed(400, &error.0),
        };
        let lines = export::lines(Arc::clone(&self.source), filter, range);
        let mut response = streamed("application/x-ndjson", lines);
        let name = HeaderValue::from_static("attachment; filename=\"changes.jsonl\"");
        response.headers_mut().insert(header::CONTENT_DISPOSITION, name);
        response
    }
}

fn get_file(parts: &Parts) -> Response<ResponseBody> {
    match page::file(parts.uri.path()) {
        Some(_) if parts.method != Method::GET && parts.method != Method::HEAD => {
            failed(405, "only GET is supported")
        }
        Some(file) => respond(StatusCode::OK, file.media, file.contents),
        None => failed(404, "no such page"),
    }
}

fn refuse(refused: &Refused) -> Response<ResponseBody> {
    match refused {
        Refused::Forbidden(message) => failed(403, message),
        Refused::NoSession => failed(401, "log in first"),
        Refused::WrongToken => failed(403, "the token is not correct"),
        Refused::TooManyAttempts => failed(429, "too many attempts; try again in a minute"),
        Refused::NoRandomness => failed(500, "the random numbers of the system cannot be read"),
    }
}

fn failed(code: u16, message: &str) -> Response<ResponseBody> {
    let code = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    respond(code, "application/json", json!({"error": message}).to_string())
}

fn with_cookie(cookie: &str) -> Response<ResponseBody> {
    let mut response = respond(StatusCode::OK, "application/json", "{}");
    match HeaderValue::from_str(cookie) {
        Ok(cookie) => response.headers_mut().insert(header::SET_COOKIE, cookie),
        Err(_) => return failed(500, "invalid cookie"),
    };
    response
}

fn respond(code: StatusCode, media: &'static str, body: impl Into<Bytes>) -> Response<ResponseBody> {
    with_body(code, media, Full::new(body.into()).boxed_unsync())
}

fn streamed(
    media: &'static str,
    chunks: impl Stream<Item = Bytes> + Send + 'static,
) -> Response<ResponseBody> {
    let frames = chunks.map(|chunk| Ok::<_, Infallible>(Frame::data(chunk)));
    with_body(StatusCode::OK, media, BodyExt::boxed_unsync(StreamBody::new(frames)))
}

fn with_body(code: StatusCode, media: &'static str, body: ResponseBody) -> Response<ResponseBody> {
    let mut response = Response::new(body);
    *response.status_mut() = code;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    response
}
