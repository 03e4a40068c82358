//! A client of the cluster that was chosen.

use super::{
    choice::{Surroundings, choose},
    config::configure,
    embedded::Embedded,
};
use crate::advice;
use crate::args::Cluster;
use crate::kinds::{Catalog, discover};
use crate::notice::say;
use crate::number::grouped;
use crate::trouble::{Class, Trouble};
use kube_client::Client;
use kube_informer::document;
use kube_informer_wire::KUBERNETES_MINOR;
use serde::Deserialize;
use std::{sync::OnceLock, time::Duration};

/// A client, and what is worth knowing of its cluster.
pub(crate) struct Connection {
    pub(crate) client: Client,
    /// Its address, for messages.
    pub(crate) server: String,
    /// The namespace that is meant where none is named; nothing where all are.
    pub(crate) namespace: Option<String>,
    /// Whether no type of the server is newer than this command.
    is_known: OnceLock<bool>,
    /// Kept while it is used.
    embedded: Option<Embedded>,
}

/// What the server within this process has, where nothing else is configured.
const PODS: u64 = 1_000;
const RATE: f64 = 20.0;

/// Connects to the cluster that the command line and the environment name, or else to one within this process.
pub(crate) async fn connect(asked: &Cluster) -> anyhow::Result<Connection> {
    let choice = choose(asked, &Surroundings::read())?;
    match configure(&choice, asked).await? {
        Some(config) => {
            let server = config.cluster_url.to_string();
            let server = server.trim_end_matches('/').to_owned();
            // In a pod, as kubectl does, and with an address alone there is no context that would say.
            let namespace = Some(config.default_namespace.clone());
            let client = Client::try_from(config).map_err(|error| advice::of_client(&error, &server))?;
            Ok(Connection { client, server, namespace, is_known: OnceLock::new(), embedded: None })
        }
        None => {
            let pods = grouped(PODS);
            say(format!(
                "no cluster is configured, so this is a server within this process, with {pods} pods; \
                 --kubeconfig, --server or KUBECONFIG name one"
            ));
            Ok(Connection::embed(Embedded::start(PODS, RATE).await?))
        }
    }
}

impl Connection {
    /// To a server within this process.
    pub(crate) fn embed(embedded: Embedded) -> Self {
        let (client, server) = (embedded.client(), "the server within this process".to_owned());
        Self { client, server, namespace: None, is_known: OnceLock::new(), embedded: Some(embedded) }
    }

    /// The server within this process, if this is one.
    pub(crate) fn embedded(&self) -> Option<&Embedded> {
        self.embedded.as_ref()
    }

    /// Whether no type of the server is newer than this command, as far as the server has been asked.
    pub(crate) fn is_known(&self) -> bool {
        self.is_known.get().copied().unwrap_or_default()
    }

    /// Requests the kinds of the server, within a time.
    pub(crate) async fn catalog(&self, limit: Duration) -> anyhow::Result<Catalog> {
        let discovery = async {
            let version = document::Request::new("/version").max_size(MAX_VERSION);
            let (version, found) = tokio::join!(version.get::<Version>(&self.client), discover(&self.client));
            let _ = self.is_known.set(version.is_ok_and(|version| is_known(&version.minor)));
            found
        };
        match tokio::time::timeout(limit, discovery).await {
            Ok(found) => found.map_err(|error| advice::of_client(&error, &self.server).into()),
            Err(_) => {
                let what = format!("{} did not send its list of resources within {limit:?}", self.server);
                Err(Trouble::new(Class::Unreachable, what)
                    .advise("is there a VPN or a firewall in between?")
                    .into())
            }
        }
    }
}

/// The maximum time for the discovery of resources.
pub(crate) const DISCOVERY: Duration = Duration::from_secs(30);

/// The maximum size of the version of a server.
const MAX_VERSION: usize = 64 << 10;

/// The version of a server, as far as it is used.
#[derive(Deserialize)]
struct Version {
    minor: String,
}

/// Whether a server of this minor version has no field that is newer than this command. Some servers write `36+`.
fn is_known(minor: &str) -> bool {
    minor.trim_end_matches('+').parse().is_ok_and(|minor: u32| minor <= KUBERNETES_MINOR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_known_up_to_the_version_of_the_tables() {
        for known in [KUBERNETES_MINOR, KUBERNETES_MINOR - 1, 25] {
            assert!(is_known(&known.to_string()) && is_known(&format!("{known}+")), "{known}");
        }
        for unknown in [&(KUBERNETES_MINOR + 1).to_string(), "99+", "", "+", "latest"] {
            assert!(!is_known(unknown), "{unknown}");
        }
    }
}
