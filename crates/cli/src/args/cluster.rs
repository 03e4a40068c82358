//! Which cluster is meant, in kubectl's words.

use clap::Args;
use std::path::PathBuf;

/// Which cluster is meant.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct Cluster {
    /// The kubeconfig to use [default: $KUBECONFIG, then ~/.kube/config, then that of the pod this runs in]
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig to use
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,

    /// The address of the API server; without --kubeconfig or --context, nothing else is read from a kubeconfig
    #[arg(short, long, value_name = "URL")]
    pub(crate) server: Option<String>,

    /// The bearer token to present
    #[arg(long, value_name = "TOKEN", env = "INFORMER_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,

    /// Acts as this user, as far as you may
    #[arg(long = "as", value_name = "USER")]
    pub(crate) user: Option<String>,

    /// Acts as a member of this group; may be repeated
    #[arg(long = "as-group", value_name = "GROUP", requires = "user")]
    pub(crate) groups: Vec<String>,

    /// Does not check the server's certificate; for tests
    #[arg(long)]
    pub(crate) insecure_skip_tls_verify: bool,
}
