//! Writes events to stdout, in the form asked for.

use super::{
    json::document,
    table::{Look, diff_lines, line},
};
use crate::args::Output;
use crate::kinds::Kind;
use crate::paint::Paint;
use crate::safe::{clean, clean_json};
use jiff::{Timestamp, Zoned};
use kube_core::DynamicObject;
use kube_informer::Event;
use kube_informer_wire::Key;
use std::io::{self, BufWriter, Stdout, Write};

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
        match self.output {
            Output::Table => writeln!(self.out, "{}", line(self.look, kind, event, &Zoned::now())),
            Output::Diff => writeln!(self.out, "{}", diff_lines(self.look, kind, event, &Zoned::now())),
            Output::Json => {
                let document = document(kind, event, Timestamp::now()).to_string();
                writeln!(self.out, "{}", clean_json(&document))
            }
            Output::Name => match event.object().key() {
                Ok(key) => self.name(at, &key),
                // A cache has no object without a name.
                Err(_) => Ok(()),
            },
        }
    }

    /// Writes the name of an object of the kind at this place.
    pub(super) fn name(&mut self, at: usize, key: &Key) -> io::Result<()> {
        writeln!(self.out, "{}/{}", self.prefixes[at], clean(key.name()))
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
