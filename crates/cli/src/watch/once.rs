//! Prints the objects of the caches at one moment.

use super::{
    grid,
    labels::Labels,
    printer::{Printer, list, named, safe_text},
    selection::Selection,
};
use crate::args::{Output, Watch};
use crate::change::summary;
use crate::cli_error::{Class, CliError};
use crate::cores::{on_all_cores, part_len};
use crate::informers::WatchedResource;
use crate::jsonpath::compare;
use crate::kinds::{Kind, whole};
use crate::notice::print_notice;
use crate::number::age;
use crate::safe::clean_name;
use jiff::Timestamp;
use kube_core::DynamicObject;
use kube_informer::cache::{Entry, Snapshot};
use std::time::Duration;

/// Returns all objects in the order in which the API server lists them. Nothing is decoded for it.
pub(super) fn sorted(snapshot: &Snapshot<DynamicObject>) -> Vec<&Entry<DynamicObject>> {
    let mut all: Vec<_> = snapshot.iter().collect();
    all.sort_unstable_by(|one, other| one.key().as_str().cmp(other.key().as_str()));
    all
}

/// A resource with the position of its source.
#[derive(Clone, Copy)]
pub(super) struct Positioned<'f> {
    pub(super) at: usize,
    pub(super) watched: &'f WatchedResource,
}

/// Prints the objects of these resources.
pub(super) fn print(
    printer: &mut Printer,
    resources: &[Positioned<'_>],
    args: &Watch,
    namespaces: Option<&[String]>,
) -> anyhow::Result<()> {
    match &args.output {
        Output::Table | Output::Wide => tables(printer, resources, args, namespaces)?,
        Output::Name => each(resources, args, |resource, entry| printer.name(resource.at, entry.key()))?,
        Output::Json | Output::Yaml | Output::Diff => {
            each(resources, args, |resource, entry| printer.object(resource.at, &entry.object()))?;
        }
        Output::JsonPath(template) => {
            let mut objects = Vec::new();
            each(resources, args, |resource, entry| {
                objects.push(whole(&resource.watched.kind, &entry.object()));
                Ok(())
            })?;
            // As in kubectl: one named object is the root, otherwise a list is.
            let is_one = resources.len() == 1 && resources[0].watched.name.is_some();
            let root = if is_one { objects.pop() } else { Some(list(objects)) };
            let text = root.map(|root| template.evaluate(&root)).transpose()?.unwrap_or_default();
            printer.text(&safe_text(&text))?;
        }
        Output::CustomColumns(columns) => {
            let headers = (!args.columns.no_headers).then(|| grid::headers(columns));
            let mut rows: Vec<_> = headers.into_iter().collect();
            each(resources, args, |resource, entry| {
                rows.push(grid::cells(columns, &whole(&resource.watched.kind, &entry.object()))?);
                Ok(())
            })?;
            printer.text(&grid::lines(&rows).iter().map(|line| format!("{line}\n")).collect::<String>())?;
        }
    }
    printer.flush()
}

/// Calls a function with each selected object, in order.
fn each(
    resources: &[Positioned<'_>],
    args: &Watch,
    mut call: impl FnMut(&Positioned<'_>, &Entry<DynamicObject>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    for resource in resources {
        let snapshot = resource.watched.informer.snapshot();
        let entries = selected(&snapshot, &resource.watched.kind, args)?;
        entries.into_iter().try_for_each(|entry| call(resource, entry))?;
    }
    Ok(())
}

/// Prints a table for each resource, with our own columns.
fn tables(
    printer: &mut Printer,
    resources: &[Positioned<'_>],
    args: &Watch,
    namespaces: Option<&[String]>,
) -> anyhow::Result<()> {
    let (mut texts, mut empty) = (Vec::new(), Vec::new());
    for Positioned { at, watched } in resources.iter().copied() {
        let snapshot = watched.informer.snapshot();
        let entries = selected(&snapshot, &watched.kind, args)?;
        if entries.is_empty() {
            empty.extend(watched.name.is_none().then(|| watched.kind.resource()));
            continue;
        }
        let has_one = !watched.kind.has_namespaces || namespaces.is_some_and(|names| names.len() == 1);
        let table = Table {
            prefix: printer.prefix(at),
            has_namespaces: !has_one,
            has_headers: !args.columns.no_headers,
            labels: Labels::new(&args.columns),
        };
        texts.push(table.lines(&entries).join("\n") + "\n");
    }
    printer.text(&texts.join("\n"))?;
    // Like kubectl, reports an empty result on stderr.
    if texts.is_empty() && !empty.is_empty() {
        let place = namespaces.map_or(String::new(), |names| format!(" in namespace {}", names.join(", ")));
        print_notice(format!("no {} found{place}", empty.join(", ")));
    }
    Ok(())
}

/// Returns the objects that are selected by name, in order.
fn selected<'s>(
    snapshot: &'s Snapshot<DynamicObject>,
    kind: &Kind,
    args: &Watch,
) -> Result<Vec<&'s Entry<DynamicObject>>, CliError> {
    let selection = Selection::new(args);
    let mut entries = sorted(snapshot);
    entries.retain(|entry| selection.accepts(entry.key().name()));
    in_order(entries, kind, args)
}

/// Sorts objects by the field of `--sort-by`.
fn in_order<'e>(
    entries: Vec<&'e Entry<DynamicObject>>,
    kind: &Kind,
    args: &Watch,
) -> Result<Vec<&'e Entry<DynamicObject>>, CliError> {
    let Some(path) = &args.columns.sort_by else { return Ok(entries) };
    let mut keyed = Vec::with_capacity(entries.len());
    for entry in entries {
        let object = whole(kind, &entry.object());
        let found = path.find(&object).map_err(|error| CliError::new(Class::Usage, error.to_string()))?;
        keyed.push((found.first().map(|value| value.clone().into_owned()), entry));
    }
    keyed.sort_by(|one, other| compare(one.0.as_ref(), other.0.as_ref()));
    Ok(keyed.into_iter().map(|(_, entry)| entry).collect())
}

/// A table with our own columns, for servers that do not send tables.
struct Table {
    prefix: Option<String>,
    has_namespaces: bool,
    has_headers: bool,
    labels: Labels,
}

impl Table {
    fn lines(&self, entries: &[&Entry<DynamicObject>]) -> Vec<String> {
        let (now, mut rows) = (Timestamp::now(), Vec::new());
        if self.has_headers {
            let namespace = self.has_namespaces.then_some("NAMESPACE");
            let fixed = namespace.into_iter().chain(["NAME", "AGE", "STATUS"]).map(str::to_owned);
            rows.push(fixed.chain(self.labels.headers()).collect());
        }
        for (entry, seen) in entries.iter().zip(seen(entries, &self.labels, now)) {
            let name = match &self.prefix {
                Some(prefix) => named(prefix, entry.key()),
                None => clean_name(entry.key().name()),
            };
            let namespace = entry.key().namespace().map(clean_name).unwrap_or_default();
            let key = self.has_namespaces.then_some(namespace).into_iter().chain([name]);
            rows.push(key.chain(seen).collect());
        }
        grid::lines(&rows)
    }
}

/// Returns the age, the status and the labels of each object, in order. Compressed objects are decoded for it, on all cores.
fn seen(entries: &[&Entry<DynamicObject>], labels: &Labels, now: Timestamp) -> Vec<Vec<String>> {
    let look = |entry: &&Entry<DynamicObject>| {
        let object = entry.object();
        let cells = [age_of(&object, now), summary(&object)].into_iter();
        cells.chain(labels.cells(object.metadata.labels.as_ref())).collect()
    };
    let parts = entries.chunks(part_len(entries.len(), 1));
    on_all_cores(parts, |part| part.iter().map(look).collect::<Vec<_>>()).concat()
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
    fn each_object_has_its_own_status_in_order() {
        let (store, mut writer) = Store::<DynamicObject>::builder().build().unwrap();
        for count in [0_usize, 1, 2, 3, 1000] {
            for number in 0..count {
                let object = json!({ "metadata": { "name": format!("p{number:04}") }, "status": { "phase": format!("P{number:04}") } });
                writer.edit().insert(Arc::new(serde_json::from_value(object).unwrap())).unwrap();
            }
            let snapshot = store.snapshot();
            let statuses: Vec<_> = seen(&sorted(&snapshot), &Labels::default(), Timestamp::now())
                .into_iter()
                .map(|cells| cells[1].clone())
                .collect();
            assert_eq!(statuses.len(), count);
            assert!(
                statuses.iter().enumerate().all(|(number, status)| *status == format!("P{number:04}")),
                "{statuses:?}"
            );
        }
    }
}
