//! Serves connections from a socket.

use crate::http::{
    body::Body,
    dispatch::respond,
    front::{Front, Token},
    tls::Tls,
};
use crate::verb::{Answer, Broken, Refusal};
use http::header::AUTHORIZATION;
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use std::{sync::Arc, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
};

/// How long a client may take to say what it wants, and to agree on keys.
const PATIENCE: Duration = Duration::from_secs(30);
/// The most that a connection buffers, and so the largest header.
const BUFFER: usize = 64 * 1024;
/// How long to wait when no more connections can be taken.
const BREATH: Duration = Duration::from_millis(50);

/// What a socket serves, and how.
#[derive(Clone, Debug)]
pub(crate) struct Door {
    pub(crate) front: Arc<Front>,
    pub(crate) tls: Option<Tls>,
    pub(crate) token: Option<Token>,
}

/// Serves connections until `stop` changes or is gone; then none is left.
pub(crate) async fn listen(listener: TcpListener, door: Door, mut stop: watch::Receiver<()>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            _ = stop.changed() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) if !door.front.is_away() => {
                    connections.spawn(welcome(stream, door.clone()));
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%error, "cannot take a connection");
                    tokio::time::sleep(BREATH).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
    connections.shutdown().await;
}

async fn welcome(stream: TcpStream, door: Door) {
    // Events are small and wanted at once.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot turn Nagle's algorithm off");
    }
    match door.tls.clone() {
        None => serve(stream, door).await,
        Some(tls) => match tokio::time::timeout(PATIENCE, tls.acceptor.accept(stream)).await {
            Ok(Ok(stream)) => serve(stream, door).await,
            Ok(Err(error)) => tracing::debug!(%error, "no TLS with a client"),
            Err(_) => tracing::debug!("a client took too long for TLS"),
        },
    }
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, door: Door) {
    let mut server = auto::Builder::new(TokioExecutor::new());
    server.http1().timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_buf_size(BUFFER);
    server
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(1000)
        .max_header_list_size(BUFFER as u32)
        .max_send_buf_size(BUFFER);
    let door = Arc::new(door);
    let service = service_fn(move |request| answer(Arc::clone(&door), request));
    if let Err(error) = server.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(error, "a connection ended early");
    }
}

async fn answer(door: Arc<Door>, request: http::Request<Incoming>) -> Result<http::Response<Body>, Broken> {
    if door.front.is_away() {
        return Err(Broken);
    }
    let said = request.headers().get(AUTHORIZATION).map(|value| value.as_bytes());
    let is_open = matches!(request.uri().path(), "/healthz" | "/livez" | "/readyz");
    match door.token.as_ref().filter(|_| !is_open).map_or(Ok(()), |token| token.check(said)) {
        Ok(()) => Ok(respond(&door.front, request).await),
        Err(refusal) => Ok(refused(refusal)),
    }
}

fn refused(refusal: Refusal) -> http::Response<Body> {
    let Answer { code, body, .. } = refusal.into();
    let mut response = http::Response::new(Body::new(body, None));
    *response.status_mut() = http::StatusCode::from_u16(code).unwrap_or(http::StatusCode::UNAUTHORIZED);
    let json = http::HeaderValue::from_static("application/json");
    response.headers_mut().insert(http::header::CONTENT_TYPE, json);
    response
}
