//! A webhook in this process that is called over HTTPS.

use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::{convert::Infallible, sync::Arc};
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, crypto::ring, pki_types::PrivateKeyDer},
};

/// A webhook, and the `clientConfig` with which it is called.
pub(crate) struct Webhook {
    pub(crate) client_config: Value,
    task: JoinHandle<()>,
}

impl Webhook {
    /// Starts a webhook that responds to a review with the result of a function.
    pub(crate) async fn start(respond: impl Fn(Value) -> Value + Send + Sync + 'static) -> Self {
        let key = rcgen::KeyPair::generate().unwrap();
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let certificate = rcgen::CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
        let private = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private)
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let task = tokio::spawn(serve(listener, TlsAcceptor::from(Arc::new(config)), Arc::new(respond)));
        let client_config = json!({
            "url": format!("https://127.0.0.1:{port}/hook"),
            "caBundle": BASE64_STANDARD.encode(certificate.pem()),
        });
        Self { client_config, task }
    }

    pub(crate) fn stop(self) {
        self.task.abort();
    }
}

type Respond = Arc<dyn Fn(Value) -> Value + Send + Sync>;

async fn serve(listener: TcpListener, acceptor: TlsAcceptor, respond: Respond) {
    while let Ok((stream, _)) = listener.accept().await {
        let (acceptor, respond) = (acceptor.clone(), Arc::clone(&respond));
        let answer = move |request: Request<Incoming>| {
            let respond = Arc::clone(&respond);
            async move {
                let body = request.into_body().collect().await.unwrap().to_bytes();
                let review = respond(serde_json::from_slice(&body).unwrap());
                Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(review.to_string()))))
            }
        };
        tokio::spawn(async move {
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer)).await;
        });
    }
}
