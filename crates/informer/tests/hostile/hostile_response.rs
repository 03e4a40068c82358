//! Responses of a malicious server.

use bytes::Bytes;
use std::{io, time::Duration};
use tokio::{io::AsyncWriteExt, net::TcpStream, time::timeout};

/// A malicious response.
#[derive(Clone, Debug)]
pub(crate) struct HostileResponse {
    head: String,
    /// Clones share it.
    body: Bytes,
    /// Repeated after the body until the client closes the connection.
    repeated: Vec<u8>,
}

/// The maximum number of repeated bytes sent. A client that reads more has no limit.
const MAX_SENT: usize = 512 << 20;
/// The time after which a client that does not read is considered gone.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);

impl HostileResponse {
    /// Creates a JSON body with valid headers.
    pub(crate) fn json(body: impl Into<Vec<u8>>) -> Self {
        Self::of("application/json", body)
    }

    /// Creates a protobuf body with valid headers.
    pub(crate) fn protobuf(body: impl Into<Vec<u8>>) -> Self {
        Self::of("application/vnd.kubernetes.protobuf", body)
    }

    fn of(media: &str, body: impl Into<Vec<u8>>) -> Self {
        Self::raw(format!("HTTP/1.1 200 OK\r\ncontent-type: {media}\r\n\r\n"), body)
    }

    /// Creates a response of arbitrary bytes.
    pub(crate) fn raw(head: impl Into<String>, body: impl Into<Vec<u8>>) -> Self {
        let body: Vec<u8> = body.into();
        Self { head: head.into(), body: body.into(), repeated: Vec::new() }
    }

    /// Replaces the status `200 OK`.
    pub(crate) fn with_status(mut self, status: &str) -> Self {
        self.head = self.head.replace("200 OK", status);
        self
    }

    /// Repeats `part` after the body, until the client closes the connection.
    pub(crate) fn then_forever(mut self, part: &str) -> Self {
        self.repeated = part.repeat((64 << 10) / part.len()).into_bytes();
        self
    }

    /// Sends each byte of the body as a separate chunk.
    pub(crate) fn in_single_bytes(mut self) -> Self {
        self.head = self.head.replace("\r\n\r\n", "\r\ntransfer-encoding: chunked\r\n\r\n");
        let chunks = self.body.iter().flat_map(|byte| [&b"1\r\n"[..], &[*byte], b"\r\n"].concat());
        self.body = chunks.chain(*b"0\r\n\r\n").collect();
        self
    }

    /// Sends the response and closes the connection.
    pub(crate) async fn send(&self, stream: &mut TcpStream) -> io::Result<()> {
        stream.write_all(self.head.as_bytes()).await?;
        stream.write_all(&self.body).await?;
        let mut sent = 0;
        while !self.repeated.is_empty() && sent < MAX_SENT {
            timeout(STALL_TIMEOUT, stream.write_all(&self.repeated)).await??;
            sent += self.repeated.len();
        }
        stream.shutdown().await
    }
}
