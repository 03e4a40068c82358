//! A client of the cluster that was chosen.

use super::{
    config::configure,
    config_source::{ConfigSource, Environment, choose},
    embedded::EmbeddedServer,
};
use crate::advice;
use crate::args::Cluster;
use crate::cli_error::{Class, CliError};
use crate::kinds::{Catalog, discover};
use crate::notice::print_notice;
use crate::number::grouped;
use crate::route::Route;
use kube_client::{Client, config::Kubeconfig};
use kube_informer::document;
use kube_informer_wire::KUBERNETES_MINOR;
use serde::Deserialize;
use std::{sync::OnceLock, time::Duration};

/// A client with properties of its cluster.
pub(crate) struct Connection {
    pub(crate) client: Client,
    /// The URL of the server and its proxy, for messages.
    pub(crate) route: Route,
    /// The name of the context in the kubeconfig.
    pub(crate) context: Option<String>,
    /// The default namespace; `None` for all namespaces.
    pub(crate) namespace: Option<String>,
    /// Whether the server is not newer than this command.
    is_known: OnceLock<bool>,
    /// Runs as long as the connection exists.
    embedded: Option<EmbeddedServer>,
}

/// The pods of the built-in server, and their changes per second.
const PODS: u64 = 1_000;
const RATE: f64 = 20.0;

/// Connects to each context, or to the configured cluster.
pub(crate) async fn connect_all(args: &Cluster) -> anyhow::Result<Vec<Connection>> {
    if args.contexts.len() < 2 {
        return Ok(vec![connect(args).await?]);
    }
    let mut connections = Vec::new();
    for (at, context) in args.contexts.iter().enumerate() {
        if args.contexts[..at].contains(context) {
            let what = format!("the context {context:?} is given twice");
            return Err(CliError::new(Class::Usage, what).into());
        }
        connections.push(connect(&Cluster { contexts: vec![context.clone()], ..args.clone() }).await?);
    }
    Ok(connections)
}

/// Connects to the configured cluster, or to the built-in server with `--demo`.
///
/// # Errors
/// If the configuration is invalid, or there are several contexts.
pub(crate) async fn connect(args: &Cluster) -> anyhow::Result<Connection> {
    if args.contexts.len() > 1 {
        let what = format!("this command uses one context, not {}", args.contexts.join(" and "));
        return Err(CliError::new(Class::Usage, what).hint("`informer watch` accepts several").into());
    }
    let choice = choose(args, &Environment::read())?;
    match configure(&choice, args).await? {
        Some(config) => {
            let route = Route::of(&config);
            let namespace = Some(config.default_namespace.clone());
            let client = Client::try_from(config).map_err(|error| advice::of_config(&error, &route))?;
            let context = context(&choice, args);
            Ok(Connection { client, route, context, namespace, is_known: OnceLock::new(), embedded: None })
        }
        None => {
            let pods = grouped(PODS);
            print_notice(format!("DEMO DATA: a built-in server with {pods} generated pods, not a cluster"));
            Ok(Connection::embed(EmbeddedServer::start(PODS, RATE).await?))
        }
    }
}

/// Returns a name for the chosen cluster, without connecting to it: the context, or the URL of the server.
pub(crate) fn name(args: &Cluster) -> Result<String, CliError> {
    let choice = choose(args, &Environment::read())?;
    let server = args.server.as_deref().map(|server| server.trim_end_matches('/').to_owned());
    Ok(match choice {
        ConfigSource::Demo => "demo".to_owned(),
        ConfigSource::Pod => "in-cluster".to_owned(),
        ConfigSource::Files(_) | ConfigSource::Address => {
            context(&choice, args).or(server).unwrap_or_else(|| "default".to_owned())
        }
    })
}

/// Returns the names of all contexts.
pub(crate) fn contexts(args: &Cluster) -> Vec<String> {
    let Ok(ConfigSource::Files(paths)) =
        choose(&Cluster { contexts: Vec::new(), ..args.clone() }, &Environment::read())
    else {
        return Vec::new();
    };
    let read = paths.iter().filter_map(|path| Kubeconfig::read_from(path).ok());
    read.flat_map(|config| config.contexts).map(|context| context.name).collect()
}

/// Returns the name of the context in use.
fn context(choice: &ConfigSource, args: &Cluster) -> Option<String> {
    let ConfigSource::Files(paths) = choice else { return None };
    let current = || paths.iter().find_map(|path| Kubeconfig::read_from(path).ok()?.current_context);
    args.context().map(str::to_owned).or_else(current)
}

impl Connection {
    /// Connects to the built-in server.
    pub(crate) fn embed(embedded: EmbeddedServer) -> Self {
        Self {
            client: embedded.client(),
            route: Route::direct("the built-in server"),
            context: None,
            namespace: None,
            is_known: OnceLock::new(),
            embedded: Some(embedded),
        }
    }

    /// Returns the built-in server, if this is one.
    pub(crate) fn embedded(&self) -> Option<&EmbeddedServer> {
        self.embedded.as_ref()
    }

    /// Returns whether the server is known not to be newer than this command.
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
            Ok(found) => found.map_err(|error| advice::of_client(&error, &self.route).into()),
            Err(_) => {
                let what = format!("{} did not send its list of resources within {limit:?}", self.route);
                Err(CliError::new(Class::Unreachable, what)
                    .hint("is there a VPN or a firewall in between?")
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
