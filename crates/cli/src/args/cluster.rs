//! The options that select the cluster, named as in kubectl.

use clap::Args;
use std::path::PathBuf;

/// The options that select the cluster.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct Cluster {
    /// The kubeconfig to use [default: $KUBECONFIG, then ~/.kube/config, then the service account of the pod]
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig to use; `watch` and `wait` accept several
    #[arg(long = "context", value_name = "NAME", value_delimiter = ',')]
    pub(crate) contexts: Vec<String>,

    /// The URL of the API server; without --kubeconfig or --context, no kubeconfig is read
    #[arg(short, long, value_name = "URL")]
    pub(crate) server: Option<String>,

    /// The bearer token to send
    #[arg(long, value_name = "TOKEN", env = "INFORMER_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,

    /// The user to impersonate
    #[arg(long = "as", value_name = "USER")]
    pub(crate) user: Option<String>,

    /// The group to impersonate; may be repeated
    #[arg(long = "as-group", value_name = "GROUP", requires = "user")]
    pub(crate) groups: Vec<String>,

    /// Do not verify the server's certificate; only for tests
    #[arg(long)]
    pub(crate) insecure_skip_tls_verify: bool,

    /// Use a built-in server with DEMO DATA instead of a cluster
    #[arg(long, conflicts_with_all = ["kubeconfig", "contexts", "server", "token", "user"])]
    pub(crate) demo: bool,
}

impl Cluster {
    /// Returns the context, if one is given.
    pub(crate) fn context(&self) -> Option<&str> {
        self.contexts.first().map(String::as_str)
    }
}
