//! The configuration of the cluster that was chosen.

use super::choice::Choice;
use crate::args::Cluster;
use crate::trouble::{Class, Trouble, chain};
use kube_client::{
    Config,
    config::{KubeConfigOptions, Kubeconfig, KubeconfigError},
};
use std::path::{Path, PathBuf};

/// Reads the configuration; nothing where the choice needs none.
pub(super) async fn configure(choice: &Choice, asked: &Cluster) -> Result<Option<Config>, Trouble> {
    let mut config = match choice {
        Choice::Files(paths) => from_files(paths, asked).await?,
        Choice::Address => Config::new(address(asked.server.as_deref().unwrap_or_default())?),
        Choice::Pod => Config::incluster().map_err(|error| {
            Trouble::new(
                Class::Config,
                format!("this runs in a pod, and its service account is broken: {}", chain(&error)),
            )
        })?,
        Choice::Embedded => return Ok(None),
    };
    if let Some(server) = &asked.server {
        config.cluster_url = address(server)?;
    }
    if let Some(token) = &asked.token {
        config.auth_info.token = Some(token.clone().into());
        config.auth_info.token_file = None;
        config.auth_info.exec = None;
    }
    if asked.user.is_some() {
        config.auth_info.impersonate.clone_from(&asked.user);
        config.auth_info.impersonate_groups = Some(asked.groups.clone());
        (config.auth_info.impersonate_uid, config.auth_info.impersonate_user_extra) = (None, None);
    }
    config.accept_invalid_certs |= asked.insecure_skip_tls_verify;
    // A reflector must hear of 429 and 503 to do what the server asks.
    config.default_retry = false;
    Ok(Some(config))
}

fn address(text: &str) -> Result<http::Uri, Trouble> {
    let wrong = |why: String| {
        Trouble::new(Class::Config, format!("{text:?} is no address of a server: {why}"))
            .advise("write it as https://host:port")
    };
    let address: http::Uri = text.parse().map_err(|error| wrong(format!("{error}")))?;
    match address.scheme_str() {
        Some("http" | "https") => Ok(address),
        _ => Err(wrong("it begins with neither https:// nor http://".to_owned())),
    }
}

async fn from_files(paths: &[PathBuf], asked: &Cluster) -> Result<Config, Trouble> {
    let mut merged = Kubeconfig::default();
    // Of several, those that are not there are passed over, as kubectl does.
    let there: Vec<_> = paths.iter().filter(|path| path.exists()).collect();
    let paths = if there.is_empty() { paths.iter().collect() } else { there };
    for path in &paths {
        let read = Kubeconfig::read_from(path).and_then(|next| merged.clone().merge(next));
        merged = read.map_err(|error| broken(&error, path))?;
    }
    let contexts: Vec<_> = merged.contexts.iter().map(|context| context.name.clone()).collect();
    let options = KubeConfigOptions { context: asked.context.clone(), ..KubeConfigOptions::default() };
    let config = Config::from_custom_kubeconfig(merged, &options).await;
    config.map_err(|error| unusable(&error, paths[0], &contexts))
}

/// Why a file cannot be read.
fn broken(error: &KubeconfigError, path: &Path) -> Trouble {
    let why = match error {
        KubeconfigError::ReadConfig(cause, _) => cause.to_string(),
        // What follows the first line quotes the file, which holds secrets.
        error => chain(error).lines().next().unwrap_or_default().to_owned(),
    };
    let trouble =
        Trouble::new(Class::Config, format!("the kubeconfig {} cannot be read: {why}", path.display()));
    match error {
        KubeconfigError::ReadConfig(..) => trouble.advise("name another with --kubeconfig or KUBECONFIG"),
        _ => trouble,
    }
}

/// Why files that can be read lead to no cluster.
fn unusable(error: &KubeconfigError, path: &Path, contexts: &[String]) -> Trouble {
    let known = || match contexts {
        [] => "it has no contexts at all".to_owned(),
        contexts => format!("it has the contexts {}", contexts.join(", ")),
    };
    let trouble =
        |why: String| Trouble::new(Class::Config, format!("the kubeconfig {} {why}", path.display()));
    match error {
        KubeconfigError::CurrentContextNotSet => trouble("names no current context".to_owned())
            .advise(format!("{}; choose with --context", known())),
        KubeconfigError::LoadContext(name) => trouble(format!("has no context {name:?}")).advise(known()),
        error => trouble(format!("leads to no cluster: {}", chain(error))),
    }
}
