//! The options of `informer devserver`.

use super::time::time;
use clap::{Args, ValueEnum};
use jiff::Timestamp;
use std::{collections::BTreeMap, path::PathBuf};

/// The options of `informer devserver`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Devserver {
    /// The address to listen on; port 0 selects a free port. An address other than loopback needs --tls and --token
    #[arg(long, default_value = "127.0.0.1:6443", value_name = "ADDR")]
    pub(crate) listen: String,

    /// Objects to create at start, such as pods=1000,configmaps=50; also deployments, services, nodes, widgets
    #[arg(long, value_name = "KIND=N,..", value_parser = seeds, default_value = "")]
    pub(crate) seed: ObjectCounts,

    /// The number of pod changes per second
    #[arg(long, default_value_t = 0.0, value_name = "RATE")]
    pub(crate) churn: f64,

    /// Serve TLS with a certificate generated at start
    #[arg(long)]
    pub(crate) tls: bool,

    /// Another name for the certificate; may be repeated
    #[arg(long, requires = "tls", value_name = "NAME")]
    pub(crate) tls_name: Vec<String>,

    /// The bearer token that clients must send
    #[arg(long, value_name = "TOKEN", env = "INFORMER_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,

    /// Another host name to answer requests for, without a token; may be repeated. Loopback names are always allowed
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_host: Vec<String>,

    /// Write a kubeconfig for this server that only you can read; a file with other contents is not replaced
    #[arg(long, value_name = "FILE")]
    pub(crate) write_kubeconfig: Option<PathBuf>,

    /// Save all objects in this directory, and start with the objects that it contains
    #[arg(long, value_name = "DIR", conflicts_with = "history")]
    pub(crate) data: Option<PathBuf>,

    /// Create this number of nodes, and report the pods on all nodes as running
    #[arg(long, value_name = "NODES", conflicts_with = "history", value_parser = clap::value_parser!(u16).range(..=1000))]
    pub(crate) kubelet: Option<u16>,

    /// The controllers that delete owned objects and finalize namespaces. Use "none" with a kube-controller-manager
    #[arg(long, value_enum, default_value_t)]
    pub(crate) controllers: Controllers,

    /// A JSON file with one fault or an array of faults to inject, as described in docs/devserver.md
    #[arg(long, value_name = "FILE")]
    pub(crate) faults: Option<PathBuf>,

    /// Serve the past of a recording, read-only, with --at or --from
    #[arg(long, value_name = "DIR", conflicts_with_all = ["seed", "churn"], requires = "moment")]
    pub(crate) history: Option<PathBuf>,

    /// Serve the state of this moment, which does not change: 2026-11-16T03:14:00Z, "2026-11-16 03:14", -10m
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true, group = "moment", requires = "history")]
    pub(crate) at: Option<Timestamp>,

    /// Serve the state of this moment and the changes after it
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true, group = "moment", requires = "history")]
    pub(crate) from: Option<Timestamp>,

    /// The speed of the changes, as a multiple of the recorded one
    #[arg(long, value_name = "FACTOR", requires = "from", default_value_t = 1.0)]
    pub(crate) speed: f64,

    /// Accept faults over HTTP, under /devserver
    #[arg(long)]
    pub(crate) control: bool,
}

/// The controllers within the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Controllers {
    #[default]
    BuiltIn,
    None,
}

/// The number of objects of each kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ObjectCounts(pub(crate) BTreeMap<String, u64>);

/// The kinds that can be created at start.
const KNOWN: [&str; 6] = ["configmaps", "deployments", "nodes", "pods", "services", "widgets"];

/// Parses `KIND=N,..`.
pub(crate) fn seeds(text: &str) -> Result<ObjectCounts, String> {
    let mut seeds = BTreeMap::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (kind, count) =
            part.split_once('=').ok_or_else(|| format!("invalid seed {part:?}: expected KIND=N"))?;
        let count = count.parse().map_err(|_| format!("invalid number of {kind}: {count:?}"))?;
        if !KNOWN.contains(&kind) {
            return Err(format!("unknown kind {kind:?}: expected one of {}", KNOWN.join(", ")));
        }
        seeds.insert(kind.to_owned(), count);
    }
    Ok(ObjectCounts(seeds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_seeds() {
        let read = seeds("pods=1000, nodes=3").unwrap();
        assert_eq!(read.0, BTreeMap::from([("nodes".to_owned(), 3), ("pods".to_owned(), 1000)]));
        assert_eq!(seeds("").unwrap(), ObjectCounts::default());
    }

    #[test]
    fn invalid_seeds_are_errors() {
        assert_eq!(seeds("pods").unwrap_err(), "invalid seed \"pods\": expected KIND=N");
        assert_eq!(seeds("pods=many").unwrap_err(), "invalid number of pods: \"many\"");
        assert!(
            seeds("cows=1").unwrap_err().starts_with("unknown kind \"cows\": expected one of configmaps")
        );
    }
}
