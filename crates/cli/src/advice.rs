//! Explains errors of a cluster, and suggests what to do.

use crate::args::ListStrategy;
use crate::cli_error::{Class, CliError, chain};
use crate::kinds::Kind;
use crate::safe::clean;
use kube_client::{Error as ClientError, client::AuthError};
use kube_core::Status;
use kube_informer::informer::SyncError;
use kube_informer_wire::StatusExt;
use rustls::{AlertDescription, CertificateError, Error as TlsError};
use std::{error::Error, io};

/// Explains an error of a request to `server`.
pub(crate) fn of_client(error: &ClientError, server: &str) -> CliError {
    match error {
        ClientError::Api(status) => of_status(status, server),
        ClientError::Auth(cause) => of_auth(cause, server),
        ClientError::SerdeError(cause) => {
            let what = format!("{server} did not answer like a Kubernetes API server: {cause}");
            CliError::new(Class::Unreachable, what)
        }
        error => of_transport(error, server),
    }
}

/// Explains why no client can be created from the configuration.
pub(crate) fn of_config(error: &ClientError, server: &str) -> CliError {
    match error {
        ClientError::Auth(cause) => of_auth(cause, server),
        error => CliError::new(
            Class::Config,
            format!("cannot use the configuration for {server}: {}", chain(error)),
        ),
    }
}

/// Explains why credentials cannot be obtained.
fn of_auth(error: &AuthError, server: &str) -> CliError {
    let what = match error {
        AuthError::AuthExecStart(cause) => {
            format!("the credential plugin of the kubeconfig cannot be run: {cause}")
        }
        AuthError::AuthExecRun { cmd, out } => {
            let stderr = String::from_utf8_lossy(&out.stderr);
            let message_text =
                stderr.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("no output on stderr");
            format!("the credential plugin {cmd:?} failed ({}): {}", out.status, clean(message_text))
        }
        error => chain(error),
    };
    CliError::new(Class::Config, format!("cannot get credentials for {server}: {what}"))
        .hint("check the user of this context in the kubeconfig: token file, certificate, or exec plugin")
}

/// Explains why a server cannot be reached.
pub(crate) fn of_transport(error: &(dyn Error + 'static), server: &str) -> CliError {
    if let Some(tls) = within::<TlsError>(error) {
        return of_tls(tls, server);
    }
    let failure = CliError::new(Class::Unreachable, format!("cannot reach {server}: {}", deepest(error)));
    match within::<io::Error>(error).map(io::Error::kind) {
        Some(io::ErrorKind::ConnectionRefused) => {
            failure.hint("the connection was refused: is the server (or the proxy) running, and is this the right context?")
        }
        Some(io::ErrorKind::TimedOut) => failure.hint("is there a VPN or a firewall in between?"),
        _ => failure,
    }
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

fn of_status(status: &Status, server: &str) -> CliError {
    let message_text = format!("{server} answered {}: {}", status.code, message_text(status));
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
        let failure = CliError::new(Class::Refused, what)
            .hint(format!("this role grants it once it is bound to you:\n{}", rule(kind, namespace)));
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
        .hint(format!("this role grants it once it is bound to you:\n{}", rule(kind, namespace)))
        .hint("or use --once, which needs no watch")
}

/// Returns the RBAC role that allows to watch a kind.
fn rule(kind: &Kind, namespace: Option<&str>) -> String {
    let name = format!("informer-{}", kind.plural);
    let (role, metadata) = match namespace {
        Some(namespace) => ("Role", format!("{{name: {name}, namespace: {namespace}}}")),
        None => ("ClusterRole", format!("{{name: {name}}}")),
    };
    format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: {role}\nmetadata: {metadata}\nrules:\n\
         - apiGroups: [\"{}\"]\n  resources: [\"{}\"]\n  verbs: [\"list\", \"watch\"]",
        kind.group, kind.plural
    )
}

fn message_text(status: &Status) -> String {
    let text = [&status.message, &status.reason].into_iter().find(|text| !text.is_empty());
    text.map_or("no message".to_owned(), |text| clean(text))
}

/// Returns the error of this type among the causes of another, including those that an `io::Error` wraps.
fn within<'e, E: Error + 'static>(error: &'e (dyn Error + 'static)) -> Option<&'e E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = wrapped.map(|wrapped| wrapped as _).or_else(|| error.source());
    }
    None
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
        of_transport(&error, "https://there").to_string()
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
        let expected = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\n\
                        metadata: {name: informer-deployments, namespace: web}\nrules:\n- apiGroups: [\"apps\"]\n  \
                        resources: [\"deployments\"]\n  verbs: [\"list\", \"watch\"]";
        assert_eq!(rule(&kind, Some("web")), expected);
    }
}
