//! Serves connections from a socket.

use crate::http::{
    access::{AllowedHosts, RequestBody},
    activity::{ActiveBody, Activity, FIRST_REQUEST},
    body::Body,
    dispatch::respond,
    gateway::{Gateway, Token},
    identity::authenticate,
    tls::Tls,
};
use crate::verb::{ApiResponse, ErrorResponse, StreamCut};
use http::header::AUTHORIZATION;
use http_body::Body as _;
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use std::{pin::pin, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
};

/// The timeout for the headers of a request, and for the TLS handshake.
const READ_TIMEOUT: Duration = FIRST_REQUEST;
/// The timeout for requests that arrive while a connection is closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// The size of the buffer of a connection, which limits the size of headers.
const BUFFER: usize = 64 * 1024;
/// The delay after an error of `accept`.
const ACCEPT_ERROR_DELAY: Duration = Duration::from_millis(50);

/// The settings of a socket.
#[derive(Clone, Debug)]
pub(crate) struct SocketSettings {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) tls: Option<Tls>,
    pub(crate) guard: Guard,
}

/// The check of requests on a socket.
#[derive(Clone, Debug)]
pub(crate) enum Guard {
    /// The token, from any host.
    Token(Token),
    /// An allowed host, so that a web page cannot send it.
    Hosts(AllowedHosts),
}

/// Serves connections until `stop` changes or is dropped, and closes all of them.
pub(crate) async fn listen(listener: TcpListener, settings: SocketSettings, mut stop: watch::Receiver<()>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            _ = stop.changed() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) if !settings.gateway.refuses_connections() => {
                    connections.spawn(serve_stream(stream, settings.clone()));
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_ERROR_DELAY).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
    connections.shutdown().await;
}

async fn serve_stream(stream: TcpStream, settings: SocketSettings) {
    // Small events are sent without delay.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot set TCP_NODELAY");
    }
    match settings.tls.clone() {
        None => serve(stream, settings).await,
        Some(tls) => match tokio::time::timeout(READ_TIMEOUT, tls.acceptor.accept(stream)).await {
            Ok(Ok(stream)) => serve(stream, settings).await,
            Ok(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
            Err(_) => tracing::debug!("TLS handshake timed out"),
        },
    }
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, settings: SocketSettings) {
    let mut server = auto::Builder::new(TokioExecutor::new());
    server.http1().timer(TokioTimer::new()).header_read_timeout(READ_TIMEOUT).max_buf_size(BUFFER);
    server
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(1000)
        .max_header_list_size(BUFFER as u32)
        .max_send_buf_size(BUFFER);
    let settings = Arc::new(settings);
    let activity = Activity::new();
    let requests = activity.clone();
    let service = service_fn(move |request| {
        let active = requests.begin();
        let answer = answer(Arc::clone(&settings), request);
        async move { answer.await.map(|response| response.map(|body| ActiveBody::new(body, active))) }
    });
    let mut connection = pin!(server.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = activity.idle() => {
            tracing::debug!("closing an idle connection");
            connection.as_mut().graceful_shutdown();
            tokio::time::timeout(CLOSE_TIMEOUT, connection).await.unwrap_or(Ok(()))
        }
    };
    if let Err(error) = ended {
        tracing::debug!(error, "connection ended with an error");
    }
}

async fn answer(
    settings: Arc<SocketSettings>,
    request: http::Request<Incoming>,
) -> Result<http::Response<Body>, StreamCut> {
    if settings.gateway.refuses_connections() {
        return Err(StreamCut);
    }
    let (mut parts, body) = request.into_parts();
    let is_open = matches!(parts.uri.path(), "/healthz" | "/livez" | "/readyz");
    let header = parts.headers.get(AUTHORIZATION).map(|value| value.as_bytes());
    let user = header.and_then(|header| authenticate(&settings.gateway.cluster, header));
    let checked = match &settings.guard {
        _ if is_open || user.is_some() => Ok(()),
        Guard::Token(token) => token.check(header),
        Guard::Hosts(hosts) => {
            let body = if body.is_end_stream() { RequestBody::Absent } else { RequestBody::Present };
            hosts.check(&parts, body)
        }
    };
    if let Some(user) = user {
        parts.extensions.insert(Arc::new(user));
    }
    match checked {
        Ok(()) => Ok(respond(&settings.gateway, http::Request::from_parts(parts, body)).await),
        Err(error) => Ok(error_response(error)),
    }
}

fn error_response(error: ErrorResponse) -> http::Response<Body> {
    let ApiResponse { code, body, .. } = error.into();
    let mut response = http::Response::new(Body::new(body, None));
    *response.status_mut() = http::StatusCode::from_u16(code).unwrap_or(http::StatusCode::UNAUTHORIZED);
    let json = http::HeaderValue::from_static("application/json");
    response.headers_mut().insert(http::header::CONTENT_TYPE, json);
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fault::Faults,
        http::Control,
        verb::{Cluster, Controllers},
    };
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt, duplex},
        time::Instant,
    };

    fn settings() -> SocketSettings {
        let cluster = Arc::new(Cluster::new(16, Duration::from_secs(60), Controllers::None));
        let gateway = Arc::new(Gateway::new(cluster, Faults::new(|| {}), Control::Closed));
        let hosts = AllowedHosts::new([127, 0, 0, 1].into(), [""; 0]);
        SocketSettings { gateway, tls: None, guard: Guard::Hosts(hosts) }
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_requests_nothing_is_closed() {
        const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
        for said in [&b""[..], b"PRI * HT", PREFACE, b"GET /version HT"] {
            let (mut client, server) = duplex(1 << 16);
            let began = Instant::now();
            let served = tokio::spawn(serve(server, settings()));
            client.write_all(said).await.unwrap();
            let mut answer = Vec::new();
            client.read_to_end(&mut answer).await.unwrap();
            served.await.unwrap();
            assert!(began.elapsed() <= READ_TIMEOUT + CLOSE_TIMEOUT, "{said:?} {:?}", began.elapsed());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_with_a_watch_is_not_idle() {
        let (mut client, server) = duplex(1 << 16);
        tokio::spawn(serve(server, settings()));
        let watch = b"GET /api/v1/pods?watch=1&timeoutSeconds=3000 HTTP/1.1\r\nhost: localhost\r\n\r\n";
        client.write_all(watch).await.unwrap();
        let began = Instant::now();
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).await.unwrap();
        assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
        assert!(began.elapsed() >= Duration::from_secs(3000), "{:?}", began.elapsed());
    }
}
