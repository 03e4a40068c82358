//! `informer history`: the recorded versions of an object.

use super::{entry::Entry, printer::Printer, reader::Reader};
use crate::args::ObjectHistory;
use crate::cli_error::{Class, CliError};
use jiff::Timestamp;

/// Prints the versions of an object.
pub(crate) fn run(args: &ObjectHistory) -> anyhow::Result<()> {
    let reader = Reader::open(&args.recorded)?;
    let targets = reader.targets(std::slice::from_ref(&args.object))?;
    let [target] = targets.as_slice() else {
        return Err(CliError::new(Class::Usage, format!("{:?} is not one object", args.object)).into());
    };
    let Some(name) = &target.name else {
        let what = format!("{:?} is a resource: expected RESOURCE/NAME", args.object);
        let failure = CliError::new(Class::Usage, what);
        return Err(failure.hint("`informer changes` prints the changes of all its objects").into());
    };
    let key = reader.key(target, name, args.recorded.namespace.as_deref())?;
    let versions = reader.history.object(target.id, key).versions()?;
    if versions.is_empty() {
        return Err(reader.absent(target, name).into());
    }
    let span = reader.history.span()?;
    let (from, to) = (args.since.unwrap_or(span.start), args.until.unwrap_or(Timestamp::MAX));
    reader.warn_about_gaps(&targets, from, to)?;
    let mut printer = Printer::new(&args.recorded, &targets);
    for version in versions {
        if version.time() >= from && version.time() <= to {
            printer.print(&Entry::read(&reader, &version)?)?;
        }
    }
    Ok(printer.flush()?)
}
