//! `informer get`: recorded objects as they were at a moment.

use super::{
    entry::{decode, kind_of},
    reader::{Reader, Target},
};
use crate::args::{Get, RecordedOutput};
use crate::change::{summary, yaml};
use crate::cli_error::{Class, CliError};
use crate::kinds::{Kind, whole};
use crate::notice::print_notice;
use crate::number::age;
use crate::safe::{clean_json, clean_name};
use jiff::Timestamp;
use kube_core::DynamicObject;
use kube_history::Snapshot;
use kube_informer_wire::LabelSelector;
use serde_json::{Value, json};
use std::{
    io::{self, BufWriter, Write},
    time::Duration,
};

/// Prints the objects of a moment.
pub(crate) fn run(args: &Get) -> anyhow::Result<()> {
    let output = args.recorded.output;
    if output == RecordedOutput::Diff {
        let failure = CliError::new(Class::Usage, "one moment has no diff");
        return Err(failure.hint("use `informer diff --from TIME --to TIME`").into());
    }
    let labels = match &args.selector {
        Some(selector) => {
            selector.parse().map_err(|error| CliError::new(Class::Usage, format!("{error}")))?
        }
        None => LabelSelector::everything(),
    };
    let reader = Reader::open(&args.recorded)?;
    let targets = reader.targets(&args.resources)?;
    let snapshot = reader.history.at(args.at)?;
    reader.warn_about_span(args.at, args.at)?;
    let mut groups = Vec::new();
    for target in &targets {
        let objects = objects(&reader, &snapshot, target, &Selection { args, labels: &labels })?;
        groups.push(Group { kind: kind_of(&target.kind), objects });
    }
    let mut out = BufWriter::new(io::stdout());
    let document_kind = match targets.as_slice() {
        [Target { name: Some(_), .. }] => DocumentKind::Object,
        _ => DocumentKind::List,
    };
    match output {
        RecordedOutput::Table | RecordedOutput::Diff => table(&mut out, &groups, args.at)?,
        RecordedOutput::Json => {
            writeln!(out, "{}", clean_json(&document(&groups, document_kind).to_string()))?
        }
        RecordedOutput::Yaml => writeln!(out, "{}", yaml(&document(&groups, document_kind)).join("\n"))?,
    }
    out.flush()?;
    if output == RecordedOutput::Table && groups.iter().all(|group| group.objects.is_empty()) {
        let names: Vec<_> = groups.iter().map(|group| group.kind.resource()).collect();
        print_notice(format!("no {} found", names.join(", ")));
    }
    Ok(())
}

/// The objects of one kind.
struct Group {
    kind: Kind,
    objects: Vec<DynamicObject>,
}

struct Selection<'a> {
    args: &'a Get,
    labels: &'a LabelSelector,
}

fn objects(
    reader: &Reader,
    snapshot: &Snapshot,
    target: &Target,
    selection: &Selection<'_>,
) -> anyhow::Result<Vec<DynamicObject>> {
    let namespace = selection.args.recorded.namespace.as_deref();
    if let Some(gap) = snapshot.gap(target.id) {
        print_notice(format!(
            "{}: this moment is in a gap, the state may be incomplete: {}",
            target.kind, gap.reason
        ));
    }
    if let Some(name) = &target.name {
        let key = reader.key(target, name, namespace)?;
        let found = snapshot.get(target.id, &key)?;
        let found = found.ok_or_else(|| {
            let what = format!(
                "{}/{name} did not exist at {}",
                target.kind.singular,
                super::reader::local(snapshot.time())
            );
            CliError::new(Class::Other, what).hint("`informer history` prints its versions")
        })?;
        return Ok(vec![decode(&found)?]);
    }
    let found = snapshot.select(target.id, namespace, selection.labels);
    found.map(|version| Ok(decode(&version?)?)).collect()
}

/// The document that is printed, as in kubectl.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DocumentKind {
    /// The one object that was named.
    Object,
    List,
}

/// Returns the objects as one document.
fn document(groups: &[Group], document_kind: DocumentKind) -> Value {
    let items = groups.iter().flat_map(|group| group.objects.iter().map(|object| whole(&group.kind, object)));
    let mut items: Vec<Value> = items.collect();
    if document_kind == DocumentKind::Object && items.len() == 1 {
        return items.remove(0);
    }
    json!({"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": items})
}

/// Prints namespace, name, age at the moment, and status.
fn table(out: &mut impl Write, groups: &[Group], at: Timestamp) -> io::Result<()> {
    let has_several = groups.len() > 1;
    let mut is_first = true;
    for Group { kind, objects } in groups.iter().filter(|group| !group.objects.is_empty()) {
        if !std::mem::take(&mut is_first) {
            writeln!(out)?;
        }
        let mut rows = vec![["NAMESPACE", "NAME", "AGE", "STATUS"].map(str::to_owned)];
        rows.extend(objects.iter().map(|object| {
            let name = clean_name(object.metadata.name.as_deref().unwrap_or_default());
            let name = if has_several { format!("{}/{name}", kind.prefix()) } else { name };
            let namespace = object.metadata.namespace.as_deref().map(clean_name).unwrap_or_default();
            let created = object.metadata.creation_timestamp.as_ref();
            let lived =
                created.map(|created| Duration::try_from(at.duration_since(created.0)).unwrap_or_default());
            [namespace, name, lived.map(age).unwrap_or_default(), summary(object)]
        }));
        let width =
            |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
        let widths = [width(0), width(1), width(2), 0];
        let skipped = usize::from(!kind.has_namespaces);
        for row in &rows {
            let cells = row.iter().zip(widths).skip(skipped);
            let cells: Vec<_> = cells.map(|(cell, width)| format!("{cell:<width$}")).collect();
            writeln!(out, "{}", cells.join("  ").trim_end())?;
        }
    }
    Ok(())
}
