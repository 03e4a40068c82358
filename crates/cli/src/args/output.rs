//! The output formats of `informer watch`.

use crate::jsonpath::{Path, Template};
use clap::{
    Arg, Command, Error,
    builder::{PossibleValue, TypedValueParser},
    error::ErrorKind,
};
use std::{ffi::OsStr, sync::Arc};

/// The output format.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Output {
    /// Time, event, namespace/name, and a summary of the change.
    #[default]
    Table,
    /// The table with every column, and every changed field.
    Wide,
    /// The name as in kubectl: pod/front-1, deployment.apps/front.
    Name,
    /// One JSON document per line.
    Json,
    /// The same as YAML documents.
    Yaml,
    /// The old and the new value of each changed field.
    Diff,
    JsonPath(Arc<Template>),
    CustomColumns(Arc<[Column]>),
}

/// A column of `-o custom-columns`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Column {
    pub(crate) header: String,
    pub(crate) path: Path,
}

/// The possible values with their help.
const VALUES: [(&str, &str); 10] = [
    ("table", "Time, event, namespace/name, and a summary of the change; with --once, the server's columns"),
    ("wide", "The table with every column; every changed field instead of the most important ones"),
    ("name", "The name as in kubectl: pod/front-1, deployment.apps/front"),
    ("json", "One JSON document per line"),
    ("yaml", "The same as YAML documents"),
    ("diff", "The old and the new value of each changed field"),
    ("jsonpath=", "A template, such as jsonpath='{.status.phase}'; with --once, of a list with .items"),
    ("jsonpath-file=", "The same, read from a file"),
    ("custom-columns=", "A table of paths, such as custom-columns=NAME:.metadata.name,IP:.status.podIP"),
    ("custom-columns-file=", "The same, read from a file: a line of headers and a line of paths"),
];

/// Parses an output format.
#[derive(Clone, Debug)]
pub(super) struct OutputParser;

impl TypedValueParser for OutputParser {
    type Value = Output;

    fn parse_ref(&self, command: &Command, _: Option<&Arg>, value: &OsStr) -> Result<Output, Error> {
        let text = value.to_string_lossy();
        output(&text)
            .map_err(|problem| Error::raw(ErrorKind::ValueValidation, problem + "\n").with_cmd(command))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(VALUES.iter().map(|(name, help)| PossibleValue::new(name).help(help))))
    }
}

/// Parses the value of `-o`.
pub(crate) fn output(text: &str) -> Result<Output, String> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    };
    let needed = || value.filter(|value| !value.is_empty()).ok_or(missing(name));
    Ok(match name {
        "table" => Output::Table,
        "wide" => Output::Wide,
        "name" => Output::Name,
        "json" => Output::Json,
        "yaml" => Output::Yaml,
        "diff" => Output::Diff,
        "jsonpath" => Output::JsonPath(template(needed()?)?),
        "jsonpath-file" => Output::JsonPath(template(file(needed()?)?.trim_end_matches('\n'))?),
        "custom-columns" => Output::CustomColumns(columns(needed()?)?),
        "custom-columns-file" => Output::CustomColumns(columns_of_file(&file(needed()?)?)?),
        _ => {
            let known: Vec<_> = VALUES.iter().map(|(name, _)| *name).collect();
            return Err(format!("invalid output format {text:?}: expected one of {}", known.join(", ")));
        }
    })
}

fn missing(name: &str) -> String {
    match name {
        "jsonpath" => "-o jsonpath needs a template: -o jsonpath='{.metadata.name}'".to_owned(),
        "custom-columns" => {
            "-o custom-columns needs columns: -o custom-columns=NAME:.metadata.name".to_owned()
        }
        name => format!("-o {name} needs a file: -o {name}=FILE"),
    }
}

fn template(text: &str) -> Result<Arc<Template>, String> {
    Template::parse(text).map(Arc::new).map_err(|error| error.to_string())
}

fn file(path: &str) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("cannot read {path}: {error}"))
}

/// Parses `NAME:.metadata.name,PHASE:.status.phase`. Commas in brackets belong to the path.
fn columns(text: &str) -> Result<Arc<[Column]>, String> {
    let mut parts = vec![String::new()];
    let mut depth = 0_usize;
    for letter in text.chars() {
        match letter {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        match parts.last_mut() {
            Some(last) if letter != ',' || depth > 0 => last.push(letter),
            _ => parts.push(String::new()),
        }
    }
    let column = |part: &String| {
        let (header, path) =
            part.split_once(':').filter(|(header, path)| !header.is_empty() && !path.is_empty()).ok_or(
                format!("invalid custom column {part:?}: expected HEADER:PATH, such as NAME:.metadata.name"),
            )?;
        column(header, path)
    };
    parts.iter().map(column).collect()
}

fn columns_of_file(text: &str) -> Result<Arc<[Column]>, String> {
    let mut lines = text.lines();
    let headers: Vec<_> = lines.next().unwrap_or_default().split_whitespace().collect();
    let paths: Vec<_> = lines.next().unwrap_or_default().split_whitespace().collect();
    if headers.is_empty() || headers.len() != paths.len() {
        let (headers, paths) = (headers.len(), paths.len());
        return Err(format!("the file of the custom columns has {headers} headers and {paths} paths"));
    }
    headers.into_iter().zip(paths).map(|(header, path)| column(header, path)).collect()
}

fn column(header: &str, path: &str) -> Result<Column, String> {
    let path = Path::parse(path).map_err(|error| error.to_string())?;
    Ok(Column { header: header.to_owned(), path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_written_as_for_kubectl() {
        assert_eq!(output("wide"), Ok(Output::Wide));
        assert!(matches!(output("jsonpath={.metadata.name}"), Ok(Output::JsonPath(_))));
        let Ok(Output::CustomColumns(columns)) =
            output("custom-columns=NAME:metadata.name,P:.spec.ports[0,1].port,L:{.metadata.labels['a=b']}")
        else {
            panic!("these are columns")
        };
        let headers: Vec<_> = columns.iter().map(|column| column.header.as_str()).collect();
        assert_eq!(headers, ["NAME", "P", "L"]);
    }

    #[test]
    fn an_invalid_format_is_refused_with_an_example() {
        for (text, expected) in [
            ("tabel", "invalid output format \"tabel\": expected one of table, wide, name"),
            ("jsonpath", "-o jsonpath='{.metadata.name}'"),
            ("jsonpath=", "-o jsonpath='{.metadata.name}'"),
            ("jsonpath={.a[}", "invalid JSONPath \"{.a[}\" at byte 4"),
            ("custom-columns=NAME", "invalid custom column \"NAME\": expected HEADER:PATH"),
            ("custom-columns=NAME:.a[", "invalid JSONPath \".a[\" at byte 3"),
            ("jsonpath-file=/does/not/exist", "cannot read /does/not/exist"),
            ("custom-columns-file", "-o custom-columns-file=FILE"),
        ] {
            let problem = output(text).unwrap_err();
            assert!(problem.contains(expected), "{text}: {problem}");
        }
    }

    #[test]
    fn a_file_of_columns_has_headers_and_paths() {
        let columns = columns_of_file("NAME  PHASE\nmetadata.name  .status.phase\n").unwrap();
        assert_eq!(columns.len(), 2);
        assert!(
            columns_of_file("NAME PHASE\n.metadata.name\n").unwrap_err().contains("2 headers and 1 paths")
        );
    }
}
