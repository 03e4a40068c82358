//! What the command makes of text and objects of others, for the fuzz targets; it is no interface to rely on.

use crate::args;
use crate::change;
use crate::devserver;
use crate::kinds;
use crate::watch;
use kube_core::DynamicObject;
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc, time::Duration};

pub use crate::safe::{clean, clean_json, clean_lines, clean_name, clean_yaml, is_unsafe};

/// A duration as it is typed.
///
/// # Errors
/// What is wrong with it.
pub fn duration(text: &str) -> Result<Duration, String> {
    args::duration(text)
}

/// How many objects of which kind, as it is typed.
///
/// # Errors
/// What is wrong with it.
pub fn seeds(text: &str) -> Result<BTreeMap<String, u64>, String> {
    args::seeds(text).map(|seeds| seeds.0)
}

/// How many faults a file of them holds.
///
/// # Errors
/// What is wrong with it.
pub fn faults(text: &str) -> Result<usize, String> {
    devserver::faults(text).map(|faults| faults.len()).map_err(|error| error.to_string())
}

/// The kinds that a document of a server names, each as plural, version and group, and whether it can be followed; nothing if it is
/// no such document.
#[must_use]
pub fn kinds(document: &Value) -> Option<Vec<([String; 3], bool)>> {
    let of = |kind: &kinds::Kind| {
        ([kind.plural.clone(), kind.version.clone(), kind.group.clone()], kind.can_be_watched())
    };
    Some(kinds::read(document)?.kinds().iter().map(of).collect())
}

/// The kinds that a word means to who has that document, in the same way.
///
/// # Errors
/// What a person is told who means none.
pub fn resolve(document: &Value, word: &str) -> Result<Vec<[String; 3]>, String> {
    let catalog = kinds::read(document).ok_or("no document")?;
    let found = catalog.resolve(&[word.to_owned()]).map_err(|trouble| trouble.to_string())?;
    Ok(found.into_iter().map(|kind| [kind.plural, kind.version, kind.group]).collect())
}

/// The fields that differ, each with what it was and is.
#[must_use]
pub fn changes(old: &DynamicObject, new: &DynamicObject) -> Vec<(String, Option<Value>, Option<Value>)> {
    let of = |change: change::FieldChange| (change.path.to_string(), change.old, change.new);
    change::changes(old, new).into_iter().map(of).collect()
}

/// Each line in which an event, or an object, is shown.
#[must_use]
pub fn shown(old: &Arc<DynamicObject>, new: &Arc<DynamicObject>) -> Vec<String> {
    let kind = kinds::Kind { kind: "Secret".into(), version: "v1".into(), ..kinds::Kind::default() };
    let mut lines = watch::shown(&kind, old, new);
    lines.extend(change::yaml(&kinds::whole(&kind, new)));
    lines
}
