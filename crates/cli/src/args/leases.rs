//! The options of `informer leases`.

use super::cluster::Cluster;
use clap::Args;

/// The options of `informer leases`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Leases {
    /// The leader election or shard group to show [default: all of them]
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// The namespace of the Leases [default: that of the context]
    #[arg(short, long, value_name = "NS")]
    pub(crate) namespace: Option<String>,

    /// Show the Leases of all namespaces
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    pub(crate) all_namespaces: bool,

    /// Print the current state and exit
    #[arg(long)]
    pub(crate) once: bool,

    #[command(flatten)]
    pub(crate) cluster: Cluster,
}
