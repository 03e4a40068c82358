//! What a server sends that means harm.

use std::{io, time::Duration};
use tokio::{io::AsyncWriteExt, net::TcpStream, time::timeout};

/// An answer that means harm.
#[derive(Clone, Debug)]
pub(crate) struct Bait {
    head: String,
    body: Vec<u8>,
    /// What follows the body for as long as the client listens.
    endless: Vec<u8>,
}

/// Nobody is sent more than this: a client that took so much has no limit.
const ENOUGH: usize = 512 << 20;
/// How long a client may take nothing before it is taken for one that has had enough.
const STALLED: Duration = Duration::from_secs(30);

impl Bait {
    /// A body in JSON under a head that is in order.
    pub(crate) fn json(body: impl Into<Vec<u8>>) -> Self {
        Self::of("application/json", body)
    }

    /// A body in protobuf under a head that is in order.
    pub(crate) fn protobuf(body: impl Into<Vec<u8>>) -> Self {
        Self::of("application/vnd.kubernetes.protobuf", body)
    }

    fn of(media: &str, body: impl Into<Vec<u8>>) -> Self {
        Self::raw(format!("HTTP/1.1 200 OK\r\ncontent-type: {media}\r\n\r\n"), body)
    }

    /// Any bytes at all.
    pub(crate) fn raw(head: impl Into<String>, body: impl Into<Vec<u8>>) -> Self {
        Self { head: head.into(), body: body.into(), endless: Vec::new() }
    }

    /// The same, followed by this again and again.
    pub(crate) fn then_without_end(mut self, part: &str) -> Self {
        self.endless = part.repeat((64 << 10) / part.len()).into_bytes();
        self
    }

    /// Each byte of the body as a chunk of its own.
    pub(crate) fn in_single_bytes(mut self) -> Self {
        self.head = self.head.replace("\r\n\r\n", "\r\ntransfer-encoding: chunked\r\n\r\n");
        self.body = self.body.iter().flat_map(|byte| [&b"1\r\n"[..], &[*byte], b"\r\n"].concat()).collect();
        self.body.extend_from_slice(b"0\r\n\r\n");
        self
    }

    /// Sends it, and ends the connection.
    pub(crate) async fn send(&self, stream: &mut TcpStream) -> io::Result<()> {
        stream.write_all(self.head.as_bytes()).await?;
        stream.write_all(&self.body).await?;
        let mut sent = 0;
        while !self.endless.is_empty() && sent < ENOUGH {
            timeout(STALLED, stream.write_all(&self.endless)).await??;
            sent += self.endless.len();
        }
        stream.shutdown().await
    }
}
