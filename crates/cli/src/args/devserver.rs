//! The options of `informer devserver`.

use clap::Args;
use std::{collections::BTreeMap, path::PathBuf};

/// The options of `informer devserver`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Devserver {
    /// Where to listen; port 0 takes a free one. An address that is not loopback needs --tls and --token
    #[arg(long, default_value = "127.0.0.1:6443", value_name = "ADDR")]
    pub(crate) listen: String,

    /// What there is at the beginning, such as pods=1000,configmaps=50; also deployments, services, nodes, widgets
    #[arg(long, value_name = "KIND=N,..", value_parser = seeds, default_value = "")]
    pub(crate) seed: Seeds,

    /// How many pods change each second
    #[arg(long, default_value_t = 0.0, value_name = "RATE")]
    pub(crate) churn: f64,

    /// Speaks TLS, with a certificate made at start
    #[arg(long)]
    pub(crate) tls: bool,

    /// A further name for the certificate; may be repeated
    #[arg(long, requires = "tls", value_name = "NAME")]
    pub(crate) tls_name: Vec<String>,

    /// The bearer token to demand
    #[arg(long, value_name = "TOKEN", env = "INFORMER_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,

    /// Without a token: answers requests for this host name too; may be repeated. Loopback names are always answered
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_host: Vec<String>,

    /// Writes a kubeconfig for this server that only you may read; a file with other contents is not replaced
    #[arg(long, value_name = "FILE")]
    pub(crate) write_kubeconfig: Option<PathBuf>,

    /// What to do wrong: JSON, one fault or an array of them, as docs/devserver.md describes
    #[arg(long, value_name = "FILE")]
    pub(crate) faults: Option<PathBuf>,

    /// Lets faults be injected over HTTP, below /devserver
    #[arg(long)]
    pub(crate) control: bool,
}

/// How many objects of which kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seeds(pub(crate) BTreeMap<String, u64>);

/// The kinds that a server can be seeded with.
const KNOWN: [&str; 6] = ["configmaps", "deployments", "nodes", "pods", "services", "widgets"];

/// Reads how many objects of which kind.
pub(crate) fn seeds(text: &str) -> Result<Seeds, String> {
    let mut seeds = BTreeMap::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (kind, count) = part.split_once('=').ok_or_else(|| format!("{part:?} is not KIND=N"))?;
        let count = count.parse().map_err(|_| format!("{count:?} is no number of {kind}"))?;
        if !KNOWN.contains(&kind) {
            return Err(format!("there is no seed of {kind:?}, only of {}", KNOWN.join(", ")));
        }
        seeds.insert(kind.to_owned(), count);
    }
    Ok(Seeds(seeds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_read() {
        let read = seeds("pods=1000, nodes=3").unwrap();
        assert_eq!(read.0, BTreeMap::from([("nodes".to_owned(), 3), ("pods".to_owned(), 1000)]));
        assert_eq!(seeds("").unwrap(), Seeds::default());
    }

    #[test]
    fn wrong_seeds_are_told() {
        assert_eq!(seeds("pods").unwrap_err(), "\"pods\" is not KIND=N");
        assert_eq!(seeds("pods=many").unwrap_err(), "\"many\" is no number of pods");
        assert!(seeds("cows=1").unwrap_err().starts_with("there is no seed of \"cows\", only of configmaps"));
    }
}
