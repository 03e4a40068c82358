//! Where the cluster's configuration comes from.

use crate::args::Cluster;
use crate::trouble::{Class, Trouble};
use std::path::PathBuf;

/// Where the cluster's configuration comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// These files, of which the first to say something is right; `--server` takes precedence.
    Files(Vec<PathBuf>),
    /// An address alone.
    Address,
    /// The pod that this runs in.
    Pod,
    /// Nothing: the server within this process.
    Embedded,
}

/// What the environment says of clusters.
#[derive(Clone, Debug, Default)]
pub(super) struct Surroundings {
    /// The files that `KUBECONFIG` names.
    pub(super) named: Vec<PathBuf>,
    /// The file in the home directory, if it is there.
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

/// What is meant by what was given; whatever is configured is meant, even if it turns out to be broken.
pub(super) fn choose(asked: &Cluster, around: &Surroundings) -> Result<Choice, Trouble> {
    if let Some(path) = &asked.kubeconfig {
        return Ok(Choice::Files(vec![path.clone()]));
    }
    if asked.server.is_some() && asked.context.is_none() {
        return Ok(Choice::Address);
    }
    if !around.named.is_empty() {
        return Ok(Choice::Files(around.named.clone()));
    }
    if let Some(path) = &around.home {
        return Ok(Choice::Files(vec![path.clone()]));
    }
    if let Some(context) = &asked.context {
        let what = format!("there is no kubeconfig in which to look for the context {context:?}");
        return Err(Trouble::new(Class::Config, what).advise("name one with --kubeconfig or KUBECONFIG"));
    }
    if around.is_in_pod {
        return Ok(Choice::Pod);
    }
    if asked.token.is_some() || asked.user.is_some() || asked.insecure_skip_tls_verify {
        let what = "credentials were given, and no cluster to present them to";
        return Err(Trouble::new(Class::Config, what).advise("name one with --server or --kubeconfig"));
    }
    Ok(Choice::Embedded)
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
    fn what_is_nearest_to_the_person_wins() {
        let none = Cluster::default();
        let all = around(&["named"], Some("home"), true);
        let file = Cluster { kubeconfig: Some("given".into()), ..none.clone() };
        assert_eq!(choose(&file, &all).unwrap(), files("given"));
        let server = Cluster { server: Some("http://there".into()), ..none.clone() };
        assert_eq!(choose(&server, &all).unwrap(), Choice::Address);
        let context = Cluster { context: Some("c".into()), ..server };
        assert_eq!(choose(&context, &all).unwrap(), files("named"));
        assert_eq!(choose(&none, &all).unwrap(), files("named"));
        assert_eq!(choose(&none, &around(&[], Some("home"), true)).unwrap(), files("home"));
        assert_eq!(choose(&none, &around(&[], None, true)).unwrap(), Choice::Pod);
        assert_eq!(choose(&none, &around(&[], None, false)).unwrap(), Choice::Embedded);
    }

    #[test]
    fn nothing_falls_back_silently() {
        let nothing = around(&[], None, false);
        let context = Cluster { context: Some("c".into()), ..Cluster::default() };
        assert!(choose(&context, &nothing).unwrap_err().to_string().contains("no kubeconfig"));
        let token = Cluster { token: Some("t".into()), ..Cluster::default() };
        let user = Cluster { user: Some("u".into()), ..Cluster::default() };
        for asked in [token, user] {
            assert!(choose(&asked, &nothing).unwrap_err().to_string().contains("no cluster"));
        }
    }
}
