//! The options of the commands that write and read recordings: `record`, `history`, `changes`, `get` and `diff`.

use super::{
    cluster::Cluster,
    duration::duration,
    size::size,
    time::{since, time},
    watch::Colour,
    web::WebAccess,
};
use clap::{Args, ValueEnum};
use jiff::Timestamp;
use kube_history::Redaction;
use std::{net::SocketAddr, path::PathBuf, time::Duration};

/// The options of `informer record`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Record {
    /// The resources to record [default: all that can be watched, except Secrets]
    #[arg(value_name = "RESOURCE", value_delimiter = ',')]
    pub(crate) resources: Vec<String>,

    /// The folder of the recording; it is created if it does not exist
    #[arg(short, long, value_name = "DIR")]
    pub(crate) dir: PathBuf,

    /// Remove changes that are older than this
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "7d")]
    pub(crate) keep: Duration,

    /// Remove the oldest changes when the folder is larger than this
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "20GB")]
    pub(crate) max_size: u64,

    /// A path whose values are replaced before they are written, such as configmaps:/data/* or
    /// /spec/containers/*/env/*/value; may be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) redact: Vec<Redaction>,

    /// Record Secrets too, unencrypted, in files that only you can read
    #[arg(long)]
    pub(crate) secrets: bool,

    /// A resource not to record; may be repeated
    #[arg(long, value_name = "RESOURCE", value_delimiter = ',')]
    pub(crate) exclude: Vec<String>,

    /// Record only this namespace; may be repeated [default: all]
    #[arg(short, long = "namespace", value_name = "NS", value_delimiter = ',')]
    pub(crate) namespaces: Vec<String>,

    /// Serve /healthz, /readyz and /metrics on this address, such as 0.0.0.0:8080
    #[arg(long, value_name = "ADDR")]
    pub(crate) metrics: Option<SocketAddr>,

    /// Serve the page of this recording on this address, such as 127.0.0.1:8090; see `informer web --help`
    #[arg(long, value_name = "ADDR")]
    pub(crate) web: Option<String>,

    #[command(flatten)]
    pub(crate) access: WebAccess,

    /// The interval between checks for new and removed resources
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "1m")]
    pub(crate) discover_every: Duration,

    /// Stop after this time
    #[arg(long = "timeout", visible_alias = "for", value_name = "DURATION", value_parser = duration)]
    pub(crate) period: Option<Duration>,

    /// Print only errors to stderr
    #[arg(short, long)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) cluster: Cluster,
}

/// The options that select a recording.
#[derive(Args, Clone, Debug)]
pub(crate) struct Recorded {
    /// The folder of the recording [default: that of the last recording of this context]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,

    /// The namespace [default: all]
    #[arg(short, long, value_name = "NS")]
    pub(crate) namespace: Option<String>,

    /// The output format
    #[arg(short, long, value_enum, default_value_t, value_name = "FORM")]
    pub(crate) output: RecordedOutput,

    /// When to use colors; NO_COLOR is respected
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: Colour,

    #[command(flatten)]
    pub(crate) cluster: Cluster,
}

/// The output format of recorded objects and changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecordedOutput {
    /// One line for each object or change
    #[default]
    Table,
    /// One JSON document per line; for `get`, one list as in kubectl
    Json,
    /// The same as YAML documents
    Yaml,
    /// The old and the new value of each changed field
    Diff,
}

/// The options of `informer history`.
#[derive(Args, Clone, Debug)]
pub(crate) struct ObjectHistory {
    /// The object: pod/front-1, deployment.apps/front; it need not exist any more
    #[arg(value_name = "RESOURCE/NAME")]
    pub(crate) object: String,

    /// Only versions since then: 10m, "2026-11-16 03:14", 2026-11-16T03:14:00Z
    #[arg(long, value_name = "TIME", value_parser = since, allow_hyphen_values = true)]
    pub(crate) since: Option<Timestamp>,

    /// Only versions up to then
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub(crate) until: Option<Timestamp>,

    #[command(flatten)]
    pub(crate) recorded: Recorded,
}

/// The options of `informer changes`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Changes {
    /// The resources, or one object: pods, deploy/front [default: all recorded]
    #[arg(value_name = "RESOURCE", value_delimiter = ',')]
    pub(crate) resources: Vec<String>,

    /// Only changes since then: 10m, "2026-11-16 03:14", 2026-11-16T03:14:00Z
    #[arg(long, value_name = "TIME", value_parser = since, allow_hyphen_values = true, default_value = "10m")]
    pub(crate) since: Timestamp,

    /// Only changes up to then
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub(crate) until: Option<Timestamp>,

    /// Only changes of this field, such as status.phase or /spec/replicas; may be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) changed: Vec<String>,

    /// Not the changes of only this field; may be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) ignore: Vec<String>,

    /// Only changes by this field manager, such as kubelet or kubectl-client-side-apply
    #[arg(long, value_name = "MANAGER")]
    pub(crate) by: Option<String>,

    /// Only changes of this object and of the objects that it owns, directly or indirectly
    #[arg(long, value_name = "RESOURCE/NAME")]
    pub(crate) owner: Option<String>,

    #[command(flatten)]
    pub(crate) recorded: Recorded,
}

/// The options of `informer get`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Get {
    /// The resources, or objects: pods, pod/front-1
    #[arg(required = true, value_name = "RESOURCE", value_delimiter = ',')]
    pub(crate) resources: Vec<String>,

    /// The moment: 2026-11-16T03:14:00Z, "2026-11-16 03:14" or 03:14 in the local time zone, or -10m
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub(crate) at: Timestamp,

    /// The label selector, such as 'tier=front,env in (a, b)'
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    pub(crate) selector: Option<String>,

    #[command(flatten)]
    pub(crate) recorded: Recorded,
}

/// The options of `informer diff`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Diff {
    /// The resources, or objects: pods, pod/front-1 [default: all recorded]
    #[arg(value_name = "RESOURCE", value_delimiter = ',')]
    pub(crate) resources: Vec<String>,

    /// The first moment: 2026-11-16T03:14:00Z, "2026-11-16 03:14" or 03:14 in the local time zone, or -10m
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub(crate) from: Timestamp,

    /// The second moment
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true, default_value = "now")]
    pub(crate) to: Timestamp,

    #[command(flatten)]
    pub(crate) recorded: Recorded,
}
