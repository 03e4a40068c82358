//! Writes events to stdout, in the form asked for.

use super::{
    json::{document, initial},
    table::{Look, diff_lines, initial_line, line},
};
use crate::args::Output;
use crate::change::yaml;
use crate::kinds::Kind;
use crate::paint::Paint;
use crate::safe::{clean_json, clean_name};
use jiff::{Timestamp, Zoned};
use kube_core::DynamicObject;
use kube_informer::event::{Deletion, Event};
use kube_informer_wire::Key;
use std::{
    io::{self, BufWriter, Stdout, Write},
    sync::Arc,
};

/// Writes events to stdout.
#[derive(Debug)]
pub(super) struct Printer {
    out: BufWriter<Stdout>,
    output: Output,
    look: Look,
    prefixes: Vec<String>,
}

impl Printer {
    pub(super) fn new(output: Output, paint: Paint, kinds: &[Kind]) -> Self {
        let prefixes: Vec<_> = kinds.iter().map(Kind::prefix).collect();
        let width = prefixes.iter().map(String::len).max().filter(|_| prefixes.len() > 1);
        let out = BufWriter::with_capacity(1 << 16, io::stdout());
        Self { out, output, look: Look { paint, kinds: width }, prefixes }
    }

    /// Writes an event of the kind at this place.
    pub(super) fn event(
        &mut self,
        (at, kind): (usize, &Kind),
        event: &Event<DynamicObject>,
    ) -> io::Result<()> {
        let text = text(self.output, self.look, (&self.prefixes[at], kind), event);
        writeln!(self.out, "{text}")
    }

    /// Writes an object of the kind at this place that was there before.
    pub(super) fn object(&mut self, (at, kind): (usize, &Kind), object: &DynamicObject) -> io::Result<()> {
        let text = initial_text(self.output, self.look, (&self.prefixes[at], kind), object);
        writeln!(self.out, "{text}")
    }

    /// Writes the name of an object of the kind at this place.
    pub(super) fn name(&mut self, at: usize, key: &Key) -> io::Result<()> {
        writeln!(self.out, "{}", named(&self.prefixes[at], key))
    }

    /// What stands before the names of objects of the kind at this place, where there are others.
    pub(super) fn prefix(&self, at: usize) -> Option<String> {
        (self.prefixes.len() > 1).then(|| self.prefixes[at].clone())
    }

    /// Writes text that is ready.
    pub(super) fn text(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())
    }

    /// Lets the reader see what was written.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// An event in a form, without the end of its last line.
pub(super) fn text(
    output: Output,
    look: Look,
    (prefix, kind): (&str, &Kind),
    event: &Event<DynamicObject>,
) -> String {
    match output {
        Output::Table => line(look, kind, event, &Zoned::now()),
        Output::Diff => diff_lines(look, kind, event, &Zoned::now()),
        Output::Json => clean_json(&document(kind, event, Timestamp::now()).to_string()),
        Output::Yaml => format!("---\n{}", yaml(&document(kind, event, Timestamp::now())).join("\n")),
        Output::Name => named(prefix, event.key()),
    }
}

/// An object that was there before, as its event would be shown.
fn initial_text(output: Output, look: Look, (prefix, kind): (&str, &Kind), object: &DynamicObject) -> String {
    match output {
        Output::Table | Output::Diff => initial_line(look, kind, object, &Zoned::now()),
        Output::Json => clean_json(&initial(kind, object, Timestamp::now()).to_string()),
        Output::Yaml => format!("---\n{}", yaml(&initial(kind, object, Timestamp::now())).join("\n")),
        Output::Name => {
            format!("{prefix}/{}", clean_name(object.metadata.name.as_deref().unwrap_or_default()))
        }
    }
}

/// The name of an object, with its kind as kubectl has it.
pub(super) fn named(prefix: &str, key: &Key) -> String {
    format!("{prefix}/{}", clean_name(key.name()))
}

/// Each line in which an object that came, changed and went is shown, in all forms.
pub(crate) fn shown(kind: &Kind, old: &Arc<DynamicObject>, new: &Arc<DynamicObject>) -> Vec<String> {
    let events = [
        Event::create(Arc::clone(old)),
        Event::update(Arc::clone(old), Arc::clone(new)),
        Event::delete(Arc::clone(new), Deletion::Observed),
    ];
    let look = Look { paint: Paint::Plain, kinds: Some(16) };
    let forms = [Output::Table, Output::Diff, Output::Json, Output::Yaml, Output::Name];
    let prefix = kind.prefix();
    let initial = forms.iter().map(|form| initial_text(*form, look, (&prefix, kind), old));
    // An object without a name has no events.
    let texts = events.iter().flatten().flat_map(|event| {
        let prefix = &prefix;
        forms.iter().map(move |form| text(*form, look, (prefix, kind), event))
    });
    let texts = initial.chain(texts);
    texts.flat_map(|text| text.split('\n').map(str::to_owned).collect::<Vec<_>>()).collect()
}
