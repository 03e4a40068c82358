//! The whole cache at one moment.

use super::printer::{Printer, named};
use crate::args::Output;
use crate::change::summary;
use crate::follow::Followed;
use crate::notice::say;
use crate::number::age;
use crate::safe::clean_name;
use jiff::Timestamp;
use kube_core::DynamicObject;
use kube_informer::cache::{Entry, Snapshot};
use std::{io, num::NonZero, panic::resume_unwind, thread, time::Duration};

/// Everything there is, in the order in which the API server lists it. Nothing is decoded for it.
pub(super) fn sorted(snapshot: &Snapshot<DynamicObject>) -> Vec<&Entry<DynamicObject>> {
    let mut all: Vec<_> = snapshot.iter().collect();
    all.sort_unstable_by(|one, other| one.key().as_str().cmp(other.key().as_str()));
    all
}

/// Prints everything of these kinds, each with its place among all, one object after the other.
pub(super) fn print<'f>(
    printer: &mut Printer,
    output: Output,
    followed: impl Iterator<Item = (usize, &'f Followed)>,
    namespaces: Option<&[String]>,
) -> io::Result<()> {
    let (mut is_first, mut empty) = (true, Vec::new());
    for (at, one) in followed {
        let snapshot = one.informer.snapshot();
        let entries = sorted(&snapshot);
        if entries.is_empty() && one.name.is_none() {
            empty.push(one.kind.resource());
        }
        match output {
            Output::Table if entries.is_empty() => {}
            Output::Table => {
                if !std::mem::take(&mut is_first) {
                    printer.text("\n")?;
                }
                let is_one = !one.kind.has_namespaces || namespaces.is_some_and(|names| names.len() == 1);
                table(printer, at, &entries, if is_one { Columns::Name } else { Columns::NamespaceAndName })?;
            }
            Output::Name => {
                for entry in entries {
                    printer.name(at, entry.key())?;
                }
            }
            Output::Json | Output::Yaml | Output::Diff => {
                for entry in entries {
                    printer.object((at, &one.kind), &entry.object())?;
                }
            }
        }
    }
    // Like kubectl, says so on stderr if there is nothing at all.
    if is_first && output == Output::Table && !empty.is_empty() {
        let place = match namespaces {
            Some(names) => format!(" in namespace {}", names.join(", ")),
            None => String::new(),
        };
        say(format!("no {} found{place}", empty.join(", ")));
    }
    printer.flush()
}

/// The columns that identify an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Columns {
    Name,
    NamespaceAndName,
}

/// No age is longer than that.
const AGE: usize = 5;

/// Namespace, name, age, and how each fares. The widths follow from the keys, so that each object is looked at once.
fn table(
    printer: &mut Printer,
    at: usize,
    entries: &[&Entry<DynamicObject>],
    columns: Columns,
) -> io::Result<()> {
    let prefix = printer.prefix(at);
    let now = Timestamp::now();
    let head = ["NAMESPACE", "NAME", "AGE", "STATUS"].map(str::to_owned);
    let namespace = |entry: &Entry<_>| entry.key().namespace().map(clean_name).unwrap_or_default();
    let name = |entry: &Entry<_>| match &prefix {
        Some(prefix) => named(prefix, entry.key()),
        None => clean_name(entry.key().name()),
    };
    let widest = |cell: &dyn Fn(&Entry<_>) -> String, least: &str| {
        entries.iter().map(|entry| cell(entry).chars().count()).fold(least.len(), usize::max)
    };
    let widths = [widest(&namespace, &head[0]), widest(&name, &head[1]), AGE, 0];
    let skip = usize::from(columns == Columns::Name);
    let mut line = |row: &[String; 4]| {
        let cells = row.iter().zip(widths).skip(skip);
        let cells: Vec<_> = cells.map(|(cell, width)| format!("{cell:<width$}")).collect();
        printer.text(cells.join("  ").trim_end()).and_then(|()| printer.text("\n"))
    };
    line(&head)?;
    for some in entries.chunks(BATCH) {
        for (entry, [age, status]) in some.iter().zip(looked_at(some, now)) {
            line(&[namespace(entry), name(entry), age, status])?;
        }
    }
    Ok(())
}

/// So many objects are looked at before their lines are printed.
const BATCH: usize = 1024;

/// Age and status of each, in order. What is kept compact is decoded for it, on all cores.
fn looked_at(entries: &[&Entry<DynamicObject>], now: Timestamp) -> Vec<[String; 2]> {
    let look = |entry: &&Entry<DynamicObject>| {
        let object = entry.object();
        [age_of(&object, now), summary(&object)]
    };
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        let parts = entries.chunks(entries.len().div_ceil(cores).max(1));
        let parts: Vec<_> =
            parts.map(|part| scope.spawn(move || part.iter().map(look).collect::<Vec<_>>())).collect();
        parts.into_iter().flat_map(|part| part.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}

fn age_of(object: &DynamicObject, now: Timestamp) -> String {
    let Some(created) = &object.metadata.creation_timestamp else { return String::new() };
    age(Duration::try_from(now.duration_since(created.0)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube_informer::cache::Store;
    use serde_json::json;
    use std::sync::Arc;

    #[test]
    fn each_has_its_own_status_in_order() {
        let (store, mut writer) = Store::<DynamicObject>::builder().build().unwrap();
        for count in [0_usize, 1, 2, 3, 1000] {
            for number in 0..count {
                let object = json!({ "metadata": { "name": format!("p{number:04}") }, "status": { "phase": format!("P{number:04}") } });
                writer.edit().insert(Arc::new(serde_json::from_value(object).unwrap())).unwrap();
            }
            let snapshot = store.snapshot();
            let statuses: Vec<_> = looked_at(&sorted(&snapshot), Timestamp::now())
                .into_iter()
                .map(|[_, status]| status)
                .collect();
            assert_eq!(statuses.len(), count);
            assert!(
                statuses.iter().enumerate().all(|(number, status)| *status == format!("P{number:04}")),
                "{statuses:?}"
            );
        }
    }
}
