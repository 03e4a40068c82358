//! The built-in server, for use without a cluster.

use crate::seed;
use kube_client::Client;
use kube_devserver::{Churn, Churning, DevServer};

/// A server within this process, with objects that change. Dropping it stops the server.
#[derive(Debug)]
pub(crate) struct EmbeddedServer {
    pub(crate) server: DevServer,
    _churning: Churning,
}

/// The other resources, with the number of objects.
const OTHERS: [(&str, u64); 4] = [("deployments", 24), ("services", 24), ("configmaps", 24), ("nodes", 12)];

impl EmbeddedServer {
    /// Starts a server with this number of pods, and this number of changes per second.
    pub(crate) async fn start(pods: u64, rate: f64) -> anyhow::Result<Self> {
        let server = DevServer::start();
        let churning = server.churn(Churn::pods(pods).rate(rate));
        for (plural, count) in OTHERS {
            seed::create_objects(&server.client(), plural, count).await?;
        }
        Ok(Self { server, _churning: churning })
    }

    pub(crate) fn client(&self) -> Client {
        self.server.client()
    }
}
