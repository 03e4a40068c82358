//! The options of `informer web`.

use super::{cluster::Cluster, informer_args::InformerArgs};
use clap::Args;
use std::path::PathBuf;

/// The options of `informer web`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Web {
    /// The resources to watch [default: the common built-in kinds]
    #[arg(value_name = "RESOURCE", value_delimiter = ',')]
    pub(crate) resources: Vec<String>,

    /// The address to listen on; port 0 selects a free port. An address other than loopback needs TLS and a token
    #[arg(long, default_value = "127.0.0.1:8090", value_name = "ADDR")]
    pub(crate) listen: String,

    /// Show a recorded history instead of a cluster, also while it is recorded
    #[arg(long, value_name = "DIR", conflicts_with_all = ["resources", "demo", "kubeconfig", "contexts", "server"])]
    pub(crate) dir: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) access: WebAccess,

    #[command(flatten)]
    pub(crate) informer_args: InformerArgs,

    #[command(flatten)]
    pub(crate) cluster: Cluster,
}

/// The options that protect the page.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Page")]
pub(crate) struct WebAccess {
    /// The token that users enter on the page
    #[arg(long, value_name = "TOKEN", env = "INFORMER_WEB_TOKEN", hide_env_values = true)]
    pub(crate) web_token: Option<String>,

    /// The certificate chain for TLS, in PEM format
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// The private key for TLS, in PEM format
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,

    /// Another host name to accept requests for; may be repeated. Loopback names are always accepted
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_host: Vec<String>,
}
