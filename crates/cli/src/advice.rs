//! Explains errors of a cluster, and suggests what to do.

use crate::args::ListStrategy;
use crate::cli_error::{Class, CliError, chain};
use crate::kinds::Kind;
use crate::route::{Proxy, Route};
use crate::safe::clean;
use kube_client::{Error as ClientError, client::AuthError};
use kube_core::Status;
use kube_informer::informer::SyncError;
use kube_informer_wire::StatusExt;
use rustls::{AlertDescription, CertificateError, Error as TlsError};
use serde_json::Value;
use std::{error::Error, io};

/// Explains an error of a request to a server.
pub(crate) fn of_client(error: &ClientError, route: &Route) -> CliError {
    match error {
        ClientError::Api(status) => of_status(status, route),
        ClientError::Auth(cause) => of_auth(cause, route),
        ClientError::SerdeError(cause) => {
            let what = format!("{route} did not answer like a Kubernetes API server: {cause}");
            CliError::new(Class::Unreachable, what)
        }
        error => of_route(error, route).unwrap_or_else(|| of_transport(error, route)),
    }
}

/// Explains why no client can be created from the configuration.
pub(crate) fn of_config(error: &ClientError, route: &Route) -> CliError {
    match error {
        ClientError::Auth(cause) => of_auth(cause, route),
        error => CliError::new(
            Class::Config,
            format!("cannot use the configuration for {route}: {}", chain(error)),
        ),
    }
}

/// Explains why credentials cannot be obtained.
fn of_auth(error: &AuthError, route: &Route) -> CliError {
    let what = exec_plugin_error(error, route.exec_plugin.as_deref()).unwrap_or_else(|| chain(error));
    CliError::new(Class::Config, format!("cannot get credentials for {}: {what}", route.server))
        .hint("check the user of this context in the kubeconfig: token file, certificate, or exec plugin")
}

/// Describes the failure of a credential plugin; `None` if it is another error. Its output is not part of it, because it may have a token.
fn exec_plugin_error(error: &AuthError, plugin: Option<&str>) -> Option<String> {
    let plugin = plugin.map_or("the credential plugin".to_owned(), |name| {
        format!("the credential plugin \"{}\"", clean(name))
    });
    Some(match error {
        AuthError::AuthExecStart(cause) => format!("{plugin} cannot be run: {cause}"),
        AuthError::AuthExecRun { out, .. } => {
            let stderr = String::from_utf8_lossy(&out.stderr);
            let first = stderr.lines().map(str::trim).find(|line| !line.is_empty());
            format!(
                "{plugin} failed ({}): {}",
                out.status,
                first.map_or("see its messages above".into(), clean)
            )
        }
        AuthError::AuthExecParse(_) => format!("{plugin} did not print an ExecCredential in JSON"),
        AuthError::ExecPluginFailed => format!("{plugin} printed no ExecCredential with a status"),
        AuthError::MalformedTokenExpirationDate(cause) => {
            format!("{plugin} printed an invalid expirationTimestamp: {cause}")
        }
        AuthError::MissingCommand => "the exec plugin of the kubeconfig has no command".to_owned(),
        _ => return None,
    })
}

/// Explains an error if a part of the route other than the server failed; `None` otherwise.
pub(crate) fn of_route(error: &(dyn Error + 'static), route: &Route) -> Option<CliError> {
    let of_auth = |cause| of_auth(cause, route);
    let proxy = || of_proxy(error, route.proxy.as_ref()?, &route.server);
    within::<AuthError>(error).map(of_auth).or_else(proxy)
}

/// Explains why a server cannot be reached.
fn of_transport(error: &(dyn Error + 'static), route: &Route) -> CliError {
    if let Some(tls) = within::<TlsError>(error) {
        return of_tls(tls, &route.to_string());
    }
    let failure = CliError::new(Class::Unreachable, format!("cannot reach {route}: {}", deepest(error)));
    match within::<io::Error>(error).map(io::Error::kind) {
        Some(io::ErrorKind::ConnectionRefused) => {
            failure.hint("the connection was refused: is the server running, and is this the right context?")
        }
        Some(io::ErrorKind::TimedOut) => failure.hint("is there a VPN or a firewall in between?"),
        _ => failure,
    }
}

/// The start of the errors of a tunnel, whose type is private.
const TUNNEL: &str = "tunnel error: ";

/// Explains why a proxy opened no tunnel to a server; `None` if it did.
fn of_proxy(error: &(dyn Error + 'static), proxy: &Proxy, server: &str) -> Option<CliError> {
    let tunnel = causes(error).find_map(|cause| cause.to_string().strip_prefix(TUNNEL).map(str::to_owned))?;
    let Proxy { url, origin } = proxy;
    let advice = format!("the proxy is configured by {origin}");
    let what = match (within::<io::Error>(error), tunnel.as_str()) {
        (Some(cause), _) => format!("cannot reach the proxy {url} for {server}: {cause}"),
        (None, "unsuccessful") => {
            format!("the proxy {url} refused to connect to {server}: it answered CONNECT with an error")
        }
        (None, reason) => format!("the proxy {url} did not connect to {server}: {reason}"),
    };
    Some(CliError::new(Class::Unreachable, what).hint(advice))
}

fn of_tls(error: &TlsError, server: &str) -> CliError {
    let failure = |what: &str| CliError::new(Class::Unreachable, format!("{server}: {what} ({error})"));
    let trust = "the kubeconfig's certificate-authority must be the one that signed it; \
                 or pass --insecure-skip-tls-verify to skip verification";
    match error {
        TlsError::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
            failure("the server's certificate has expired")
                .hint("renew it, and check the clock of this machine")
        }
        TlsError::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => failure("the server's certificate is for other names")
            .hint("use one of its names in --server, or set tls-server-name in the kubeconfig"),
        TlsError::InvalidCertificate(_) => failure("the server's certificate is not trusted").hint(trust),
        TlsError::AlertReceived(
            AlertDescription::CertificateExpired
            | AlertDescription::CertificateRequired
            | AlertDescription::BadCertificate
            | AlertDescription::UnknownCA
            | AlertDescription::CertificateUnknown,
        ) => failure("the server does not accept the client certificate")
            .hint("it may have expired: get a new kubeconfig"),
        TlsError::InvalidMessage(_) => {
            failure("the server does not use TLS").hint("use http:// instead of https:// in its URL")
        }
        _ => failure("TLS failed"),
    }
}

fn of_status(status: &Status, route: &Route) -> CliError {
    let message_text = format!("{route} answered {}: {}", status.code, message_text(status));
    if status.is_unauthorized_status() {
        return unauthorized(message_text);
    }
    if status.is_forbidden_status() {
        return CliError::new(Class::Refused, message_text)
            .hint("the credentials are valid but lack this permission");
    }
    CliError::new(Class::Other, message_text)
}

fn unauthorized(what: String) -> CliError {
    CliError::new(Class::Refused, what).hint(
        "the credentials are missing, invalid or expired: log in again, or get a new kubeconfig or token",
    )
}

/// Explains why a cache did not sync.
pub(crate) fn of_sync(error: &SyncError, kind: &Kind, strategy: ListStrategy) -> CliError {
    let SyncError::Refused { namespace, status, .. } = error else {
        return CliError::new(Class::Other, chain(error));
    };
    of_refusal(&Refusal { kind, namespace: namespace.as_deref(), status }, strategy)
}

/// A list or watch that the server refused.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refusal<'s> {
    pub(crate) kind: &'s Kind,
    /// The namespace; `None` for all.
    pub(crate) namespace: Option<&'s str>,
    pub(crate) status: &'s Status,
}

/// Explains why the server refused a list or a watch.
pub(crate) fn of_refusal(refusal: &Refusal<'_>, strategy: ListStrategy) -> CliError {
    let Refusal { kind, namespace, status } = *refusal;
    let resource = kind.resource();
    let place = namespace.map_or("all namespaces".to_owned(), |name| format!("namespace {name}"));
    if status.is_forbidden_status() {
        let place = if kind.has_namespaces { format!(" in {place}") } else { String::new() };
        let what =
            format!("you are not allowed to list and watch {resource}{place}: {}", message_text(status));
        let failure = CliError::new(Class::Refused, what).hint(grant(kind, namespace, status));
        return if kind.has_namespaces && namespace.is_none() {
            failure.hint("or select namespaces that you are allowed to read, with -n")
        } else {
            failure
        };
    }
    if status.is_unauthorized_status() {
        return unauthorized(format!(
            "cannot watch {resource}: the server returned 401: {}",
            message_text(status)
        ));
    }
    let what =
        format!("cannot watch {resource}: the server returned {}: {}", status.code, message_text(status));
    let failure = CliError::new(if status.code == 404 { Class::Kind } else { Class::Other }, what);
    match (strategy, status.code) {
        (ListStrategy::Stream, 400 | 422) => failure
            .hint("the server does not support streaming lists; use --strategy auto to fall back to LIST"),
        (ListStrategy::Auto | ListStrategy::Stream | ListStrategy::List, _) => failure,
    }
}

/// Explains a watch that the server forbids although it allows the list.
pub(crate) fn of_denied_watch(kind: &Kind, namespace: Option<&str>, status: &Status) -> CliError {
    let what = format!(
        "you are allowed to list {0} but not to watch them: {1}",
        kind.resource(),
        message_text(status)
    );
    CliError::new(Class::Refused, what)
        .hint(grant(kind, namespace, status))
        .hint("or use --once, which needs no watch")
}

/// Returns the RBAC role that allows to watch a kind, and its binding to the user that was refused.
fn grant(kind: &Kind, namespace: Option<&str>, refusal: &Status) -> String {
    let name = format!("informer-{}", kind.plural);
    let (role, metadata) = match namespace {
        Some(namespace) => ("Role", format!("{{name: {name}, namespace: {namespace}}}")),
        None => ("ClusterRole", format!("{{name: {name}}}")),
    };
    let group = "rbac.authorization.k8s.io";
    let user = refused_user(refusal)
        .map_or_else(|| "YOUR-USER".to_owned(), |user| Value::from(clean(user)).to_string());
    format!(
        "this {role} grants it once it is bound to you:\n\
         apiVersion: {group}/v1\nkind: {role}\nmetadata: {metadata}\nrules:\n\
         - apiGroups: [\"{}\"]\n  resources: [\"{}\"]\n  verbs: [\"list\", \"watch\"]\n\
         ---\n\
         apiVersion: {group}/v1\nkind: {role}Binding\nmetadata: {metadata}\n\
         roleRef: {{apiGroup: {group}, kind: {role}, name: {name}}}\n\
         subjects:\n- {{apiGroup: {group}, kind: User, name: {user}}}",
        kind.group, kind.plural
    )
}

/// Returns the user in the message of kube-apiserver: `pods is forbidden: User "jane" cannot list resource ..`.
fn refused_user(refusal: &Status) -> Option<&str> {
    let (_, after) = refusal.message.split_once("User \"")?;
    let (user, after) = after.split_once('"')?;
    after.starts_with(" cannot ").then_some(user)
}

fn message_text(status: &Status) -> String {
    let text = [&status.message, &status.reason].into_iter().find(|text| !text.is_empty());
    text.map_or("no message".to_owned(), |text| clean(text))
}

/// Returns the error of this type among an error and its causes.
fn within<'e, E: Error + 'static>(error: &'e (dyn Error + 'static)) -> Option<&'e E> {
    causes(error).find_map(|cause| cause.downcast_ref())
}

/// Returns an error and its causes, including those that an `io::Error` wraps.
fn causes<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error: &&'e (dyn Error + 'static)| {
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        wrapped.map(|wrapped| wrapped as _).or_else(|| error.source())
    })
}

/// Returns the innermost cause.
fn deepest<'e>(error: &'e (dyn Error + 'static)) -> &'e (dyn Error + 'static) {
    let mut deepest = error;
    while let Some(cause) = deepest.source() {
        deepest = cause;
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tls(error: TlsError) -> String {
        let error = io::Error::other(io::Error::new(io::ErrorKind::InvalidData, error));
        of_transport(&error, &Route::direct("https://there")).to_string()
    }

    #[test]
    fn each_certificate_error_has_its_own_text() {
        let expired = tls(TlsError::InvalidCertificate(CertificateError::Expired));
        assert!(expired.starts_with("https://there: the server's certificate has expired"), "{expired}");
        let unknown = tls(TlsError::InvalidCertificate(CertificateError::UnknownIssuer));
        assert!(
            unknown.contains("is not trusted") && unknown.contains("--insecure-skip-tls-verify"),
            "{unknown}"
        );
        let client = tls(TlsError::AlertReceived(AlertDescription::CertificateExpired));
        assert!(client.contains("does not accept the client certificate"), "{client}");
    }

    #[test]
    fn the_role_grants_what_is_missing() {
        let kind = Kind { group: "apps".into(), plural: "deployments".into(), ..Kind::default() };
        let message = r#"deployments.apps is forbidden: User "system:serviceaccount:web:ci" cannot list resource "deployments""#;
        let expected = r#"this Role grants it once it is bound to you:
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: informer-deployments, namespace: web}
rules:
- apiGroups: ["apps"]
  resources: ["deployments"]
  verbs: ["list", "watch"]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: informer-deployments, namespace: web}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: informer-deployments}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: "system:serviceaccount:web:ci"}"#;
        let refusal = Status { message: message.to_owned(), ..Status::default() };
        assert_eq!(grant(&kind, Some("web"), &refusal), expected);
        let unknown = grant(&kind, None, &Status::default());
        assert!(
            unknown.contains("kind: ClusterRoleBinding") && unknown.contains("name: YOUR-USER"),
            "{unknown}"
        );
    }
}
