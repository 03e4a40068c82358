//! Writes events to stdout, in the requested format.

use super::{
    grid,
    json::{document, initial},
    labels::Labels,
    table::{LineFormat, Source, diff_lines, initial_line, line},
};
use crate::args::{Output, Watch};
use crate::change::{Detail, yaml};
use crate::kinds::{Kind, whole};
use crate::paint::Paint;
use crate::safe::{clean_json, clean_lines, clean_name};
use anyhow::Context;
use jiff::{Timestamp, Zoned};
use kube_core::DynamicObject;
use kube_informer::event::{Deletion, Event};
use kube_informer_wire::Key;
use serde_json::Value;
use std::{
    io::{self, BufWriter, Stdout, Write},
    sync::Arc,
};

/// Writes events to stdout.
#[derive(Debug)]
pub(super) struct Printer {
    out: BufWriter<Stdout>,
    format: Format,
    sources: Vec<Source>,
    /// The widths of custom columns so far; `None` before the headers are printed.
    widths: Option<Vec<usize>>,
    has_headers: bool,
}

/// The format of events.
#[derive(Clone, Debug)]
pub(super) struct Format {
    pub(super) output: Output,
    pub(super) look: LineFormat,
}

impl Printer {
    pub(super) fn new(args: &Watch, sources: Vec<Source>) -> Self {
        let detail = if args.output == Output::Wide { Detail::Full } else { Detail::Short };
        let look = LineFormat {
            paint: Paint::of_stdout(args.color),
            detail,
            labels: Labels::new(&args.columns),
            ..LineFormat::new(&sources)
        };
        let format = Format { output: args.output.clone(), look };
        let out = BufWriter::with_capacity(1 << 16, io::stdout());
        Self { out, format, sources, widths: None, has_headers: !args.columns.no_headers }
    }

    /// Writes an event of the source at this position.
    pub(super) fn event(&mut self, at: usize, event: &Event<DynamicObject>) -> anyhow::Result<()> {
        let source = &self.sources[at];
        if let Output::CustomColumns(columns) = self.format.output.clone() {
            let row = grid::cells(&columns, &whole(&source.kind, event.object().get()))?;
            return self.row(&grid::headers(&columns), &row);
        }
        let text = text(&self.format, source, event)?;
        writeln!(self.out, "{text}").context(STDOUT)
    }

    /// Writes an object of the source at this position that existed before.
    pub(super) fn object(&mut self, at: usize, object: &DynamicObject) -> anyhow::Result<()> {
        let text = initial_text(&self.format, &self.sources[at], object)?;
        writeln!(self.out, "{text}").context(STDOUT)
    }

    /// Writes the name of an object of the source at this position.
    pub(super) fn name(&mut self, at: usize, key: &Key) -> anyhow::Result<()> {
        writeln!(self.out, "{}", named(&self.sources[at].prefix, key)).context(STDOUT)
    }

    /// Returns the prefix of the names of the source at this position; `None` if all sources have the same kind.
    pub(super) fn prefix(&self, at: usize) -> Option<String> {
        self.format.look.kinds.map(|_| self.sources[at].prefix.clone())
    }

    /// Writes a row of custom columns, below the headers.
    fn row(&mut self, headers: &[String], row: &[String]) -> anyhow::Result<()> {
        let is_first = self.widths.is_none();
        let widths = self.widths.get_or_insert_default();
        if is_first && self.has_headers {
            grid::widen(widths, headers);
            grid::widen(widths, row);
            writeln!(self.out, "{}", grid::line(headers, widths)).context(STDOUT)?;
        }
        grid::widen(widths, row);
        writeln!(self.out, "{}", grid::line(row, widths)).context(STDOUT)
    }

    /// Writes text as it is.
    pub(super) fn text(&mut self, text: &str) -> anyhow::Result<()> {
        self.out.write_all(text.as_bytes()).context(STDOUT)
    }

    /// Flushes stdout.
    pub(super) fn flush(&mut self) -> anyhow::Result<()> {
        self.out.flush().context(STDOUT)
    }
}

/// Names the output in errors.
const STDOUT: &str = "cannot write to stdout";

/// Returns an event without the end of its last line. Custom columns need the widths of the earlier rows.
fn text(format: &Format, source: &Source, event: &Event<DynamicObject>) -> anyhow::Result<String> {
    let (look, now) = (&format.look, Timestamp::now());
    Ok(match &format.output {
        Output::Table | Output::Wide => line(look, source, event, &Zoned::now()),
        Output::Diff => diff_lines(look, source, event, &Zoned::now()),
        Output::Json => clean_json(&document(source, event, now).to_string()),
        Output::Yaml => format!("---\n{}", yaml(&document(source, event, now)).join("\n")),
        Output::Name => named(&source.prefix, event.key()),
        Output::JsonPath(template) => {
            safe_text(&template.evaluate(&whole(&source.kind, event.object().get()))?)
        }
        Output::CustomColumns(columns) => {
            grid::cells(columns, &whole(&source.kind, event.object().get()))?.join("   ")
        }
    })
}

/// Returns an object that existed before, in the format of its event.
fn initial_text(format: &Format, source: &Source, object: &DynamicObject) -> anyhow::Result<String> {
    let (look, now) = (&format.look, Timestamp::now());
    Ok(match &format.output {
        Output::Table | Output::Wide | Output::Diff => initial_line(look, source, object, &Zoned::now()),
        Output::Json => clean_json(&initial(source, object, now).to_string()),
        Output::Yaml => format!("---\n{}", yaml(&initial(source, object, now)).join("\n")),
        Output::Name => {
            format!("{}/{}", source.prefix, clean_name(object.metadata.name.as_deref().unwrap_or_default()))
        }
        Output::JsonPath(template) => safe_text(&template.evaluate(&whole(&source.kind, object))?),
        Output::CustomColumns(columns) => grid::cells(columns, &whole(&source.kind, object))?.join("   "),
    })
}

/// Returns the text of a template that is safe to show. Tabs and line breaks are those of the template, or of a value.
pub(super) fn safe_text(text: &str) -> String {
    text.split('\t').map(clean_lines).collect::<Vec<_>>().join("\t")
}

/// Returns a list of objects as `kubectl get -o json` prints it.
pub(super) fn list(items: Vec<Value>) -> Value {
    let mut list =
        serde_json::json!({"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}});
    list["items"] = Value::Array(items);
    list
}

/// Returns the name of an object with its kind, as in kubectl.
pub(super) fn named(prefix: &str, key: &Key) -> String {
    format!("{prefix}/{}", clean_name(key.name()))
}

/// Returns each line in which an object that was added, updated and deleted is shown, in all formats.
pub(crate) fn shown(kind: &Kind, old: &Arc<DynamicObject>, new: &Arc<DynamicObject>) -> Vec<String> {
    let events = [
        Event::create(Arc::clone(old)),
        Event::update(Arc::clone(old), Arc::clone(new)),
        Event::delete(Arc::clone(new), Deletion::Observed),
    ];
    let labels = Labels::new(&crate::args::Columns { show_labels: true, ..Default::default() });
    let source = Source::new(kind.clone(), None);
    let look = LineFormat { kinds: Some(16), labels, detail: Detail::Full, ..LineFormat::new(&[]) };
    let outputs = [
        Output::Table,
        Output::Diff,
        Output::Json,
        Output::Yaml,
        Output::Name,
        crate::args::output("jsonpath={.metadata}{.spec}{.data.*}").unwrap_or_default(),
        crate::args::output("custom-columns=A:.metadata.name,B:..*").unwrap_or_default(),
    ];
    let formats: Vec<_> = outputs.into_iter().map(|output| Format { output, look: look.clone() }).collect();
    let mut texts: Vec<String> = Vec::new();
    for format in &formats {
        texts.extend(initial_text(format, &source, old).ok());
        // An object without a name has no events.
        texts.extend(events.iter().flatten().filter_map(|event| text(format, &source, event).ok()));
    }
    texts.iter().flat_map(|text| text.split('\n').map(str::to_owned)).collect()
}
