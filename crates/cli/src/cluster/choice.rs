//! The source of the cluster's configuration.

use crate::args::Cluster;
use crate::cli_error::{Class, CliError};
use std::path::PathBuf;

/// The source of the cluster's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Choice {
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
pub(super) struct Surroundings {
    /// The files that `KUBECONFIG` names.
    pub(super) named: Vec<PathBuf>,
    /// The file in the home directory, if it exists.
    pub(super) home: Option<PathBuf>,
    pub(super) is_in_pod: bool,
}

impl Surroundings {
    pub(super) fn read() -> Self {
        let named = std::env::var_os("KUBECONFIG").unwrap_or_default();
        let named = std::env::split_paths(&named).filter(|path| !path.as_os_str().is_empty()).collect();
        let home = std::env::home_dir().map(|home| home.join(".kube").join("config"));
        let is_in_pod = std::env::var_os("KUBERNETES_SERVICE_HOST").is_some_and(|host| !host.is_empty());
        Self { named, home: home.filter(|path| path.exists()), is_in_pod }
    }
}

/// Chooses the configuration. What the user named is used or is an error; there is no silent fallback.
pub(super) fn choose(asked: &Cluster, around: &Surroundings) -> Result<Choice, CliError> {
    if asked.demo {
        return Ok(Choice::Demo);
    }
    if let Some(path) = &asked.kubeconfig {
        return Ok(Choice::Files(vec![path.clone()]));
    }
    if asked.server.is_some() && asked.context().is_none() {
        return Ok(Choice::Address);
    }
    if !around.named.is_empty() {
        return Ok(Choice::Files(around.named.clone()));
    }
    if let Some(path) = &around.home {
        return Ok(Choice::Files(vec![path.clone()]));
    }
    if let Some(context) = asked.context() {
        let what = format!("no kubeconfig found for the context {context:?}");
        return Err(CliError::new(Class::Config, what).hint("set --kubeconfig or KUBECONFIG"));
    }
    if around.is_in_pod {
        return Ok(Choice::Pod);
    }
    if asked.token.is_some() || asked.user.is_some() || asked.insecure_skip_tls_verify {
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

    fn files(path: &str) -> Choice {
        Choice::Files(vec![path.into()])
    }

    fn around(named: &[&str], home: Option<&str>, is_in_pod: bool) -> Surroundings {
        Surroundings {
            named: named.iter().map(PathBuf::from).collect(),
            home: home.map(PathBuf::from),
            is_in_pod,
        }
    }

    #[test]
    fn explicit_options_win_over_the_environment() {
        let none = Cluster::default();
        let all = around(&["named"], Some("home"), true);
        let file = Cluster { kubeconfig: Some("given".into()), ..none.clone() };
        assert_eq!(choose(&file, &all).unwrap(), files("given"));
        let server = Cluster { server: Some("http://there".into()), ..none.clone() };
        assert_eq!(choose(&server, &all).unwrap(), Choice::Address);
        let context = Cluster { contexts: vec!["c".into()], ..server };
        assert_eq!(choose(&context, &all).unwrap(), files("named"));
        assert_eq!(choose(&none, &all).unwrap(), files("named"));
        assert_eq!(choose(&none, &around(&[], Some("home"), true)).unwrap(), files("home"));
        assert_eq!(choose(&none, &around(&[], None, true)).unwrap(), Choice::Pod);
        let demo = Cluster { demo: true, ..none };
        assert_eq!(choose(&demo, &all).unwrap(), Choice::Demo);
    }

    #[test]
    fn nothing_falls_back_silently() {
        let nothing = around(&[], None, false);
        let error = choose(&Cluster::default(), &nothing).unwrap_err().to_string();
        assert!(
            error.starts_with("no cluster is configured") && error.contains("`informer demo`"),
            "{error}"
        );
        let context = Cluster { contexts: vec!["c".into()], ..Cluster::default() };
        assert!(choose(&context, &nothing).unwrap_err().to_string().contains("no kubeconfig"));
        let token = Cluster { token: Some("t".into()), ..Cluster::default() };
        let user = Cluster { user: Some("u".into()), ..Cluster::default() };
        for asked in [token, user] {
            assert!(choose(&asked, &nothing).unwrap_err().to_string().contains("no cluster"));
        }
    }
}
