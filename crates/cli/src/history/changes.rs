//! `informer changes`: the recorded changes of a range of time.

use super::{
    entry::{Change, Entry},
    printer::Printer,
    reader::{Reader, Target, pointer},
};
use crate::args::Changes;
use crate::cli_error::{Class, CliError};
use jiff::Timestamp;
use kube_history::Filter;

/// Prints changes.
pub(crate) fn run(args: &Changes) -> anyhow::Result<()> {
    let reader = Reader::open(&args.recorded)?;
    let targets = reader.targets(&args.resources)?;
    let (from, to) = (args.since, args.until.unwrap_or(Timestamp::MAX));
    if to < from {
        return Err(CliError::new(Class::Usage, "--until is before --since").into());
    }
    reader.warn_about_gaps(&targets, from, to)?;
    let filter = filter(args, &reader, &targets)?;
    let mut printer = Printer::new(&args.recorded, &targets);
    // The range of the history does not include its start.
    let after = from.checked_sub(jiff::SignedDuration::from_micros(1)).unwrap_or(Timestamp::MIN);
    for change in reader.history.changes(after..to, filter)? {
        let entry = Entry::read(&reader, &change?)?;
        // The objects of the first list are not changes.
        if entry.change != Change::Existing {
            printer.print(&entry)?;
        }
    }
    Ok(printer.flush()?)
}

fn filter(args: &Changes, reader: &Reader, targets: &[Target]) -> anyhow::Result<Filter> {
    let namespace = args.recorded.namespace.as_deref();
    let mut filter = Filter::new();
    for target in targets {
        filter = filter.kind(target.id);
        if let Some(name) = &target.name {
            if targets.len() > 1 {
                let failure = CliError::new(Class::Usage, "only one object can be named");
                return Err(failure.hint("use one RESOURCE/NAME, or resources without names").into());
            }
            filter = filter.key(reader.key(target, name, namespace)?);
        }
    }
    if let Some(namespace) = namespace {
        filter = filter.namespace(namespace);
    }
    if let Some(manager) = &args.by {
        filter = filter.manager(manager);
    }
    if let Some(owner) = &args.owner {
        filter = filter.owner(uid(args, reader, owner)?);
    }
    let filter = args.changed.iter().fold(filter, |filter, path| filter.changed(pointer(path)));
    Ok(args.ignore.iter().fold(filter, |filter, path| filter.ignore(pointer(path))))
}

/// Returns the uid of the last object with a name.
fn uid(args: &Changes, reader: &Reader, owner: &str) -> anyhow::Result<String> {
    let targets = reader.targets(&[owner.to_owned()])?;
    let [target] = targets.as_slice() else {
        return Err(CliError::new(Class::Usage, format!("{owner:?} is not one object")).into());
    };
    let Some(name) = &target.name else {
        let failure = CliError::new(Class::Usage, format!("invalid owner {owner:?}: expected RESOURCE/NAME"));
        return Err(failure.into());
    };
    let key = reader.key(target, name, args.recorded.namespace.as_deref())?;
    let versions = reader.history.object(target.id, key).versions()?;
    let last = versions.last().ok_or_else(|| reader.absent(target, name))?;
    Ok(last.uid().to_owned())
}
