//! The body of requests that kube's client does not retry.

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Empty;
use kube_client::{Client, Error, client::Body};
use std::{
    convert::Infallible,
    future::{Ready, ready},
    task::{Context, Poll},
};
use tower_service::Service;

/// Returns an empty body that cannot be cloned.
///
/// kube's client repeats a request up to 15 times when the response is 429, 503 or 504, unless the body of the request cannot be
/// cloned. The reflector has to receive these responses: it has its own backoff and reports failures. kube has no constructor for
/// such a body, but the body of every response is one.
pub(crate) async fn uncloneable_body() -> Result<Body, Error> {
    let response = Client::new(EmptyResponses, "default").send(Request::new(Body::empty())).await?;
    Ok(response.into_body())
}

/// A service whose responses are empty.
struct EmptyResponses;

impl Service<Request<Body>> for EmptyResponses {
    type Response = Response<Empty<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<Body>) -> Self::Future {
        ready(Ok(Response::new(Empty::new())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;

    #[tokio::test]
    async fn is_empty_and_cannot_be_cloned() {
        let body = uncloneable_body().await.unwrap();
        assert!(body.try_clone().is_none(), "kube's client would retry requests with this body");
        let size = hyper::body::Body::size_hint(&body);
        assert_eq!(size.exact(), Some(0), "a GET request with a body of unknown length is sent in chunks");
        assert!(body.collect().await.unwrap().to_bytes().is_empty());
    }
}
