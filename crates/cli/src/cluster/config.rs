//! The configuration of the cluster that was chosen.

use super::config_source::ConfigSource;
use crate::args::Cluster;
use crate::cli_error::{Class, CliError, chain};
use kube_client::{
    Config,
    config::{KubeConfigOptions, Kubeconfig, KubeconfigError},
};
use std::path::{Path, PathBuf};

/// Reads the configuration; `None` for the built-in server.
pub(super) async fn configure(choice: &ConfigSource, args: &Cluster) -> Result<Option<Config>, CliError> {
    let mut config = match choice {
        ConfigSource::Files(paths) => from_files(paths, args).await?,
        ConfigSource::Address => Config::new(address(args.server.as_deref().unwrap_or_default())?),
        ConfigSource::Pod => Config::incluster().map_err(|error| {
            CliError::new(
                Class::Config,
                format!("cannot read the service account of this pod: {}", chain(&error)),
            )
        })?,
        ConfigSource::Demo => return Ok(None),
    };
    if let Some(server) = &args.server {
        config.cluster_url = address(server)?;
    }
    if let Some(token) = &args.token {
        config.auth_info.token = Some(token.clone().into());
        config.auth_info.token_file = None;
        config.auth_info.exec = None;
    }
    if args.user.is_some() {
        config.auth_info.impersonate.clone_from(&args.user);
        config.auth_info.impersonate_groups = Some(args.groups.clone());
        (config.auth_info.impersonate_uid, config.auth_info.impersonate_user_extra) = (None, None);
    }
    config.accept_invalid_certs |= args.insecure_skip_tls_verify;
    // The reflector handles 429 and 503 itself.
    config.default_retry = false;
    Ok(Some(config))
}

fn address(text: &str) -> Result<http::Uri, CliError> {
    let wrong = |why: String| {
        CliError::new(Class::Config, format!("{text:?} is not a server URL: {why}"))
            .hint("expected https://host:port")
    };
    let address: http::Uri = text.parse().map_err(|error| wrong(format!("{error}")))?;
    match address.scheme_str() {
        Some("http" | "https") => Ok(address),
        _ => Err(wrong("it starts with neither https:// nor http://".to_owned())),
    }
}

async fn from_files(paths: &[PathBuf], args: &Cluster) -> Result<Config, CliError> {
    let mut merged = Kubeconfig::default();
    // Like kubectl, skips files that do not exist if there are others.
    let there: Vec<_> = paths.iter().filter(|path| path.exists()).collect();
    let paths = if there.is_empty() { paths.iter().collect() } else { there };
    for path in &paths {
        let read = Kubeconfig::read_from(path).and_then(|next| merged.clone().merge(next));
        merged = read.map_err(|error| broken(&error, path))?;
    }
    let contexts: Vec<_> = merged.contexts.iter().map(|context| context.name.clone()).collect();
    let user = unknown_user(&merged, args.context());
    let options =
        KubeConfigOptions { context: args.context().map(str::to_owned), ..KubeConfigOptions::default() };
    let config = Config::from_custom_kubeconfig(merged, &options).await;
    let config = config.map_err(|error| unusable(&error, paths[0], &contexts))?;
    if let Some(user) = user.filter(|_| args.token.is_none()) {
        let what =
            format!("the kubeconfig {} has no user {user:?}, which its context names", paths[0].display());
        return Err(CliError::new(Class::Config, what).hint("add the user, or choose another with --context"));
    }
    readable(&config, paths[0])?;
    Ok(config)
}

/// Returns the user that the context names if the kubeconfig does not define it.
fn unknown_user(kubeconfig: &Kubeconfig, context: Option<&str>) -> Option<String> {
    let name = context.or(kubeconfig.current_context.as_deref())?;
    let context = kubeconfig.contexts.iter().find(|context| context.name == name)?.context.as_ref()?;
    let user = context.user.as_ref().filter(|user| !user.is_empty())?;
    kubeconfig.auth_infos.iter().all(|info| info.name != *user).then(|| user.clone())
}

/// Checks the files that the kubeconfig refers to, so that the error names them.
fn readable(config: &Config, path: &Path) -> Result<(), CliError> {
    let auth = &config.auth_info;
    let files = [
        ("client-certificate", &auth.client_certificate),
        ("client-key", &auth.client_key),
        ("tokenFile", &auth.token_file),
    ];
    for (field, file) in files {
        let Some(file) = file else { continue };
        if let Err(error) = std::fs::File::open(file) {
            let what =
                format!("cannot read {file}, the {field} of the kubeconfig {}: {error}", path.display());
            return Err(CliError::new(Class::Config, what));
        }
    }
    Ok(())
}

/// Explains why a kubeconfig cannot be read.
fn broken(error: &KubeconfigError, path: &Path) -> CliError {
    let why = match error {
        KubeconfigError::ReadConfig(cause, _) => cause.to_string(),
        // The lines after the first quote the file, which contains secrets.
        error => chain(error).lines().next().unwrap_or_default().to_owned(),
    };
    let failure =
        CliError::new(Class::Config, format!("cannot read the kubeconfig {}: {why}", path.display()));
    match error {
        KubeconfigError::ReadConfig(..) => failure.hint("set another with --kubeconfig or KUBECONFIG"),
        _ => failure,
    }
}

/// Explains why a kubeconfig does not describe a cluster.
fn unusable(error: &KubeconfigError, path: &Path, contexts: &[String]) -> CliError {
    let known = || match contexts {
        [] => "it has no contexts".to_owned(),
        contexts => format!("it has the contexts {}", contexts.join(", ")),
    };
    let failure =
        |why: String| CliError::new(Class::Config, format!("the kubeconfig {} {why}", path.display()));
    match error {
        KubeconfigError::CurrentContextNotSet => {
            failure("has no current context".to_owned()).hint(format!("{}; choose with --context", known()))
        }
        KubeconfigError::LoadContext(name) => failure(format!("has no context {name:?}")).hint(known()),
        error => failure(format!("is invalid: {}", chain(error))),
    }
}
