//! TLS with a certificate that is generated at start.

use rcgen::{CertificateParams, KeyPair};
use std::{error::Error, sync::Arc};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, crypto::ring, pki_types::PrivateKeyDer},
};

/// The TLS configuration of a server, and its certificate.
#[derive(Clone)]
pub(crate) struct Tls {
    /// The certificate, as PEM.
    pub(crate) certificate: String,
    pub(crate) acceptor: TlsAcceptor,
}

impl Tls {
    /// Generates a key and a self-signed certificate for these names and addresses.
    ///
    /// # Errors
    /// Returns an error if a name is not valid in a certificate.
    pub(crate) fn self_signed(names: &[String]) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new(names)?.self_signed(&key)?;
        let private = PrivateKeyDer::try_from(key.serialize_der())?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { certificate: certificate.pem(), acceptor: TlsAcceptor::from(Arc::new(config)) })
    }
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}
