//! Parsers and printers of untrusted input, for the fuzz targets.
//!
//! This is not a stable interface.

use crate::args;
use crate::change;
use crate::devserver;
use crate::kinds;
use crate::watch;
use jiff::{Timestamp, tz::TimeZone};
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

/// The time zone and the current time of the fuzz targets: two days after the end of daylight saving time in Berlin.
fn berlin() -> (Timestamp, TimeZone) {
    let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").expect("a valid rule");
    (Timestamp::from_second(1_793_091_600).expect("in range"), zone)
}

/// Parses a time of the commands that read recordings.
///
/// # Errors
/// Text for the user.
pub fn time(text: &str) -> Result<Timestamp, String> {
    let (now, zone) = berlin();
    args::time_in(text, now, &zone)
}

/// Parses the start of a range of these commands.
///
/// # Errors
/// Text for the user.
pub fn since(text: &str) -> Result<Timestamp, String> {
    let (now, zone) = berlin();
    args::since_in(text, now, &zone)
}

/// Parses a size in bytes.
///
/// # Errors
/// Text for the user.
pub fn size(text: &str) -> Result<u64, String> {
    args::size(text)
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
    let found = catalog.resolve(&[word.to_owned()]).map_err(|failure| failure.to_string())?;
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
