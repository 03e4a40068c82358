//! The source of the cluster's configuration.

use crate::args::Cluster;
use crate::cli_error::{Class, CliError};
use std::path::PathBuf;

/// The source of the cluster's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ConfigSource {
    /// Kubeconfig files, merged as in kubectl. `--server` takes precedence.
    Files(Vec<PathBuf>),
    /// `--server` without a kubeconfig.
    Address,
    /// The service account of the pod that this runs in.
    Pod,
    /// The built-in server with demo data.
    Demo,
}

/// The configuration that the environment offers.
#[derive(Clone, Debug, Default)]
pub(super) struct Environment {
    /// The files that `KUBECONFIG` names.
    pub(super) named: Vec<PathBuf>,
    /// The file in the home directory, if it exists.
    pub(super) home: Option<PathBuf>,
    pub(super) is_in_pod: bool,
}

impl Environment {
    pub(super) fn read() -> Self {
        let named = std::env::var_os("KUBECONFIG").unwrap_or_default();
        let named = std::env::split_paths(&named).filter(|path| !path.as_os_str().is_empty()).collect();
        let home = std::env::home_dir().map(|home| home.join(".kube").join("config"));
        let is_in_pod = std::env::var_os("KUBERNETES_SERVICE_HOST").is_some_and(|host| !host.is_empty());
        Self { named, home: home.filter(|path| path.exists()), is_in_pod }
    }
}

/// Chooses the configuration. What the user named is used or is an error; there is no silent fallback.
pub(super) fn choose(args: &Cluster, environment: &Environment) -> Result<ConfigSource, CliError> {
    if args.demo {
        return Ok(ConfigSource::Demo);
    }
    if let Some(path) = &args.kubeconfig {
        return Ok(ConfigSource::Files(vec![path.clone()]));
    }
    if args.server.is_some() && args.context().is_none() {
        return Ok(ConfigSource::Address);
    }
    if !environment.named.is_empty() {
        return Ok(ConfigSource::Files(environment.named.clone()));
    }
    if let Some(path) = &environment.home {
        return Ok(ConfigSource::Files(vec![path.clone()]));
    }
    if let Some(context) = args.context() {
        let what = format!("no kubeconfig found for the context {context:?}");
        return Err(CliError::new(Class::Config, what).hint("set --kubeconfig or KUBECONFIG"));
    }
    if environment.is_in_pod {
        return Ok(ConfigSource::Pod);
    }
    if args.token.is_some() || args.user.is_some() || args.insecure_skip_tls_verify {
        let what = "credentials were given, but no cluster is configured";
        return Err(CliError::new(Class::Config, what).hint("set --server or --kubeconfig"));
    }
    Err(CliError::new(Class::Config, "no cluster is configured")
        .hint("set --kubeconfig, --server or KUBECONFIG")
        .hint("or use a built-in server with demo data: `informer demo`, or this command with --demo"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(path: &str) -> ConfigSource {
        ConfigSource::Files(vec![path.into()])
    }

    fn environment(named: &[&str], home: Option<&str>, is_in_pod: bool) -> Environment {
        Environment {
            named: named.iter().map(PathBuf::from).collect(),
            home: home.map(PathBuf::from),
            is_in_pod,
        }
    }

    #[test]
    fn explicit_options_win_over_the_environment() {
        let none = Cluster::default();
        let all = environment(&["named"], Some("home"), true);
        let file = Cluster { kubeconfig: Some("given".into()), ..none.clone() };
        assert_eq!(choose(&file, &all).unwrap(), files("given"));
        let server = Cluster { server: Some("http://there".into()), ..none.clone() };
        assert_eq!(choose(&server, &all).unwrap(), ConfigSource::Address);
        let context = Cluster { contexts: vec!["c".into()], ..server };
        assert_eq!(choose(&context, &all).unwrap(), files("named"));
        assert_eq!(choose(&none, &all).unwrap(), files("named"));
        assert_eq!(choose(&none, &environment(&[], Some("home"), true)).unwrap(), files("home"));
        assert_eq!(choose(&none, &environment(&[], None, true)).unwrap(), ConfigSource::Pod);
        let demo = Cluster { demo: true, ..none };
        assert_eq!(choose(&demo, &all).unwrap(), ConfigSource::Demo);
    }

    #[test]
    fn nothing_falls_back_silently() {
        let nothing = environment(&[], None, false);
        let error = choose(&Cluster::default(), &nothing).unwrap_err().to_string();
        assert!(
            error.starts_with("no cluster is configured") && error.contains("`informer demo`"),
            "{error}"
        );
        let context = Cluster { contexts: vec!["c".into()], ..Cluster::default() };
        assert!(choose(&context, &nothing).unwrap_err().to_string().contains("no kubeconfig"));
        let token = Cluster { token: Some("t".into()), ..Cluster::default() };
        let user = Cluster { user: Some("u".into()), ..Cluster::default() };
        for args in [token, user] {
            assert!(choose(&args, &nothing).unwrap_err().to_string().contains("no cluster"));
        }
    }
}
