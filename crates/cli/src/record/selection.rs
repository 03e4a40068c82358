//! The kinds that are recorded, and their description in the history.

use crate::args::Record;
use crate::cli_error::{Class, CliError};
use crate::kinds::{Catalog, Kind};
use kube_client::Client;
use kube_history as history;
use kube_informer::document;
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Whether a name that the server does not know is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    Refuse,
    /// A custom resource may be defined later.
    Ignore,
}

/// Returns the kinds to record: those of the command line, or all that can be watched.
///
/// # Errors
/// If the server does not have a kind, or for Secrets that may not be recorded.
pub(super) fn selected(catalog: &Catalog, args: &Record, unknown: Unknown) -> Result<Vec<Kind>, CliError> {
    let resolve = |words: &[String]| -> Result<Vec<Kind>, CliError> {
        match unknown {
            Unknown::Refuse => catalog.resolve(words),
            Unknown::Ignore => {
                let each = words.iter().filter_map(|word| catalog.resolve(std::slice::from_ref(word)).ok());
                Ok(each.flatten().collect())
            }
        }
    };
    let excluded = resolve(&args.exclude)?;
    let mut kinds = if args.resources.is_empty() { all(catalog) } else { resolve(&args.resources)? };
    let is_refused = |kind: &Kind| kind.is_secret() && !args.secrets;
    if let Some(secret) =
        kinds.iter().find(|kind| is_refused(kind) && catalog.is_named(kind, &args.resources))
    {
        let what = format!("{} are not recorded by default", secret.resource());
        return Err(CliError::new(Class::Usage, what)
            .hint("add --secrets to record them, without encryption, in files that only you can read"));
    }
    let mut seen = BTreeSet::new();
    kinds.retain(|kind| {
        !is_refused(kind)
            && !excluded.contains(kind)
            && seen.insert((kind.group.clone(), kind.plural.clone()))
    });
    Ok(kinds)
}

/// Returns all kinds that can be watched. Events have two groups with the same objects.
fn all(catalog: &Catalog) -> Vec<Kind> {
    let is_copy = |kind: &Kind| kind.group == "events.k8s.io" && kind.plural == "events";
    let kinds = catalog.kinds().iter().filter(|kind| kind.can_be_watched() && !is_copy(kind));
    kinds.cloned().collect()
}

/// The printer columns of custom resources, by group, version and plural name.
#[derive(Debug, Default)]
pub(super) struct PrinterColumns(BTreeMap<[String; 3], Vec<Value>>);

#[derive(Deserialize)]
struct Definitions {
    #[serde(default)]
    items: Vec<Definition>,
}

#[derive(Deserialize)]
struct Definition {
    spec: Spec,
}

#[derive(Deserialize)]
struct Spec {
    group: String,
    names: Names,
    #[serde(default)]
    versions: Vec<Version>,
}

#[derive(Deserialize)]
struct Names {
    plural: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    name: String,
    #[serde(default)]
    additional_printer_columns: Vec<Value>,
}

/// Returns the printer columns of custom resources; empty if the definitions may not be read.
pub(super) async fn printer_columns(client: &Client) -> PrinterColumns {
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let Ok(definitions) = document::Request::new(path).get::<Definitions>(client).await else {
        return PrinterColumns::default();
    };
    let mut columns = BTreeMap::new();
    for Definition { spec } in definitions.items {
        for version in spec.versions {
            let key = [spec.group.clone(), version.name, spec.names.plural.clone()];
            columns.insert(key, version.additional_printer_columns);
        }
    }
    PrinterColumns(columns)
}

/// Returns the description of a kind in the history.
pub(super) fn described(kind: &Kind, columns: &PrinterColumns) -> history::Kind {
    let mut described = history::Kind::new(&kind.group, &kind.version, &kind.kind, &kind.plural);
    if !kind.singular.is_empty() {
        described.singular.clone_from(&kind.singular);
    }
    described.short_names.clone_from(&kind.short_names);
    described.categories.clone_from(&kind.categories);
    let key = [kind.group.clone(), kind.version.clone(), kind.plural.clone()];
    described.printer_columns = columns.0.get(&key).cloned().unwrap_or_default();
    described.scope(match kind.has_namespaces {
        true => history::Scope::Namespaced,
        false => history::Scope::Cluster,
    })
}
