//! Web pages in a browser on the same machine can neither read nor write a server without a token.

use crate::probe::{MAPS, named};
use kube_devserver::{Builder, DevServer, StartError};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

async fn start(builder: Builder) -> DevServer {
    builder.listen("127.0.0.1:0").start().await.unwrap()
}

/// Sends a request as it is, and returns the code and the body of the answer.
async fn send(server: &DevServer, head: &[&str], body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(server.address().unwrap()).await.unwrap();
    let request =
        format!("{}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", head.join("\r\n"), body.len());
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let code = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (code, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
}

async fn names(server: &DevServer) -> String {
    send(server, &[&format!("GET {MAPS} HTTP/1.1"), "host: localhost"], "").await.1
}

#[tokio::test]
async fn a_page_of_another_site_writes_nothing() {
    let server = start(DevServer::builder().control()).await;
    let (create, body) = (format!("POST {MAPS} HTTP/1.1"), named("csrf").to_string());
    let (origin, json) = ("origin: http://evil.example", "content-type: application/json");
    for (head, code) in [
        (vec![create.as_str(), "host: evil.example", origin], 403),
        (vec![&create, "host: 127.0.0.1", origin], 403),
        (vec![&create, "host: 127.0.0.1", origin, json], 403),
        (vec![&create, "host: evil.example", json], 403),
        // A page can send a body without a type, and without a preflight.
        (vec![&create, "host: 127.0.0.1", "origin: http://localhost:3000"], 415),
        (vec![&create, "host: 127.0.0.1", "sec-fetch-site: cross-site"], 415),
        (vec![&create, "host: 127.0.0.1", "content-type: text/plain"], 415),
        (vec!["POST /devserver/restart/reset HTTP/1.1", "host: 127.0.0.1", origin], 403),
        (vec!["POST /devserver/faults HTTP/1.1", "host: 127.0.0.1", "content-type: text/plain"], 415),
    ] {
        let (found, answer) = send(&server, &head, &body).await;
        assert_eq!(found, code, "{head:?}: {answer}");
        assert!(answer.contains("\"kind\":\"Status\""), "{answer}");
    }
    assert!(!names(&server).await.contains("csrf"));
    assert_eq!(send(&server, &[&create, "host: 127.0.0.1", json], &body).await.0, 201);
    assert!(names(&server).await.contains("csrf"));
    // As kubectl does.
    let untyped = send(&server, &[&create, "host: 127.0.0.1"], &named("untyped").to_string()).await;
    assert_eq!(untyped.0, 201, "{}", untyped.1);
}

#[tokio::test]
async fn a_name_that_is_rebound_to_loopback_reads_nothing() {
    let server = start(DevServer::builder().allow_host("dev.example")).await;
    let list = format!("GET {MAPS} HTTP/1.1");
    let (code, answer) = send(&server, &[&list, "host: evil.example:6443"], "").await;
    assert_eq!(code, 403);
    assert!(answer.contains("host \\\"evil.example:6443\\\" is not allowed"), "{answer}");
    for host in ["host: localhost:1", "host: 127.0.0.1", "host: [::1]:1", "host: dev.example"] {
        assert_eq!(send(&server, &[&list, host], "").await.0, 200, "{host}");
    }
    // A load balancer checks the health under any name, which shows nothing.
    assert_eq!(send(&server, &["GET /healthz HTTP/1.1", "host: any.example"], "").await.0, 200);
}

#[tokio::test]
async fn a_token_is_enough_from_any_host() {
    let server = start(DevServer::builder().token("secret")).await;
    let list = format!("GET {MAPS} HTTP/1.1");
    assert_eq!(send(&server, &[&list, "host: dev.example", "authorization: bearer secret"], "").await.0, 200);
    assert_eq!(send(&server, &[&list, "host: localhost"], "").await.0, 401);
}

#[tokio::test]
async fn an_empty_token_is_refused() {
    for token in ["", " ", "\n"] {
        let builder = DevServer::builder().listen("0.0.0.0:0").tls(["x"]).token(token);
        let error = builder.start().await.unwrap_err();
        assert!(matches!(error, StartError::EmptyToken), "{token:?}: {error}");
        assert_eq!(error.to_string(), "the token is empty");
    }
}
