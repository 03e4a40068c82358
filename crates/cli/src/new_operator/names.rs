//! The names of a new operator: checked, and derived from each other.

use std::fmt;

/// A name that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InvalidName(String);

impl fmt::Display for InvalidName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InvalidName {}

/// The names that occur in the files of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Names {
    /// The name of the package, the program, the image and the objects in the cluster.
    pub(super) name: String,
    /// The kind of the custom resource.
    pub(super) kind: String,
    /// The plural name of the custom resource.
    pub(super) plural: String,
    /// The API group of the custom resource.
    pub(super) group: String,
}

/// A name in a cluster is a label: at most 63 bytes. The names of pods append 17 bytes to it.
const MAX_NAME: usize = 46;

/// Package names that Cargo refuses or that are names of dependencies.
const RESERVED_NAMES: [&str; 17] = [
    "alloc",
    "build",
    "core",
    "deps",
    "examples",
    "incremental",
    "k8s-openapi",
    "kube",
    "kube-devserver",
    "kube-informer",
    "proc-macro",
    "schemars",
    "serde",
    "std",
    "test",
    "thiserror",
    "tokio",
];

/// Keywords, which cannot be the name of a crate.
const KEYWORDS: [&str; 44] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
    "else", "enum", "extern", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro",
    "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static", "struct",
    "super", "trait", "try", "type", "use", "where", "while",
];

/// Types that the generated code uses.
const RESERVED_KINDS: [&str; 37] = [
    "Action",
    "Api",
    "Arc",
    "Box",
    "Client",
    "ClusterRole",
    "ClusterRoleBinding",
    "Condition",
    "ConfigMap",
    "Context",
    "Controller",
    "CustomResource",
    "CustomResourceDefinition",
    "Deployment",
    "DevServer",
    "Duration",
    "Err",
    "Error",
    "Event",
    "Fault",
    "Informer",
    "JsonSchema",
    "Manager",
    "None",
    "Ok",
    "Option",
    "OwnerError",
    "PolicyRule",
    "ReconcileError",
    "Recorder",
    "Resource",
    "Result",
    "Self",
    "Some",
    "String",
    "Vec",
    "World",
];

impl Names {
    /// Checks the names of the command line, and derives the others.
    pub(super) fn new(name: &str, kind: Option<&str>, group: &str) -> Result<Self, InvalidName> {
        check_name(name)?;
        let kind = kind.map_or_else(|| kind_of(name), str::to_owned);
        check_kind(&kind)?;
        check_group(group)?;
        let plural = plural_of(&kind.to_lowercase());
        Ok(Self { name: name.to_owned(), kind, plural, group: group.to_owned() })
    }

    /// Returns the name of the library crate.
    pub(super) fn crate_name(&self) -> String {
        self.name.replace('-', "_")
    }
}

fn check_name(name: &str) -> Result<(), InvalidName> {
    let invalid = |reason: &str| Err(InvalidName(format!("invalid name {name:?}: {reason}")));
    let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if !name.bytes().all(is_allowed) {
        return invalid("use lower-case letters, digits and hyphens, such as website-operator");
    }
    if !name.starts_with(|first: char| first.is_ascii_lowercase()) {
        return invalid("the first character must be a letter");
    }
    if name.ends_with('-') || name.contains("--") {
        return invalid("a hyphen must be followed by a letter or a digit");
    }
    if name.len() > MAX_NAME {
        return invalid(&format!("it has {} characters, at most {MAX_NAME} are allowed", name.len()));
    }
    if KEYWORDS.contains(&name) {
        return invalid("it is a keyword of Rust");
    }
    if RESERVED_NAMES.contains(&name) {
        return invalid("it is the name of a dependency, or reserved by Cargo");
    }
    Ok(())
}

fn check_kind(kind: &str) -> Result<(), InvalidName> {
    let invalid = |reason: &str| Err(InvalidName(format!("invalid kind {kind:?}: {reason}")));
    let is_camel_case = kind.starts_with(|first: char| first.is_ascii_uppercase())
        && kind.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if !is_camel_case {
        return invalid("use letters and digits with a capital first letter, such as Website, with --kind");
    }
    if kind.len() > MAX_NAME {
        return invalid(&format!("it has {} characters, at most {MAX_NAME} are allowed", kind.len()));
    }
    if RESERVED_KINDS.contains(&kind) {
        return invalid("the generated code uses this name; choose another one with --kind");
    }
    Ok(())
}

fn check_group(group: &str) -> Result<(), InvalidName> {
    let is_label = |label: &str| {
        let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        (1..=63).contains(&label.len())
            && label.bytes().all(is_allowed)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let is_domain = group.len() <= 253 && group.contains('.') && group.split('.').all(is_label);
    if !is_domain {
        return Err(InvalidName(format!("invalid group {group:?}: use a domain, such as example.com")));
    }
    if group.ends_with(".k8s.io") || group.ends_with(".kubernetes.io") {
        return Err(InvalidName(format!(
            "invalid group {group:?}: *.k8s.io and *.kubernetes.io are reserved for Kubernetes; use your own domain"
        )));
    }
    Ok(())
}

/// Returns the kind for a name: `web-site-operator` is `WebSite`.
fn kind_of(name: &str) -> String {
    let base = name.strip_suffix("-operator").or_else(|| name.strip_suffix("-controller")).unwrap_or(name);
    let mut kind = String::new();
    for word in base.split('-') {
        let mut letters = word.chars();
        kind.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        kind.push_str(letters.as_str());
    }
    kind
}

/// Returns the plural of an English noun in lower case.
fn plural_of(noun: &str) -> String {
    let ends_with = |endings: &[&str]| endings.iter().any(|ending| noun.ends_with(ending));
    if ends_with(&["s", "x", "z", "ch", "sh"]) {
        return format!("{noun}es");
    }
    match noun.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{stem}ies"),
        _ => format!("{noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(name: &str) -> Result<Names, InvalidName> {
        Names::new(name, None, "example.com")
    }

    #[test]
    fn the_kind_and_its_plural_follow_from_the_name() {
        for (name, kind, plural) in [
            ("website-operator", "Website", "websites"),
            ("web-site", "WebSite", "websites"),
            ("proxy-controller", "Proxy", "proxies"),
            ("mailbox-operator", "Mailbox", "mailboxes"),
            ("gateway2", "Gateway2", "gateway2s"),
            ("operator", "Operator", "operators"),
        ] {
            let names = new(name).unwrap();
            assert_eq!((names.kind.as_str(), names.plural.as_str()), (kind, plural), "{name}");
        }
        let names = Names::new("ops", Some("DataBase"), "db.example.org").unwrap();
        assert_eq!((names.kind.as_str(), names.plural.as_str()), ("DataBase", "databases"));
        assert_eq!(new("web-site").unwrap().crate_name(), "web_site");
    }

    #[test]
    fn invalid_names_are_errors_with_the_reason() {
        for (name, reason) in [
            ("", "the first character must be a letter"),
            ("Website", "use lower-case letters"),
            ("../etc", "use lower-case letters"),
            ("web site", "use lower-case letters"),
            ("wébsite", "use lower-case letters"),
            ("1web", "the first character"),
            ("-web", "the first character"),
            ("web-", "a hyphen must be followed"),
            ("web--site", "a hyphen must be followed"),
            ("match", "keyword"),
            ("kube", "name of a dependency"),
            ("test", "name of a dependency, or reserved"),
        ] {
            let error = new(name).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("invalid name {name:?}: ")) && error.contains(reason),
                "{error}"
            );
        }
        assert!(new(&"a".repeat(46)).is_ok());
        assert!(new(&"a".repeat(47)).unwrap_err().to_string().contains("at most 46"));
    }

    #[test]
    fn kinds_of_the_generated_code_and_invalid_groups_are_errors() {
        let error = new("action-operator").unwrap_err().to_string();
        assert!(error.contains("\"Action\"") && error.contains("--kind"), "{error}");
        for kind in ["website", "Web-Site", "", "Wébsite"] {
            assert!(Names::new("ops", Some(kind), "example.com").is_err(), "{kind}");
        }
        for group in ["", "example", "Example.com", "-a.com", "a..com", "apps.k8s.io", "a.com/b"] {
            let error = Names::new("ops", None, group).unwrap_err().to_string();
            assert!(error.starts_with(&format!("invalid group {group:?}: ")), "{error}");
        }
    }
}
