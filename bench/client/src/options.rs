//! The options of a client under test.

use std::{path::PathBuf, time::Duration};

use clap::{Args, ValueEnum};

/// The options of a client; each client ignores options that it does not support.
#[derive(Args, Clone, Debug)]
pub struct ClientOptions {
    /// The kubeconfig file of the server.
    #[arg(long)]
    pub kubeconfig: PathBuf,
    /// The number of objects on the server.
    #[arg(long)]
    pub objects: u64,
    /// Seconds between the sync and the measurement of the steady memory.
    #[arg(long, default_value = "0", value_parser = seconds)]
    pub settle: Duration,
    /// The encoding of responses.
    #[arg(long, value_enum, default_value = "json")]
    pub encoding: Encoding,
    /// Whether `metadata.managedFields` is stored.
    #[arg(long, value_enum, default_value = "drop")]
    pub managed_fields: ManagedFields,
    /// The request for the initial list.
    #[arg(long, value_enum, default_value = "stream")]
    pub strategy: Strategy,
    /// The storage of cached objects.
    #[arg(long, value_enum, default_value = "decoded")]
    pub storage: Storage,
    /// The kind of the objects.
    #[arg(long, value_enum, default_value = "pods")]
    pub kind: Kind,
    /// The directory of the saved cache.
    #[arg(long)]
    pub save_to: Option<PathBuf>,
}

/// The kind of the objects.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Pods of about 11 KB of JSON.
    Pods,
    /// Custom resources of about 4 KB of JSON, which have no protobuf encoding.
    Widgets,
}

/// The encoding of responses.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// JSON.
    Json,
    /// Protobuf.
    Protobuf,
}

/// Whether `metadata.managedFields` is stored.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManagedFields {
    /// Stored.
    Keep,
    /// Dropped.
    Drop,
}

/// The request for the initial list.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// LIST, with the page size of the client.
    List,
    /// WATCH with `sendInitialEvents`.
    Stream,
}

/// The storage of cached objects.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// Decoded objects.
    Decoded,
    /// The bytes of the response; fields are decoded when they are read.
    Lazy,
    /// Compressed objects.
    Compressed,
}

/// Parses a number of seconds.
///
/// # Errors
/// A text for the user if the argument is not a number of seconds.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.ok_or_else(|| format!("`{text}` is not a number of seconds"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_may_have_a_fraction() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(seconds("-1").unwrap_err(), "`-1` is not a number of seconds");
        assert!(seconds("soon").is_err());
    }
}
