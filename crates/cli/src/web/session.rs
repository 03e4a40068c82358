//! Starts the source and the server, and runs them until they are interrupted.

use super::{
    access::{Access, Transport},
    demo,
    live::{Live, LiveKind, LiveOptions, prepared},
    recorded::{REFRESH, Recorded},
    server::Site,
    source::ChangeSource,
};
use crate::args::{InformerArgs, Web, WebAccess};
use crate::cli_error::{Class, CliError, chain};
use crate::cluster::{Connection, DISCOVERY, connect};
use crate::informers::{Target, builder, namespaces, targets};
use crate::meter::MetricValues;
use crate::notice::print_notice;
use crate::signal::interruption;
use anyhow::Context;
use kube_devserver::AllowedHosts;
use std::{
    io::{self, Write},
    net::SocketAddr,
    path::Path,
    sync::Arc,
};
use tokio::{net::TcpListener, sync::watch};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    },
};

/// The kinds that are watched by default, if the server has them.
const DEFAULT_KINDS: [&str; 11] = [
    "pods",
    "deployments.apps",
    "replicasets.apps",
    "statefulsets.apps",
    "daemonsets.apps",
    "jobs.batch",
    "services",
    "configmaps",
    "nodes",
    "namespaces",
    "events",
];

/// Serves the page until it is interrupted.
pub(crate) async fn run(args: Web) -> anyhow::Result<()> {
    let interrupted = interruption();
    let server = Server::prepare(&args.listen, &args.access).await?;
    let serving = async {
        match &args.dir {
            Some(folder) => recorded(folder, server).await,
            None => live(&args, server).await,
        }
    };
    tokio::select! {
        outcome = serving => outcome,
        () = interrupted => Ok(()),
    }
}

/// The socket and the access rules, which are checked before anything else starts.
pub(crate) struct Server {
    listener: TcpListener,
    access: Access,
    tls: Option<TlsAcceptor>,
    url: String,
}

impl Server {
    /// Opens the socket.
    ///
    /// # Errors
    /// If the address is invalid, in use, or would expose the page without TLS and a token.
    pub(crate) async fn prepare(listen: &str, args: &WebAccess) -> anyhow::Result<Self> {
        let mut addresses = tokio::net::lookup_host(listen).await.with_context(|| {
            format!("invalid address {listen:?}: expected HOST:PORT, such as 127.0.0.1:8090")
        })?;
        let address = addresses.next().with_context(|| format!("{listen:?} has no address"))?;
        check_exposure(args, address)?;
        let tls = match (&args.tls_cert, &args.tls_key) {
            (Some(certificate), Some(key)) => Some(acceptor(certificate, key)?),
            _ => None,
        };
        let listener =
            TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
        let address = listener.local_addr()?;
        let transport = if tls.is_some() { Transport::Tls } else { Transport::Plain };
        let hosts = AllowedHosts::new(address.ip(), &args.allow_host);
        let access = Access::new(hosts, transport, args.web_token.clone());
        let scheme = if tls.is_some() { "https" } else { "http" };
        Ok(Self { listener, access, tls, url: format!("{scheme}://{address}/") })
    }

    /// Serves a source until this is dropped.
    async fn serve(self, source: Arc<dyn ChangeSource>) -> anyhow::Result<()> {
        writeln!(io::stdout(), "listening on {}", self.url)?;
        io::stdout().flush()?;
        Site::new(source, self.access).listen(self.listener, self.tls).await;
        Ok(())
    }
}

/// Refuses to serve other machines without TLS and a token.
fn check_exposure(args: &WebAccess, address: SocketAddr) -> Result<(), CliError> {
    let token = args.web_token.as_deref();
    if token.is_some_and(|token| token.trim().is_empty()) {
        return Err(CliError::new(Class::Usage, "the token of the page is empty")
            .hint("set --web-token or INFORMER_WEB_TOKEN to a value: an unset variable is empty"));
    }
    if address.ip().is_loopback() || (args.tls_cert.is_some() && token.is_some()) {
        return Ok(());
    }
    Err(CliError::new(
        Class::Usage,
        format!("{address} is not a loopback address: other machines could read everything"),
    )
    .hint("set --tls-cert, --tls-key and INFORMER_WEB_TOKEN, or listen on 127.0.0.1 and use an SSH tunnel"))
}

fn acceptor(certificate: &Path, key: &Path) -> anyhow::Result<TlsAcceptor> {
    let read = |path: &Path| format!("cannot read {}", path.display());
    let chain = CertificateDer::pem_file_iter(certificate).with_context(|| read(certificate))?;
    let chain = chain.collect::<Result<Vec<_>, _>>().with_context(|| read(certificate))?;
    let key = PrivateKeyDer::from_pem_file(key).with_context(|| read(key))?;
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .context("the certificate and the key cannot be used")?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Serves a recorded history, also while it is recorded.
pub(crate) async fn recorded(folder: &Path, server: Server) -> anyhow::Result<()> {
    let opened = Recorded::open(folder).map_err(|error| CliError::new(Class::Other, chain(&error)))?;
    let source = Arc::new(opened);
    let reading = Arc::clone(&source);
    let refresh = async move {
        loop {
            let source = Arc::clone(&reading);
            let loaded =
                tokio::task::spawn_blocking(move || source.load().map_err(|error| source.failed(&error)));
            // A panic ends the reading; the status keeps the last state.
            if loaded.await.is_err() {
                print_notice("reading the history failed");
                return std::future::pending::<()>().await;
            }
            tokio::time::sleep(REFRESH).await;
        }
    };
    tokio::select! {
        outcome = server.serve(source) => outcome,
        () = refresh => Ok(()),
    }
}

/// Serves live caches.
async fn live(args: &Web, server: Server) -> anyhow::Result<()> {
    let connection = connect(&args.cluster).await?;
    let catalog = connection.catalog(DISCOVERY).await?;
    let targets = match args.resources.as_slice() {
        [] => catalog.known(&DEFAULT_KINDS).into_iter().map(Target::all).collect(),
        named => targets(&catalog, named)?,
    };
    let metric_values = MetricValues::install()?;
    let namespaces = namespaces(&args.informer_args, None);
    let one = |target: &Target| informer(&connection, target, &args.informer_args, namespaces.as_deref());
    let watched: Vec<LiveKind> = targets.iter().map(one).collect::<Result<_, _>>()?;
    let (notify, notice) = watch::channel(None);
    let (name, scope) = (connection.route.to_string(), scope(&connection, &args.informer_args));
    let source = Arc::new(Live::new(LiveOptions {
        watched: watched.clone(),
        metric_values,
        server: name,
        scope,
        notice,
    }));
    let recording = Arc::clone(&source).record();
    watched.iter().for_each(|watched| watched.informer.start());
    let activity = async {
        match connection.embedded() {
            Some(embedded) => demo::activity(embedded.client(), &embedded.server, notify).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        outcome = server.serve(source) => outcome,
        () = recording => Ok(()),
        () = activity => Ok(()),
    }
}

/// Creates the informer of a kind.
fn informer(
    connection: &Connection,
    target: &Target,
    args: &InformerArgs,
    namespaces: Option<&[String]>,
) -> Result<LiveKind, CliError> {
    let informer = prepared(builder(connection, target, args, namespaces));
    let informer = informer.build().map_err(|error| CliError::new(Class::Usage, chain(&error)))?;
    Ok(LiveKind { kind: target.kind.clone(), informer })
}

/// Returns what restricts the view: context, namespaces and selectors.
fn scope(connection: &Connection, args: &InformerArgs) -> String {
    let context = connection.context.iter().map(|name| format!("context {name}"));
    let namespaces = (!args.namespaces.is_empty()).then(|| format!("-n {}", args.namespaces.join(",")));
    let labels = args.selector.iter().map(|selector| format!("-l {selector}"));
    let fields = args.field_selector.iter().map(|selector| format!("--field-selector {selector}"));
    context.chain(namespaces).chain(labels).chain(fields).collect::<Vec<_>>().join("  ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser;

    /// Returns the error for an address and other options.
    fn refused(address: &str, options: &str) -> Option<String> {
        let words = ["informer", "web"].into_iter().chain(options.split_whitespace());
        let Some(Command::Web(web)) = Cli::parse_from(words).command else { panic!("it is `web`") };
        check_exposure(&web.access, address.parse().unwrap()).err().map(|error| error.to_string())
    }

    #[test]
    fn other_machines_need_tls_and_a_token() {
        let tls = "--tls-cert a --tls-key b";
        for address in ["127.0.0.1:0", "[::1]:80"] {
            assert_eq!(refused(address, ""), None, "{address}");
        }
        for address in ["0.0.0.0:0", "10.0.0.1:80", "[::]:80"] {
            for options in ["", "--web-token t", tls] {
                let error = refused(address, options).unwrap();
                assert!(
                    error.contains("is not a loopback address") && error.contains("--tls-cert"),
                    "{error}"
                );
            }
            assert_eq!(refused(address, &format!("{tls} --web-token t")), None, "{address}");
        }
        assert!(refused("127.0.0.1:0", "--web-token=").unwrap().contains("is empty"));
    }
}
