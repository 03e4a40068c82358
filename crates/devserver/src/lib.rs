//! A Kubernetes API in the process: list, watch and change objects without a cluster, and make the server misbehave.
//!
//! [`DevServer::start`] takes well under a millisecond and needs no port; [`DevServer::client`] is a `kube::Client`
//! for it that works while Tokio's clock is paused. [`DevServer::builder`] adds a socket with HTTP/1.1 and HTTP/2,
//! TLS and a token, for kubectl and for clients in other languages. [`DevServer::faults`] injects faults.
//!
//! ```
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube::api::{Api, PostParams};
//! use kube_devserver::{DevServer, Fault, Verb};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = DevServer::start();
//! let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
//!
//! let mut map = ConfigMap::default();
//! map.metadata.name = Some("settings".to_owned());
//! let made = maps.create(&PostParams::default(), &map).await?;
//! assert!(made.metadata.uid.is_some());
//!
//! let busy = server.faults().inject(Fault::answer(503).on(Verb::Get).of("configmaps").times(1));
//! assert!(maps.get("settings").await.is_err());
//! assert!(maps.get("settings").await.is_ok());
//! busy.hit(1).await;
//! # Ok(())
//! # }
//! ```

mod invalid;

mod expression;

mod structural;

mod apply;

mod rbac;

mod registry;

#[cfg(test)]
mod testing;

mod object;

mod validation;

mod format;

pub mod corpus;

mod served_time;

mod storage;

mod admission;

mod fault;

mod verb;

mod http;

mod kubelet;

mod yaml;

mod churn;

mod history;

mod saved_state;

mod kubeconfig;

mod server;

#[cfg(feature = "__oracle")]
pub mod oracle;

pub use churn::{Churn, Churning};
pub use fault::{Fault, Faults, Injected, Manner, Verb};
pub use history::Past;
pub use http::{AllowedHosts, HostError, RequestRecord};
pub use kubelet::{Kubelet, Outcome};
pub use rbac::User;
pub use server::{Builder, DevServer, OutcomeError, Snapshot, StartError, Versions};
pub use storage::DataError;
pub use verb::Controllers;
pub use yaml::ApplyYamlError;

/// Compiles the example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
