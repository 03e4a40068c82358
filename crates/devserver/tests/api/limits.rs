//! Requests that exceed a limit get an error, and other clients are not affected.

use crate::probe::MAPS;
use kube_devserver::DevServer;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

async fn open() -> DevServer {
    DevServer::builder().listen("127.0.0.1:0").start().await.unwrap()
}

/// Sends these bytes, and returns the response until the connection ends or 100 bytes were read.
async fn response(server: &DevServer, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(server.address().unwrap()).await.unwrap();
    let (mut reading, mut writing) = stream.split();
    let mut response = Vec::new();
    // The server can close the connection before it has read all bytes.
    let write = async { writing.write_all(bytes).await };
    let read = async {
        let mut room = [0; 4096];
        while let Ok(count @ 1..) = reading.read(&mut room).await {
            response.extend_from_slice(&room[..count]);
            if response.len() > 100 {
                break;
            }
        }
    };
    let _ = tokio::join!(write, read);
    String::from_utf8_lossy(&response).into_owned()
}

async fn is_healthy(server: &DevServer) -> bool {
    response(server, b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await.starts_with("HTTP/1.1 200")
}

fn post(body: &str, length: usize) -> Vec<u8> {
    let head = format!(
        "POST {MAPS} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}"
    );
    format!("{head}\r\n\r\n{body}").into_bytes()
}

#[tokio::test]
async fn requests_that_are_too_large_are_refused() {
    let server = open().await;
    let many = (0..500).map(|number| format!("x{number}: y\r\n")).collect::<String>();
    let deep = format!("{{\"metadata\":{{\"name\":\"a\"}},\"data\":{}", "{\"a\":".repeat(5000));
    for (name, request, code) in [
        ("a header", format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(200_000)).into_bytes(), "4"),
        ("headers", format!("GET / HTTP/1.1\r\n{many}\r\n").into_bytes(), "4"),
        (
            "a path",
            format!("GET /{} HTTP/1.1\r\nhost: localhost\r\n\r\n", "a/".repeat(60_000)).into_bytes(),
            "4",
        ),
        ("a body that is announced", post("{}", 1 << 40), "413"),
        ("a body", post(&"x".repeat(4 << 20), 4 << 20), "413"),
        ("a deep body", post(&deep, deep.len()), "400"),
        (
            "a selector",
            format!("GET {MAPS}?labelSelector={} HTTP/1.1\r\nhost: localhost\r\n\r\n", "a,".repeat(20_000))
                .into_bytes(),
            "400",
        ),
        (
            "bad escapes",
            format!("GET {MAPS}/%ff%00%zz%?labelSelector=%ff HTTP/1.1\r\nhost: localhost\r\n\r\n")
                .into_bytes(),
            "4",
        ),
    ] {
        let answer = response(&server, &request).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {code}")), "{name}: {answer}");
        assert!(is_healthy(&server).await, "{name}");
    }
}

#[tokio::test]
async fn a_body_without_end_is_refused() {
    let server = open().await;
    let mut stream = TcpStream::connect(server.address().unwrap()).await.unwrap();
    let head = format!(
        "POST {MAPS} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let (mut reading, mut writing) = stream.split();
    let chunk = [b"10000\r\n".to_vec(), vec![b' '; 1 << 16], b"\r\n".to_vec()].concat();
    // The size is far above the limit, so that the server closes the connection at some time.
    let write = async {
        for _ in 0..4000 {
            if writing.write_all(&chunk).await.is_err() {
                return "ended";
            }
        }
        "accepted"
    };
    let read = async {
        let mut response = Vec::new();
        // If the connection is reset during a write, the response can be lost.
        let _ = reading.read_to_end(&mut response).await;
        response
    };
    let (written, response) = tokio::join!(write, read);
    assert_eq!(written, "ended");
    assert!(
        response.is_empty() || response.starts_with(b"HTTP/1.1 413"),
        "{}",
        String::from_utf8_lossy(&response)
    );
    assert!(is_healthy(&server).await);
}

#[tokio::test]
async fn idle_connections_do_not_block_others() {
    let server = open().await;
    let address = server.address().unwrap();
    let mut idle = Vec::new();
    for number in 0..300 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        // Some connections send nothing, and others an incomplete request.
        if number % 2 == 0 {
            stream.write_all(b"GET /healthz HT").await.unwrap();
        }
        idle.push(stream);
    }
    assert!(is_healthy(&server).await);
    drop(idle);
    assert!(is_healthy(&server).await);
}
