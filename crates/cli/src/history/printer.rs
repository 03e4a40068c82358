//! Prints recorded changes.

use super::{
    entry::Entry,
    reader::{Target, local},
};
use crate::args::{Recorded, RecordedOutput};
use crate::change::{Line, diff, key, yaml};
use crate::paint::{Highlight, Paint};
use crate::safe::{clean, clean_json};
use std::io::{self, BufWriter, Stdout, Write};

/// Prints recorded changes to stdout.
#[derive(Debug)]
pub(super) struct Printer {
    out: BufWriter<Stdout>,
    output: RecordedOutput,
    paint: Paint,
    /// The width of the column with kinds; `None` if there is one kind.
    kinds: Option<usize>,
}

/// The maximum width of the column with kinds. Longer names are printed in full and move the rest of their line.
const MAX_KIND_WIDTH: usize = 24;

impl Printer {
    pub(super) fn new(args: &Recorded, targets: &[Target]) -> Self {
        let width = |target: &Target| super::entry::kind_of(&target.kind).prefix().len();
        let widest = || targets.iter().map(width).max().unwrap_or_default();
        let kinds = (targets.len() > 1).then(|| widest().min(MAX_KIND_WIDTH));
        Self {
            out: BufWriter::new(io::stdout()),
            output: args.output,
            paint: Paint::of_stdout(args.color),
            kinds,
        }
    }

    pub(super) fn print(&mut self, entry: &Entry) -> io::Result<()> {
        match self.output {
            RecordedOutput::Json => writeln!(self.out, "{}", clean_json(&entry.document().to_string())),
            RecordedOutput::Yaml => writeln!(self.out, "---\n{}", yaml(&entry.document()).join("\n")),
            RecordedOutput::Table => {
                let mut line = self.head(entry);
                let words = entry.words();
                if !words.is_empty() {
                    line = format!("{line}  {words}");
                }
                writeln!(self.out, "{line}{}", self.manager(entry))
            }
            RecordedOutput::Diff => {
                let fields = entry.fields();
                let head = self.head(entry);
                let words = if fields.is_empty() { format!("  {}", entry.words()) } else { String::new() };
                writeln!(self.out, "{}{}", format!("{head}{words}").trim_end(), self.manager(entry))?;
                for line in diff(&fields, &entry.kind.kind) {
                    let line = match line {
                        Line::Went(line) => self.paint.tint(Highlight::Went, &format!("- {line}")),
                        Line::Came(line) => self.paint.tint(Highlight::Came, &format!("+ {line}")),
                    };
                    writeln!(self.out, "    {line}")?;
                }
                Ok(())
            }
        }
    }

    /// Returns time, event, kind and key.
    fn head(&self, entry: &Entry) -> String {
        let time = self.paint.tint(Highlight::Quiet, &local(entry.time));
        let verb = self.paint.tint(entry.change.highlight(), &format!("{:<8}", entry.change.verb()));
        let prefix = clean(&entry.kind.prefix());
        let kind = self.kinds.map_or(String::new(), |width| format!("{prefix:<width$}  "));
        format!("{time}  {verb}  {kind}{}", self.paint.tint(Highlight::Strong, &key(&entry.new)))
    }

    fn manager(&self, entry: &Entry) -> String {
        let manager = entry.manager.as_deref().map(|manager| format!("(by {})", clean(manager)));
        manager.map_or(String::new(), |text| format!("  {}", self.paint.tint(Highlight::Quiet, &text)))
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
