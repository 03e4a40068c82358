//! Parses the path of a request.

use crate::fault::Verb;
use crate::verb::Document;
use http::Method;
use percent_encoding::percent_decode_str;

/// The target of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// `/healthz` and the other health endpoints.
    Health,
    /// A discovery document.
    Document(Document),
    /// The OpenAPI v2 document, which is empty so that old clients do not validate objects.
    Swagger,
    /// Objects.
    Objects(Target),
    /// The endpoint for faults; the rest of the path.
    Control(Vec<String>),
}

/// One object or a collection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) plural: String,
    pub(crate) namespace: Option<String>,
    /// The name of the object; `None` for a collection.
    pub(crate) name: Option<String>,
    /// The subresource.
    pub(crate) subresource: Option<String>,
}

impl Route {
    /// Parses a path; `None` if it is unknown. `host` is the host name of the request.
    pub(crate) fn parse(path: &str, host: &str) -> Option<Self> {
        let path = path.strip_prefix('/')?;
        let path = path.strip_suffix('/').unwrap_or(path);
        let decode = |part: &str| percent_decode_str(part).decode_utf8().ok().map(String::from);
        let parts: Vec<String> = path.split('/').map(decode).collect::<Option<_>>()?;
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let version = |group: &str, version: &str| Document::Version(group.to_owned(), version.to_owned());
        let description =
            |group: &str, version: &str| Document::Description(group.to_owned(), version.to_owned());
        Some(match parts.as_slice() {
            ["healthz" | "livez" | "readyz", ..] => Self::Health,
            ["version"] => Self::Document(Document::Server),
            ["openapi", "v2"] => Self::Swagger,
            ["openapi", "v3"] => Self::Document(Document::Descriptions),
            ["openapi", "v3", "api", core] => Self::Document(description("", core)),
            ["openapi", "v3", "apis", group, name] => Self::Document(description(group, name)),
            ["api"] => Self::Document(Document::Core(host.to_owned())),
            ["apis"] => Self::Document(Document::Groups),
            ["api", core] => Self::Document(version("", core)),
            ["apis", group] => Self::Document(Document::Group((*group).to_owned())),
            ["apis", group, name] => Self::Document(version(group, name)),
            ["api", version, rest @ ..] => Self::Objects(Target::parse("", version, rest)?),
            ["apis", group, version, rest @ ..] => Self::Objects(Target::parse(group, version, rest)?),
            ["devserver", rest @ ..] => Self::Control(rest.iter().map(|part| (*part).to_owned()).collect()),
            _ => return None,
        })
    }
}

impl Target {
    fn parse(group: &str, version: &str, rest: &[&str]) -> Option<Self> {
        if rest.iter().any(|part| part.is_empty()) {
            return None;
        }
        let owned = |text: &&str| Some((*text).to_owned());
        let (namespace, rest) = match rest {
            // Namespaces are objects themselves, with parts of their own.
            ["namespaces", _, "status" | "finalize"] if group.is_empty() => (None, rest),
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (owned(namespace), rest),
            _ => (None, rest),
        };
        let (plural, name, subresource) = match rest {
            [plural] => (plural, None, None),
            [plural, name] => (plural, owned(name), None),
            [plural, name, subresource] => (plural, owned(name), owned(subresource)),
            _ => return None,
        };
        let (group, version, plural) = (group.to_owned(), version.to_owned(), (*plural).to_owned());
        Some(Self { group, version, plural, namespace, name, subresource })
    }

    /// Returns the verb of a request with this method and query string, if there is one.
    pub(crate) fn verb(&self, method: &Method, query: &str) -> Option<Verb> {
        let is_watch = || {
            let mut parameters = form_urlencoded::parse(query.as_bytes());
            let watch = parameters.find(|(name, _)| name == "watch");
            watch.is_some_and(|(_, value)| value != "0" && !value.eq_ignore_ascii_case("false"))
        };
        match (method.as_str(), self.name.is_some()) {
            ("GET", _) if is_watch() && self.subresource.is_none() => Some(Verb::Watch),
            ("GET", false) => Some(Verb::List),
            ("GET", true) => Some(Verb::Get),
            ("POST", true) if self.subresource.is_some() => Some(Verb::Create),
            ("POST", false) => Some(Verb::Create),
            ("PUT", true) => Some(Verb::Update),
            ("PATCH", true) => Some(Verb::Patch),
            ("DELETE", true) => Some(Verb::Delete),
            ("DELETE", false) => Some(Verb::DeleteCollection),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn target(path: &str) -> [String; 6] {
        match Route::parse(path, "h") {
            Some(Route::Objects(at)) => {
                let text = |part: Option<String>| part.unwrap_or_default();
                [at.group, at.version, text(at.namespace), at.plural, text(at.name), text(at.subresource)]
            }
            other => panic!("{path} is {other:?}"),
        }
    }

    #[test]
    fn paths_lead_to_objects() {
        let table = [
            ("/api/v1/pods", ["", "v1", "", "pods", "", ""]),
            ("/api/v1/pods/", ["", "v1", "", "pods", "", ""]),
            ("/api/v1/namespaces/a/pods", ["", "v1", "a", "pods", "", ""]),
            ("/api/v1/namespaces/a/pods/b", ["", "v1", "a", "pods", "b", ""]),
            ("/api/v1/namespaces/a/pods/b/status", ["", "v1", "a", "pods", "b", "status"]),
            ("/api/v1/namespaces", ["", "v1", "", "namespaces", "", ""]),
            ("/api/v1/namespaces/a", ["", "v1", "", "namespaces", "a", ""]),
            ("/api/v1/namespaces/a/status", ["", "v1", "", "namespaces", "a", "status"]),
            (
                "/apis/apps/v1/namespaces/a/deployments/b/scale",
                ["apps", "v1", "a", "deployments", "b", "scale"],
            ),
            ("/apis/g/v1/roles/system%3Anode", ["g", "v1", "", "roles", "system:node", ""]),
        ];
        for (path, expected) in table {
            assert_eq!(target(path), expected, "{path}");
        }
    }

    #[test]
    fn other_paths_lead_to_documents_or_nowhere() {
        let document = |path| match Route::parse(path, "h") {
            Some(Route::Document(document)) => Some(document),
            _ => None,
        };
        assert_eq!(document("/api"), Some(Document::Core("h".into())));
        assert_eq!(document("/api/v1/"), Some(Document::Version("".into(), "v1".into())));
        assert_eq!(document("/apis/apps/v1"), Some(Document::Version("apps".into(), "v1".into())));
        assert_eq!(Route::parse("/readyz/etcd", "h"), Some(Route::Health));
        for path in ["", "/", "x", "/openapi/v4", "/api/v1//pods", "/api/v1/a/b/c/d", "/apis/a/b/c/%ff"] {
            assert_eq!(Route::parse(path, "h"), None, "{path}");
        }
    }

    proptest! {
        #[test]
        fn never_panics_on_a_path(path in "(/?[a-z%0-9./]{0,6}){0,6}", any in "\\PC{0,20}") {
            for path in [path, any] {
                let _ = Route::parse(&path, "");
            }
        }
    }
}
