//! A client token that can be replaced at any time, like a mounted service account token.

use http::{HeaderValue, Request, header::AUTHORIZATION};
use std::{
    sync::{Arc, Mutex},
    task::{Context, Poll},
};
use tower_layer::Layer;
use tower_service::Service;

/// The token of a client.
#[derive(Clone, Debug)]
pub struct Badge(Arc<Mutex<String>>);

impl Badge {
    /// Creates a badge with this token.
    #[must_use]
    pub fn new(token: impl Into<String>) -> Self {
        Self(Arc::new(Mutex::new(token.into())))
    }

    /// Replaces the token.
    pub fn renew(&self, token: impl Into<String>) {
        *self.0.lock().unwrap() = token.into();
    }
}

impl<S> Layer<S> for Badge {
    type Service = Shown<S>;

    fn layer(&self, inner: S) -> Shown<S> {
        Shown { badge: self.clone(), inner }
    }
}

/// Creates a client whose requests have the token.
#[derive(Clone, Debug)]
pub struct Shown<S> {
    badge: Badge,
    inner: S,
}

impl<S: Service<Request<B>>, B> Service<Request<B>> for Shown<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<B>) -> S::Future {
        let token = format!("Bearer {}", self.badge.0.lock().unwrap());
        request.headers_mut().insert(AUTHORIZATION, HeaderValue::from_str(&token).unwrap());
        self.inner.call(request)
    }
}
