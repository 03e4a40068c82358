//! The options of `informer wait`.

use super::{cluster::Cluster, duration::duration, informer_args::InformerArgs};
use crate::jsonpath::Path;
use clap::Args;
use std::time::Duration;

/// The options of `informer wait`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Wait {
    /// The objects to wait for: pod/front-1, pod front-1 front-2; or resources, with --all or a selector
    #[arg(required = true, value_name = "RESOURCE", value_delimiter = ',')]
    pub(crate) resources: Vec<String>,

    /// The condition: condition=Ready, condition=Ready=false, delete, create, jsonpath='{.status.phase}'=Running
    #[arg(long = "for", value_name = "CONDITION", value_parser = condition)]
    pub(crate) condition: Condition,

    /// Wait for all objects of the resources
    #[arg(long)]
    pub(crate) all: bool,

    /// How long to wait; 0 checks once, a negative time waits without a limit
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = limit, allow_hyphen_values = true)]
    pub(crate) timeout: Limit,

    /// Print only errors
    #[arg(short, long)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) informer_args: InformerArgs,

    #[command(flatten)]
    pub(crate) cluster: Cluster,
}

/// The condition that objects have to meet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Condition {
    /// A condition in `status.conditions` has this status. Case does not matter.
    Status { name: String, status: String },
    /// The object does not exist.
    Deleted,
    /// The object exists.
    Created,
    /// A field has this value, or any value.
    Field { path: Path, value: Option<String>, text: String },
}

/// How long to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    After(Duration),
    Never,
}

fn limit(text: &str) -> Result<Limit, String> {
    match text.strip_prefix('-') {
        Some(rest) => duration(rest).map(|_| Limit::Never),
        None => duration(text).map(Limit::After),
    }
}

fn condition(text: &str) -> Result<Condition, String> {
    let expected = "expected condition=NAME[=VALUE], delete, create or jsonpath=PATH[=VALUE]";
    let invalid = || format!("invalid condition {text:?}: {expected}");
    if let Some(path) = text.strip_prefix("jsonpath=") {
        return field(path);
    }
    if let Some(condition) = text.strip_prefix("condition=") {
        let (name, status) = condition.split_once('=').unwrap_or((condition, "true"));
        if name.is_empty() || status.is_empty() {
            return Err(invalid());
        }
        return Ok(Condition::Status { name: name.to_owned(), status: status.to_owned() });
    }
    match text {
        "delete" => Ok(Condition::Deleted),
        "create" => Ok(Condition::Created),
        _ => Err(invalid()),
    }
}

/// Parses `{.status.phase}=Running`. The path may contain `=` itself, in a filter.
fn field(text: &str) -> Result<Condition, String> {
    let of = |path, text: &str, value| Condition::Field { path, value, text: text.to_owned() };
    for (at, _) in text.match_indices('=') {
        if let Ok(path) = Path::parse(&text[..at]) {
            let value = &text[at + 1..];
            if value.is_empty() {
                return Err(format!("invalid condition \"jsonpath={text}\": the value after = is missing"));
            }
            return Ok(of(path, &text[..at], Some(value.to_owned())));
        }
    }
    let path = Path::parse(text).map_err(|error| error.to_string())?;
    Ok(of(path, text, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_written_as_for_kubectl() {
        let status = |name: &str, status: &str| {
            Ok(Condition::Status { name: name.to_owned(), status: status.to_owned() })
        };
        assert_eq!(condition("condition=Ready"), status("Ready", "true"));
        assert_eq!(condition("condition=Ready=False"), status("Ready", "False"));
        assert_eq!(
            (condition("delete"), condition("create")),
            (Ok(Condition::Deleted), Ok(Condition::Created))
        );
        let parts = |text: &str| match condition(text) {
            Ok(Condition::Field { text, value, .. }) => (text, value),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            parts("jsonpath={.status.phase}=Running"),
            ("{.status.phase}".into(), Some("Running".into()))
        );
        assert_eq!(parts("jsonpath=.status.podIP"), (".status.podIP".into(), None));
        let filter = r#"{.status.conditions[?(@.type=="Ready")].status}"#;
        assert_eq!(parts(&format!("jsonpath={filter}=a=b")), (filter.into(), Some("a=b".into())));
    }

    #[test]
    fn invalid_conditions_are_refused() {
        for (text, expected) in [
            ("Ready", "invalid condition \"Ready\": expected condition=NAME[=VALUE], delete"),
            ("condition=", "invalid condition \"condition=\""),
            ("condition=Ready=", "invalid condition"),
            ("jsonpath={.a[}", "invalid JSONPath \"{.a[}\" at byte 4"),
            ("jsonpath={.a}=", "the value after = is missing"),
        ] {
            let problem = condition(text).unwrap_err();
            assert!(problem.contains(expected), "{text}: {problem}");
        }
        assert_eq!(limit("-1s"), Ok(Limit::Never));
        assert_eq!(limit("0"), Ok(Limit::After(Duration::ZERO)));
        assert!(limit("soon").is_err());
    }
}
