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
use kube_client::Client;

/// A client, and what is worth knowing of its cluster.
pub(crate) struct Connection {
    pub(crate) client: Client,
    /// Its address, for messages.
    pub(crate) server: String,
    /// The namespace that is meant where none is named; nothing where all are.
    pub(crate) namespace: Option<String>,
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
            Ok(Connection { client, server, namespace, embedded: None })
        }
        None => {
            let pods = grouped(PODS);
            say(format!(
                "no cluster is configured, so this is a server within this process, with {pods} pods"
            ));
            Ok(Connection::embed(Embedded::start(PODS, RATE).await?))
        }
    }
}

impl Connection {
    /// To a server within this process.
    pub(crate) fn embed(embedded: Embedded) -> Self {
        let (client, server) = (embedded.client(), "the server within this process".to_owned());
        Self { client, server, namespace: None, embedded: Some(embedded) }
    }

    /// The server within this process, if this is one.
    pub(crate) fn embedded(&self) -> Option<&Embedded> {
        self.embedded.as_ref()
    }

    /// Which kinds there are.
    pub(crate) async fn catalog(&self) -> anyhow::Result<Catalog> {
        discover(&self.client).await.map_err(|error| advice::of_client(&error, &self.server).into())
    }
}
