//! The server accepts connections on sockets, with TLS and tokens.

use crate::probe::{MAPS, named};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::{
    body::Incoming,
    client::conn::{http1, http2},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use kube_devserver::{DevServer, Fault, StartError};
use std::sync::Arc;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, RootCertStore,
        crypto::ring,
        pki_types::{CertificateDer, ServerName, pem::PemObject},
    },
};

async fn open() -> DevServer {
    DevServer::builder().listen("127.0.0.1:0").start().await.unwrap()
}

async fn connect(server: &DevServer) -> TcpStream {
    TcpStream::connect(server.address().unwrap()).await.unwrap()
}

fn request(path: &str, body: &str) -> Request<Full<Bytes>> {
    let method = if body.is_empty() { "GET" } else { "POST" };
    let uri = format!("http://localhost{path}");
    let request = Request::builder().method(method).uri(uri).header("content-type", "application/json");
    request.body(Full::from(body.to_owned())).unwrap()
}

async fn ask_http1(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
) -> Response<Incoming> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    sender.send_request(request).await.unwrap()
}

async fn text(response: Response<Incoming>) -> (u16, String) {
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (code, String::from_utf8(bytes.to_vec()).unwrap())
}

#[tokio::test]
async fn http1_carries_requests_and_watches() {
    let server = open().await;
    let (code, _) =
        text(ask_http1(connect(&server).await, request(MAPS, &named("a").to_string())).await).await;
    assert_eq!(code, 201);
    let mut watch =
        ask_http1(connect(&server).await, request(&format!("{MAPS}?watch=1"), "")).await.into_body();
    let frame = watch.frame().await.unwrap().unwrap().into_data().unwrap();
    assert!(frame.starts_with(b"{\"type\":\"ADDED\""));
    server.stop().await;
    assert!(watch.frame().await.unwrap().is_err());
}

#[tokio::test]
async fn http2_carries_many_watches_on_one_connection() {
    let server = open().await;
    let io = TokioIo::new(connect(&server).await);
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    let mut watches = Vec::new();
    for _ in 0..300 {
        let response = sender.send_request(request(&format!("{MAPS}?watch=1"), "")).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        watches.push(response.into_body());
    }
    sender.send_request(request(MAPS, &named("a").to_string())).await.unwrap();
    for watch in &mut watches {
        let frame = watch.frame().await.unwrap().unwrap().into_data().unwrap();
        assert!(frame.starts_with(b"{\"type\":\"ADDED\""));
    }
}

#[tokio::test]
async fn tls_and_a_token_are_required() {
    let server = DevServer::builder()
        .listen("127.0.0.1:0")
        .tls(["dev.example"])
        .token("secret")
        .start()
        .await
        .unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(server.certificate().unwrap().as_bytes()).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = TlsConnector::from(Arc::new(config));
    for (token, code) in [("Bearer secret", 200), ("Bearer wrong", 401), ("", 401)] {
        let name = ServerName::try_from("dev.example").unwrap();
        let stream = connector.connect(name, connect(&server).await).await.unwrap();
        let mut ask = request("/version", "");
        ask.headers_mut().insert("authorization", token.parse().unwrap());
        let (got, body) = text(ask_http1(stream, ask).await).await;
        assert_eq!((got, body.contains("Unauthorized")), (code, code == 401), "{token:?}");
    }
    let kubeconfig = server.kubeconfig().unwrap();
    assert!(kubeconfig.contains("secret") && kubeconfig.contains("certificate-authority-data"));
    assert!(server.url().unwrap().starts_with("https://127.0.0.1:"));
}

#[tokio::test]
async fn an_open_address_needs_tls_and_a_token() {
    let anywhere = || DevServer::builder().listen("0.0.0.0:0");
    for builder in [anywhere(), anywhere().token("x"), anywhere().tls(["x"])] {
        let error = builder.start().await.unwrap_err();
        assert!(matches!(error, StartError::Exposed { .. }));
        assert_eq!(error.to_string(), "0.0.0.0:0 is not a loopback address: that needs TLS and a token");
    }
    assert!(anywhere().tls(["x"]).token("x").start().await.is_ok());
    assert!(matches!(DevServer::builder().listen("nonsense").start().await, Err(StartError::Listen { .. })));
}

#[tokio::test]
async fn an_abruptly_cut_watch_is_an_incomplete_response() {
    let server = open().await;
    let cut = server.faults().inject(Fault::cut_after_events(1).abruptly());
    text(ask_http1(connect(&server).await, request(MAPS, &named("a").to_string())).await).await;
    let mut watch =
        ask_http1(connect(&server).await, request(&format!("{MAPS}?watch=1"), "")).await.into_body();
    assert!(watch.frame().await.unwrap().is_ok());
    assert!(watch.frame().await.unwrap().is_err());
    assert_eq!(cut.hits(), 1);
}

#[tokio::test]
async fn refused_connections_are_closed_without_a_response() {
    let server = open().await;
    let down = server.faults().inject(Fault::refuse_connections(std::time::Duration::from_secs(3600)));
    let mut stream = connect(&server).await;
    let mut said = Vec::new();
    // The operating system decides whether the connection ends or is reset.
    let _ = stream.write_all(b"GET /version HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    let _ = stream.read_to_end(&mut said).await;
    assert!(said.is_empty());
    down.hit(1).await;
    down.withdraw();
    assert_eq!(text(ask_http1(connect(&server).await, request("/version", "")).await).await.0, 200);
}

#[tokio::test]
async fn invalid_requests_close_the_connection() {
    let server = open().await;
    let long = format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(200_000));
    for bytes in [b"\x00\xff\x16\x03\x01 nonsense\r\n\r\n".as_slice(), b"GET\r\n\r\n", long.as_bytes()] {
        let mut stream = connect(&server).await;
        let mut said = Vec::new();
        let _ = stream.write_all(bytes).await;
        let _ = stream.shutdown().await;
        let _ = stream.read_to_end(&mut said).await;
        assert!(said.is_empty() || said.starts_with(b"HTTP/1.1 4"), "{}", String::from_utf8_lossy(&said));
    }
    assert_eq!(text(ask_http1(connect(&server).await, request("/healthz", "")).await).await.0, 200);
}

#[tokio::test]
async fn dropping_the_server_releases_its_address() {
    let server = open().await;
    let address = server.address().unwrap();
    let watch = ask_http1(connect(&server).await, request(&format!("{MAPS}?watch=1"), "")).await;
    drop(server);
    assert!(watch.into_body().collect().await.is_err());
    while TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
}
