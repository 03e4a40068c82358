//! Sends a review to a server over HTTPS.

use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http::{Request, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, RootCertStore,
        crypto::ring,
        pki_types::{CertificateDer, ServerName, pem::PemObject},
    },
};

/// The maximum size of a response.
const MAX_RESPONSE: usize = 3 << 20;

/// Sends a review to a URL, and returns the response.
///
/// # Errors
/// The reason why there is none.
pub(super) async fn post(url: &str, ca_bundle: Option<&str>, review: &Value) -> Result<Value, String> {
    let uri: Uri = url.parse().map_err(|error| format!("invalid URL: {error}"))?;
    let authority = uri.authority().ok_or("the URL has no host")?;
    if uri.scheme_str() != Some("https") {
        return Err("the URL must start with https://".to_owned());
    }
    let host = authority.host().trim_start_matches('[').trim_end_matches(']');
    let connector = connector(ca_bundle)?;
    let name = ServerName::try_from(host.to_owned()).map_err(|error| error.to_string())?;
    let stream = TcpStream::connect((host, authority.port_u16().unwrap_or(443))).await;
    let stream = stream.map_err(|error| format!("cannot connect to {authority}: {error}"))?;
    let stream = connector.connect(name, stream).await.map_err(|error| format!("tls: {error}"))?;
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let request = Request::post(path)
        .header(header::HOST, authority.as_str())
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, "application/json")
        .body(Full::new(Bytes::from(review.to_string())))
        .map_err(|error| error.to_string())?;
    let exchange = async {
        let response = sender.send_request(request).await.map_err(|error| error.to_string())?;
        let status = response.status();
        let body = Limited::new(response.into_body(), MAX_RESPONSE).collect().await;
        let body = body.map_err(|error| format!("cannot read the response: {error}"))?.to_bytes();
        if !status.is_success() {
            return Err(format!(
                "an error on the server has prevented the request from succeeding: {status}"
            ));
        }
        serde_json::from_slice(&body).map_err(|error| format!("the response is not JSON: {error}"))
    };
    // If the connection ends, the exchange returns an error.
    let connection = async {
        let _ = connection.await;
        std::future::pending::<()>().await;
    };
    tokio::select! {
        result = exchange => result,
        () = connection => unreachable!("the connection is pending after its end"),
    }
}

fn connector(ca_bundle: Option<&str>) -> Result<TlsConnector, String> {
    let bundle = ca_bundle.ok_or("caBundle is empty: this server has no other trusted certificates")?;
    let pem = BASE64_STANDARD.decode(bundle).map_err(|error| format!("caBundle is not base64: {error}"))?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|error| format!("caBundle is not PEM: {error}"))?;
        roots.add(certificate).map_err(|error| format!("invalid certificate in caBundle: {error}"))?;
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}
