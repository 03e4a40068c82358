//! The server within this process, for who has no cluster at hand.

use crate::seed;
use kube_client::Client;
use kube_devserver::{Churn, Churning, DevServer};

/// A server within this process, with objects that change. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Embedded {
    pub(crate) server: DevServer,
    _churning: Churning,
}

/// What else there is beside pods.
const OTHERS: [(&str, u64); 4] = [("deployments", 24), ("services", 24), ("configmaps", 24), ("nodes", 12)];

impl Embedded {
    /// Starts one with so many pods, of which so many change each second.
    pub(crate) async fn start(pods: u64, rate: f64) -> anyhow::Result<Self> {
        let server = DevServer::start();
        let churning = server.churn(Churn::pods(pods).rate(rate));
        for (plural, count) in OTHERS {
            seed::plant(&server.client(), plural, count).await?;
        }
        Ok(Self { server, _churning: churning })
    }

    pub(crate) fn client(&self) -> Client {
        self.server.client()
    }
}
