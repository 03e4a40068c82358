//! The options of `informer top` and `informer demo`.

use super::{cluster::Cluster, informer_args::InformerArgs};
use clap::Args;

/// The options of `informer top`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Top {
    /// The resources to watch [default: the common built-in kinds]
    #[arg(value_name = "RESOURCE", value_delimiter = ',')]
    pub(crate) resources: Vec<String>,

    #[command(flatten)]
    pub(crate) informer_args: InformerArgs,

    #[command(flatten)]
    pub(crate) cluster: Cluster,
}

/// The options of `informer demo`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Demo {
    /// The number of pods
    #[arg(long, default_value_t = 2_000, value_name = "N")]
    pub(crate) pods: u64,

    /// The number of pod changes per second
    #[arg(long, default_value_t = 40.0, value_name = "RATE")]
    pub(crate) churn: f64,

    /// The seconds between two injected faults
    #[arg(long, default_value_t = 30, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) fault_every: u64,
}

impl Default for Demo {
    fn default() -> Self {
        Self { pods: 2_000, churn: 40.0, fault_every: 30 }
    }
}
