//! Parsers and printers of untrusted input, for the fuzz targets.
//!
//! This is not a stable interface.

use crate::args;
use crate::change;
use crate::devserver;
use crate::kinds;
use crate::watch;
use kube_core::DynamicObject;
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc, time::Duration};

pub use crate::safe::{clean, clean_json, clean_lines, clean_name, clean_yaml, is_unsafe};

/// Parses a duration.
///
/// # Errors
/// If it is invalid.
pub fn duration(text: &str) -> Result<Duration, String> {
    args::duration(text)
}

/// Parses numbers of objects by kind.
///
/// # Errors
/// If it is invalid.
pub fn seeds(text: &str) -> Result<BTreeMap<String, u64>, String> {
    args::seeds(text).map(|seeds| seeds.0)
}

/// Returns the number of faults in a file.
///
/// # Errors
/// If it is invalid.
pub fn faults(text: &str) -> Result<usize, String> {
    devserver::faults(text).map(|faults| faults.len()).map_err(|error| error.to_string())
}

/// Returns the kinds in a discovery document, each as plural, version and group, and whether it can be watched; `None` for other
/// documents.
#[must_use]
pub fn kinds(document: &Value) -> Option<Vec<([String; 3], bool)>> {
    let of = |kind: &kinds::Kind| {
        ([kind.plural.clone(), kind.version.clone(), kind.group.clone()], kind.can_be_watched())
    };
    Some(kinds::read(document)?.kinds().iter().map(of).collect())
}

/// Resolves a name with the kinds of a discovery document.
///
/// # Errors
/// If the name is unknown.
pub fn resolve(document: &Value, word: &str) -> Result<Vec<[String; 3]>, String> {
    let catalog = kinds::read(document).ok_or("no document")?;
    let found = catalog.resolve(&[word.to_owned()]).map_err(|trouble| trouble.to_string())?;
    Ok(found.into_iter().map(|kind| [kind.plural, kind.version, kind.group]).collect())
}

/// Returns the changed fields, each with its old and new value.
#[must_use]
pub fn changes(old: &DynamicObject, new: &DynamicObject) -> Vec<(String, Option<Value>, Option<Value>)> {
    let of = |change: change::FieldChange| (change.path.to_string(), change.old, change.new);
    change::changes(old, new).into_iter().map(of).collect()
}

/// Returns all lines in which events and objects are shown.
#[must_use]
pub fn shown(old: &Arc<DynamicObject>, new: &Arc<DynamicObject>) -> Vec<String> {
    let kind = kinds::Kind { kind: "Secret".into(), version: "v1".into(), ..kinds::Kind::default() };
    let mut lines = watch::shown(&kind, old, new);
    lines.extend(change::yaml(&kinds::whole(&kind, new)));
    lines
}
