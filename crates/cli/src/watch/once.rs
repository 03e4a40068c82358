//! The whole cache at one moment.

use super::printer::Printer;
use crate::args::Output;
use crate::change::{clean, summary};
use crate::follow::Followed;
use crate::number::age;
use jiff::Timestamp;
use kube_core::DynamicObject;
use kube_informer::Event;
use kube_informer_wire::Key;
use std::{io, sync::Arc, time::Duration};

/// Everything there is, in the order in which the API server lists it.
pub(super) fn sorted(followed: &Followed) -> Vec<(Key, Arc<DynamicObject>)> {
    let snapshot = followed.informer.snapshot();
    let mut all: Vec<_> = snapshot.iter().map(|entry| (entry.key().clone(), entry.object())).collect();
    all.sort_unstable_by(|(one, _), (other, _)| one.as_str().cmp(other.as_str()));
    all
}

/// Prints everything.
pub(super) fn print(printer: &mut Printer, output: Output, followed: &[Followed]) -> io::Result<()> {
    for (at, one) in followed.iter().enumerate() {
        let objects = sorted(one);
        match output {
            Output::Table => {
                if at > 0 {
                    printer.text("\n")?;
                }
                printer.text(&table(one, &objects))?;
            }
            Output::Name | Output::Json | Output::Diff => {
                for (_, object) in objects {
                    printer.event((at, &one.kind), &Event::Added { object: object.into(), initial: true })?;
                }
            }
        }
    }
    printer.flush()
}

/// Namespace, name, age, and how each fares.
fn table(followed: &Followed, objects: &[(Key, Arc<DynamicObject>)]) -> String {
    let now = Timestamp::now();
    let head = ["NAMESPACE", "NAME", "AGE", "STATUS"].map(str::to_owned);
    let rows = objects.iter().map(|(key, object)| {
        let namespace = key.namespace().map(clean).unwrap_or_default();
        [namespace, clean(key.name()), age_of(object, now), summary(object)]
    });
    let rows: Vec<_> = std::iter::once(head).chain(rows).collect();
    let skip = usize::from(!followed.kind.has_namespaces);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<_> = (0..3).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let cells = row.iter().zip(widths.iter().chain([&0])).skip(skip);
        let line: Vec<_> = cells.map(|(cell, &width)| format!("{cell:<width$}")).collect();
        text += line.join("  ").trim_end();
        text.push('\n');
    }
    text
}

fn age_of(object: &DynamicObject, now: Timestamp) -> String {
    let Some(created) = &object.metadata.creation_timestamp else { return String::new() };
    age(Duration::try_from(now.duration_since(created.0)).unwrap_or_default())
}
