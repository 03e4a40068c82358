//! The parts between the command and a server, so that errors name the one that failed.

use kube_client::Config;
use std::fmt;

/// A server, with the proxy and the credential plugin that requests to it need.
#[derive(Clone, Debug, Default)]
pub(crate) struct Route {
    /// The URL of the server, or a name for it.
    pub(crate) server: String,
    pub(crate) proxy: Option<Proxy>,
    /// The program that prints credentials, as the kubeconfig names it.
    pub(crate) exec_plugin: Option<String>,
}

/// A proxy.
#[derive(Clone, Debug)]
pub(crate) struct Proxy {
    /// The URL without credentials.
    pub(crate) url: String,
    /// The setting that configures it.
    pub(crate) origin: &'static str,
}

impl Route {
    /// Returns the route of a configuration.
    pub(crate) fn of(config: &Config) -> Self {
        let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
        let exec_plugin = config.auth_info.exec.as_ref().and_then(|exec| exec.command.clone());
        Self { server, proxy: config.proxy_url.as_ref().map(Proxy::of), exec_plugin }
    }

    /// Returns the route to a server without a proxy.
    pub(crate) fn direct(server: impl Into<String>) -> Self {
        Self { server: server.into(), ..Self::default() }
    }
}

impl Proxy {
    fn of(url: &http::Uri) -> Self {
        let is_set =
            |name: &&str| std::env::var(name).is_ok_and(|value| value.parse().ok().as_ref() == Some(url));
        let origin = ["HTTPS_PROXY", "https_proxy"].into_iter().find(is_set);
        Self { url: without_password(url), origin: origin.unwrap_or("proxy-url in the kubeconfig") }
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.server)?;
        self.proxy.iter().try_for_each(|proxy| write!(f, " (through the proxy {})", proxy.url))
    }
}

/// Returns the URL of a proxy without its credentials.
fn without_password(proxy: &http::Uri) -> String {
    let authority = proxy.authority().map(|authority| authority.as_str()).unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{}://{host}", proxy.scheme_str().unwrap_or("http"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_has_no_password() {
        let mut config = Config::new("https://cluster.example:6443/".parse().unwrap());
        assert_eq!(Route::of(&config).to_string(), "https://cluster.example:6443");
        config.proxy_url = Some("http://jane:sesame@proxy.example:3128".parse().unwrap());
        let route = Route::of(&config);
        assert_eq!(
            route.to_string(),
            "https://cluster.example:6443 (through the proxy http://proxy.example:3128)"
        );
        assert!(!format!("{route:?}").contains("sesame"));
    }
}
