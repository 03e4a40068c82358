//! `informer diff`: the differences between two recorded moments.

use super::{
    entry::{Change, Entry, decode, kind_of},
    printer::Printer,
    reader::{Reader, Target},
};
use crate::args::Diff;
use crate::cli_error::{Class, CliError};
use jiff::Timestamp;
use kube_history::{Event, ReadError, Snapshot, Version};
use kube_informer_wire::Key;
use std::collections::BTreeSet;

/// Prints the differences.
pub(crate) fn run(args: &Diff) -> anyhow::Result<()> {
    if args.to < args.from {
        return Err(CliError::new(Class::Usage, "--to is before --from").into());
    }
    let reader = Reader::open(&args.recorded)?;
    let targets = reader.targets(&args.resources)?;
    let (before, after) = (reader.history.at(args.from)?, reader.history.at(args.to)?);
    reader.warn_about_gaps(&targets, args.from, args.to)?;
    let mut printer = Printer::new(&args.recorded, &targets);
    let namespace = args.recorded.namespace.as_deref();
    for target in &targets {
        for key in keys(target, namespace, [&before, &after]) {
            for mut entry in compared(target, &key, &before, &after)? {
                if entry.change == Change::Deleted {
                    entry.time = deleted_at(&reader, target, &key, args.from)?.unwrap_or(entry.time);
                }
                printer.print(&entry)?;
            }
        }
    }
    Ok(printer.flush()?)
}

/// Returns the keys of the objects that exist at one of the moments.
fn keys(target: &Target, namespace: Option<&str>, snapshots: [&Snapshot; 2]) -> BTreeSet<Key> {
    let is_meant = |key: &&Key| {
        (namespace.is_none() || key.namespace() == namespace)
            && target.name.as_deref().is_none_or(|name| key.name() == name)
    };
    snapshots.iter().flat_map(|snapshot| snapshot.keys(target.id).filter(is_meant)).cloned().collect()
}

/// Returns when an object was deleted after a moment.
fn deleted_at(
    reader: &Reader,
    target: &Target,
    key: &Key,
    after: Timestamp,
) -> Result<Option<Timestamp>, ReadError> {
    let versions = reader.history.object(target.id, key.clone()).versions()?;
    let deleted = versions.iter().find(|version| version.event() == Event::Deleted && version.time() > after);
    Ok(deleted.map(Version::time))
}

/// Compares an object at two moments. An object that was deleted and created again is two changes.
fn compared(
    target: &Target,
    key: &Key,
    before: &Snapshot,
    after: &Snapshot,
) -> Result<Vec<Entry>, ReadError> {
    let [old, new] = [before.get(target.id, key)?, after.get(target.id, key)?];
    let entry = |change: Change, version: &Version, old: Option<&Version>| {
        let entry = Entry {
            time: version.time(),
            change,
            kind: kind_of(version.kind()),
            old: old.map(decode).transpose()?,
            new: decode(version)?,
            manager: None,
            source: version.source(),
        };
        Ok(entry)
    };
    match (&old, &new) {
        (Some(old), Some(new)) if old.uid() == new.uid() => {
            let changed = entry(Change::Updated, new, Some(old))?;
            let is_same = old.version() == new.version() || changed.fields().is_empty();
            Ok(if is_same { Vec::new() } else { vec![changed] })
        }
        _ => {
            let deleted = old.iter().map(|old| entry(Change::Deleted, old, None));
            let added = new.iter().map(|new| entry(Change::Added, new, None));
            deleted.chain(added).collect()
        }
    }
}
