//! Connections without a socket.

use crate::http::{body::Body, dispatch::respond, exempt::Exemption, gateway::Gateway};
use crate::rbac::User;
use bytes::Bytes;
use std::{
    future::Future,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};
use tower_service::Service;

/// A client connection that calls the server directly.
#[derive(Clone, Debug)]
pub(crate) struct InProcess {
    gateway: Arc<Gateway>,
    user: Arc<User>,
    exemption: Option<Exemption>,
}

impl InProcess {
    /// Creates a connection of this user.
    pub(crate) fn new(gateway: Arc<Gateway>, user: User) -> Self {
        Self { gateway, user: Arc::new(user), exemption: None }
    }

    /// Creates a connection that faults do not apply to.
    pub(crate) fn without_faults(gateway: Arc<Gateway>, user: User) -> Self {
        Self { exemption: Some(Exemption::Client), ..Self::new(gateway, user) }
    }
}

impl<B> Service<http::Request<B>> for InProcess
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
{
    type Response = http::Response<Body>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<http::Response<Body>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: http::Request<B>) -> Self::Future {
        let gateway = Arc::clone(&self.gateway);
        request.extensions_mut().insert(Arc::clone(&self.user));
        let exemption = self.exemption;
        if let Some(exemption) = exemption {
            request.extensions_mut().insert(exemption);
        }
        Box::pin(async move {
            let refuses_connections =
                if exemption.is_some() { gateway.is_closed() } else { gateway.refuses_connections() };
            match refuses_connections {
                true => Err(io::ErrorKind::ConnectionRefused.into()),
                false => Ok(respond(&gateway, request).await),
            }
        })
    }
}
