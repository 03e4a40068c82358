//! Checks names, and generates them.

use crate::invalid::FieldError;
use crate::registry::Resource;
use serde_json::json;

/// Returns the rules of its kind that the name of an object breaks.
pub(crate) fn name_errors(resource: &Resource, name: &str) -> Vec<FieldError> {
    if name.is_empty() {
        return vec![FieldError::required("metadata.name", "name or generateName is required")];
    }
    let broken = Rule::of(resource).broken_by(name);
    broken.iter().map(|detail| FieldError::invalid("metadata.name", &json!(name), detail)).collect()
}

/// Returns the rules that a `generateName` breaks, of which the last dash is followed by other characters.
pub(super) fn broken_prefix(resource: &Resource, prefix: &str) -> Vec<String> {
    if prefix.is_empty() {
        return Vec::new();
    }
    let rule = Rule::of(resource);
    let start = prefix.strip_suffix('-').filter(|start| !start.is_empty() && rule != Rule::PathSegment);
    let name = start.map_or_else(|| prefix.to_owned(), |start| format!("{start}a"));
    rule.broken_by(&name)
}

/// Completes `generateName` with five characters of random bits.
pub(crate) fn generate_name(start: &str, bits: u64) -> String {
    /// No vowels and no characters that look like vowels, so that no words are generated.
    const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
    const ENDING: usize = 5;
    let kept = start.char_indices().nth(LABEL_LENGTH - ENDING).map_or(start, |(end, _)| &start[..end]);
    let mut name = kept.to_owned();
    let mut bits = bits;
    for _ in 0..ENDING {
        name.push(ALPHABET[(bits % 27) as usize].into());
        bits /= 27;
    }
    name
}

const LABEL_LENGTH: usize = 63;
const SUBDOMAIN_LENGTH: usize = 253;
/// The job controller appends eleven characters to the names of cron jobs.
const CRON_JOB_LENGTH: usize = 52;

/// The rule for the names of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// Labels joined by dots.
    Subdomain,
    /// A DNS label, which may start with a digit.
    Label,
    /// Anything that can be a part of a path.
    PathSegment,
    /// A subdomain that leaves room for what the controller appends.
    CronJob,
}

impl Rule {
    fn of(resource: &Resource) -> Self {
        match resource.storage() {
            ("", "namespaces") => Self::Label,
            ("", "services") | ("apps", "statefulsets") => Self::Label,
            ("rbac.authorization.k8s.io", _) => Self::PathSegment,
            ("batch", "cronjobs") => Self::CronJob,
            _ => Self::Subdomain,
        }
    }

    /// Returns the error of a name, with the message of the API server.
    fn broken_by(self, name: &str) -> Vec<String> {
        let (is_formed, form, limit) = match self {
            Self::PathSegment => return broken_segment(name),
            Self::Subdomain => (is_subdomain(name), SUBDOMAIN_FORM, SUBDOMAIN_LENGTH),
            Self::CronJob => (is_subdomain(name), SUBDOMAIN_FORM, CRON_JOB_LENGTH),
            Self::Label if is_subdomain(name) => (is_label(name), "must not contain dots", LABEL_LENGTH),
            Self::Label => (is_label(name), LABEL_FORM, LABEL_LENGTH),
        };
        let too_long = (name.len() > limit).then(|| format!("must be no more than {limit} characters"));
        too_long.into_iter().chain((!is_formed).then(|| form.to_owned())).collect()
    }
}

/// Returns the rules for subdomains that a text breaks.
pub(super) fn broken_subdomain(text: &str) -> Vec<String> {
    Rule::Subdomain.broken_by(text)
}

fn broken_segment(name: &str) -> Vec<String> {
    if name == "." || name == ".." {
        return vec![format!("may not be '{name}'")];
    }
    let held = ["/", "%"].into_iter().filter(|part| name.contains(part));
    held.map(|part| format!("may not contain '{part}'")).collect()
}

pub(crate) fn is_subdomain(name: &str) -> bool {
    name.split('.').all(is_label)
}

pub(crate) fn is_label(name: &str) -> bool {
    let is_end =
        |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let bytes = name.as_bytes();
    let is_inner = |byte: &u8| *byte == b'-' || is_end(Some(byte));
    is_end(bytes.first()) && is_end(bytes.last()) && bytes.iter().all(is_inner)
}

const SUBDOMAIN_FORM: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \
    '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for \
    validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL_FORM: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', \
    and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for \
    validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
