//! The bodies of requests and responses.

use crate::verb::{self, ErrorResponse, StreamCut};
use bytes::{Bytes, BytesMut};
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use kube_core::response::reason;
use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

/// The maximum size of the body of a request, as in kube-apiserver.
const LIMIT: usize = 3 * 1024 * 1024;
/// The timeout for reading the body of a request, as in kube-apiserver.
const READ_TIMEOUT: Duration = Duration::from_secs(60);

/// The body of a response.
#[derive(Debug)]
pub(crate) struct Body {
    bytes: verb::Body,
    pieces: Option<Pieces>,
}

/// The rest of a body that is sent in small chunks.
#[derive(Debug)]
struct Pieces {
    size: usize,
    left: Bytes,
    /// True if a chunk was sent since the connection was last flushed.
    is_unflushed: bool,
}

impl Body {
    pub(crate) fn new(bytes: verb::Body, size: Option<usize>) -> Self {
        let pieces = size.map(|size| Pieces { size, left: Bytes::new(), is_unflushed: false });
        Self { bytes, pieces }
    }

    fn poll_bytes(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, StreamCut>>> {
        match &mut self.bytes {
            verb::Body::Whole(bytes) => {
                let bytes = std::mem::take(bytes);
                Poll::Ready((!bytes.is_empty()).then_some(Ok(bytes)))
            }
            verb::Body::Parts(parts) => Poll::Ready(parts.next().map(Ok)),
            verb::Body::Stream(stream) => stream.as_mut().poll_next(context),
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = StreamCut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, StreamCut>>> {
        let this = &mut *self;
        let is_used_up = this.pieces.as_ref().is_none_or(|pieces| pieces.left.is_empty());
        if is_used_up {
            let bytes = match std::task::ready!(this.poll_bytes(context)) {
                Some(Ok(bytes)) => bytes,
                Some(Err(broken)) => return Poll::Ready(Some(Err(broken))),
                None => return Poll::Ready(None),
            };
            let Some(pieces) = &mut this.pieces else { return Poll::Ready(Some(Ok(Frame::data(bytes)))) };
            pieces.left = bytes;
        }
        let Some(pieces) = &mut this.pieces else { return Poll::Ready(None) };
        // The connection is flushed when its body returns `Pending`, so that each chunk is sent separately.
        if std::mem::replace(&mut pieces.is_unflushed, false) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        pieces.is_unflushed = true;
        let size = pieces.size.min(pieces.left.len());
        Poll::Ready(Some(Ok(Frame::data(pieces.left.split_to(size)))))
    }

    fn size_hint(&self) -> SizeHint {
        match (&self.bytes, &self.pieces) {
            (verb::Body::Whole(bytes), None) => SizeHint::with_exact(bytes.len() as u64),
            _ => SizeHint::default(),
        }
    }
}

/// Reads the body of a request, within the limits of size and time.
pub(crate) async fn read<B>(body: B) -> Result<Bytes, ErrorResponse>
where
    B: http_body::Body<Data = Bytes> + Send,
{
    let late = |_| ErrorResponse::new(408, reason::TIMEOUT, "the body of the request did not come in time");
    tokio::time::timeout(READ_TIMEOUT, read_whole(body)).await.map_err(late)?
}

async fn read_whole<B>(body: B) -> Result<Bytes, ErrorResponse>
where
    B: http_body::Body<Data = Bytes> + Send,
{
    let too_large = || {
        let message = format!("Request entity too large: limit is {LIMIT}");
        ErrorResponse::new(413, reason::REQUEST_ENTITY_TOO_LARGE, &message)
    };
    if body.size_hint().lower() > LIMIT as u64 {
        return Err(too_large());
    }
    let mut body = std::pin::pin!(body);
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let broken = |_| ErrorResponse::bad_request("the body of the request broke off");
        let Ok(bytes) = frame.map_err(broken)?.into_data() else { continue };
        if whole.len() + bytes.len() > LIMIT {
            return Err(too_large());
        }
        whole.extend_from_slice(&bytes);
    }
    Ok(whole.freeze())
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::StreamBody;
    use std::convert::Infallible;

    #[tokio::test(start_paused = true)]
    async fn a_body_that_does_not_arrive_is_a_timeout() {
        let never = futures_util::stream::pending::<Result<Frame<Bytes>, Infallible>>();
        let began = tokio::time::Instant::now();
        let refusal = read(StreamBody::new(never)).await.unwrap_err();
        assert_eq!((refusal.status().code, began.elapsed()), (408, READ_TIMEOUT));
    }
}
