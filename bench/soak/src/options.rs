//! The options of the load test.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use kube_informer_bench_client::options::seconds;

/// The size of the load.
#[derive(Args, Clone, Debug)]
pub(crate) struct Load {
    /// The number of informers, each of its own namespace; every second one has compressed storage.
    #[arg(long, default_value = "50", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) informers: u64,
    /// The total number of objects, of about 1 KB each.
    #[arg(long, default_value = "100000", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) objects: u64,
    /// Writes per second.
    #[arg(long, default_value = "5000")]
    pub(crate) rate: f64,
}

impl Load {
    /// Returns the namespace of an informer.
    pub(crate) fn namespace(informer: u64) -> String {
        format!("soak-{informer}")
    }
}

/// Runs many informers under load, against a devserver that fails every few seconds.
///
/// One handler of the first informer blocks at its first event until the load has ended. At the end, every cache and the objects that
/// every handler knows from its events are compared with the server. The exit code is 1 if they differ, or if the memory in use of
/// the clients grew by more than the limit. A run of less than five minutes is too short for a decision on memory.
#[derive(Args, Clone, Debug)]
pub(crate) struct RunOptions {
    #[command(flatten)]
    pub(crate) load: Load,
    /// The duration of the load in minutes.
    #[arg(long, default_value = "20")]
    minutes: f64,
    /// Seconds between two faults.
    #[arg(long, default_value = "5", value_parser = seconds)]
    pub(crate) faults: Duration,
    /// The permitted growth of memory in use, in percent of its mean per hour.
    #[arg(long, default_value = "5")]
    growth_limit: f64,
    /// The backoff of the informers.
    #[arg(long, value_enum, default_value = "short")]
    pub(crate) backoff: BackoffChoice,
    /// A file for all samples and the verdict, as JSON.
    #[arg(long)]
    pub(crate) json: Option<PathBuf>,
    /// A directory for temporary files.
    #[arg(long, default_value = "target/bench")]
    pub(crate) work_dir: PathBuf,
}

impl RunOptions {
    pub(crate) fn duration(&self) -> Duration {
        Duration::from_secs_f64(self.minutes * 60.0)
    }

    /// Returns the permitted growth of memory per hour, as a share of its mean.
    pub(crate) fn growth_limit(&self) -> f64 {
        self.growth_limit / 100.0
    }
}

/// The backoff of informers after a failure.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BackoffChoice {
    /// At most one second, for a server that fails often and briefly
    Short,
    /// The default of the library, which grows to a minute with failures this frequent
    Default,
}

impl BackoffChoice {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Short => "short",
            Self::Default => "default",
        }
    }
}
