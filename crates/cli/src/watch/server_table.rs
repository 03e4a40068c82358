//! The current state as the server prints it: with the columns of `kubectl get`.

use super::{grid, labels::Labels, printer::Printer, scope::Scope, selection::Selection};
use crate::advice;
use crate::args::{Output, Watch};
use crate::cli_error::{Class, CliError};
use crate::jsonpath::compare;
use crate::kinds::Kind;
use crate::notice::print_notice;
use crate::safe::{clean, clean_name};
use form_urlencoded::byte_serialize;
use kube_client::Error;
use kube_core::Status;
use kube_informer::document::Request;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::{collections::BTreeMap, time::Duration};

/// The accepted content types, the preferred one first.
const ACCEPT: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
/// The number of rows per page, as in kubectl.
const PAGE: u64 = 500;
/// The maximum size of a page.
const MAX_PAGE: usize = 256 << 20;
/// The number of retries after a failure that may be temporary, and the first delay.
const RETRIES: u32 = 3;
const DELAY: Duration = Duration::from_millis(300);

/// A page of a table, as far as it is used.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    metadata: ListMetadata,
    #[serde(default, deserialize_with = "null_as_empty")]
    column_definitions: Vec<Definition>,
    #[serde(default, deserialize_with = "null_as_empty")]
    rows: Vec<Row>,
}

#[derive(Default, Deserialize)]
struct ListMetadata {
    #[serde(default, rename = "continue")]
    token: String,
}

/// A column. Columns with a priority above 0 are shown with `-o wide`.
#[derive(Clone, Deserialize)]
struct Definition {
    name: String,
    #[serde(default)]
    priority: i64,
}

#[derive(Deserialize)]
struct Row {
    #[serde(default, deserialize_with = "null_as_empty")]
    cells: Vec<Value>,
    #[serde(default)]
    object: Value,
}

fn null_as_empty<'d, D: Deserializer<'d>, T: Deserialize<'d>>(value: D) -> Result<Vec<T>, D::Error> {
    Ok(Option::deserialize(value)?.unwrap_or_default())
}

/// The rows of one kind of one cluster.
struct Table {
    definitions: Vec<Definition>,
    rows: Vec<Row>,
}

/// The objects of one kind that are selected by the arguments; all objects if no names are given.
struct Group<'s> {
    kind: &'s Kind,
    names: Vec<&'s str>,
    is_named: bool,
}

/// How the objects were printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Printed {
    /// As tables of the servers.
    Tables,
    /// Not at all: a server does not send tables.
    Nothing,
}

/// Prints the objects of all clusters.
///
/// # Errors
/// If a server refuses, or an object that the command line names does not exist.
pub(super) async fn print(printer: &mut Printer, scopes: &[Scope], args: &Watch) -> anyhow::Result<Printed> {
    let has_kinds = scopes.iter().flat_map(groups).map(|group| group.kind.prefix());
    let has_kinds = has_kinds.collect::<std::collections::BTreeSet<_>>().len() > 1;
    let (mut texts, mut empty, mut missing) = (Vec::new(), Vec::new(), Vec::new());
    for scope in scopes {
        let style = Style {
            has_kinds,
            context: scope.context.as_deref(),
            has_namespaces: scope.namespaces.as_ref().is_none_or(|names| names.len() != 1),
            is_wide: args.output == Output::Wide,
            labels: Labels::new(&args.columns),
            has_headers: !args.columns.no_headers,
        };
        let mut refused = None;
        for group in groups(scope) {
            let table = match fetch(scope, &group, args).await {
                Ok(Some(table)) => table,
                Ok(None) => return Ok(Printed::Nothing),
                Err(failure) if failure.is_refused() && !group.is_named => {
                    if !args.quiet {
                        print_notice(format!("{}; skipped", failure.message()));
                    }
                    refused = Some(failure);
                    continue;
                }
                Err(failure) => return Err(failure.into()),
            };
            let found = |name: &&str| table.rows.iter().any(|row| row.name() == *name);
            missing.extend(
                group
                    .names
                    .iter()
                    .filter(|name| !found(name))
                    .map(|name| format!("{} {name:?}", group.kind.resource())),
            );
            match select(table, args)? {
                table if table.rows.is_empty() => empty.push(group.kind.resource()),
                table => texts.push(style.lines(group.kind, &table).join("\n") + "\n"),
            }
        }
        // As for any other resource, if nothing of a category may be read, that is an error.
        if let Some(failure) = refused.filter(|_| texts.is_empty() && empty.is_empty()) {
            return Err(failure.into());
        }
    }
    printer.text(&texts.join("\n"))?;
    printer.flush()?;
    if !missing.is_empty() {
        return Err(CliError::new(Class::Other, format!("not found: {}", missing.join(", "))).into());
    }
    if texts.is_empty() {
        empty.dedup();
        let namespaces = scopes.first().and_then(|scope| scope.namespaces.as_ref());
        let place = namespaces.map_or(String::new(), |names| format!(" in namespace {}", names.join(", ")));
        print_notice(format!("no {} found{place}", empty.join(", ")));
    }
    Ok(Printed::Tables)
}

/// Returns the kinds of a cluster with the names of the objects, in the order of the command line.
fn groups(scope: &Scope) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for (target, is_named) in scope.targets.iter().zip(&scope.is_named) {
        let name = target.name.as_deref();
        match groups.last_mut() {
            Some(last) if *last.kind == target.kind && !last.names.is_empty() && name.is_some() => {
                last.names.extend(name);
            }
            _ => groups.push(Group {
                kind: &target.kind,
                names: name.into_iter().collect(),
                is_named: *is_named,
            }),
        }
    }
    groups
}

/// Requests the rows of a kind; `None` if the server does not send tables.
async fn fetch(scope: &Scope, group: &Group<'_>, args: &Watch) -> Result<Option<Table>, CliError> {
    let all = [None];
    let namespaces: Vec<Option<&str>> = match scope.namespaces.as_deref() {
        Some(names) if group.kind.has_namespaces => names.iter().map(|name| Some(name.as_str())).collect(),
        _ => all.to_vec(),
    };
    let names: Vec<Option<&str>> = match group.names.as_slice() {
        [] => all.to_vec(),
        names => names.iter().copied().map(Some).collect(),
    };
    let mut table = Table { definitions: Vec::new(), rows: Vec::new() };
    for namespace in namespaces {
        for name in &names {
            let list = List { scope, kind: group.kind, namespace, name: *name };
            if !list.fetch(args, &mut table).await? {
                return Ok(None);
            }
        }
    }
    Ok(Some(table))
}

/// One list of the server.
struct List<'s> {
    scope: &'s Scope,
    kind: &'s Kind,
    namespace: Option<&'s str>,
    name: Option<&'s str>,
}

impl List<'_> {
    /// Adds the rows to a table; returns false if the server does not send tables.
    async fn fetch(&self, args: &Watch, table: &mut Table) -> Result<bool, CliError> {
        let (start, mut token, mut limit) =
            (table.rows.len(), String::new(), args.informer_args.page_size.unwrap_or(PAGE));
        loop {
            let path = format!("{}?{}", self.kind.path(self.namespace), self.query(args, limit, &token));
            let page = match self.request(&path).await {
                // The token has expired: like kubectl, lists again without pages.
                Err(Error::Api(status)) if status.code == 410 && !token.is_empty() => {
                    table.rows.truncate(start);
                    (token, limit) = (String::new(), 0);
                    continue;
                }
                page => page.map_err(|error| self.explain(&error, args))?,
            };
            if page.kind != "Table" {
                return Ok(false);
            }
            if table.definitions.is_empty() {
                table.definitions = page.column_definitions;
            }
            table.rows.extend(page.rows);
            // A server that sends the same token again would never end.
            if page.metadata.token.is_empty() || page.metadata.token == token {
                return Ok(true);
            }
            token = page.metadata.token;
        }
    }

    fn query(&self, args: &Watch, limit: u64, token: &str) -> String {
        let name = self.name.iter().map(|name| format!("metadata.name={name}"));
        let fields: Vec<_> = name.chain(args.informer_args.field_selector.clone()).collect();
        let mut query = vec![format!("limit={limit}")];
        let mut add = |name: &str, value: &str| {
            if !value.is_empty() {
                query.push(format!("{name}={}", byte_serialize(value.as_bytes()).collect::<String>()));
            }
        };
        add("continue", token);
        add("labelSelector", args.informer_args.selector.as_deref().unwrap_or_default());
        add("fieldSelector", &fields.join(","));
        add("includeObject", if args.columns.sort_by.is_some() { "Object" } else { "Metadata" });
        query.join("&")
    }

    /// Sends a request, and repeats it after a failure that may be temporary.
    async fn request(&self, path: &str) -> Result<Page, Error> {
        let request = Request::new(path).accept(ACCEPT).max_size(MAX_PAGE);
        let mut retries = 0;
        loop {
            match request.get(&self.scope.connection.client).await {
                Err(error) if is_temporary(&error) && retries < RETRIES => {
                    tokio::time::sleep(DELAY * 2_u32.pow(retries)).await;
                    retries += 1;
                }
                answer => return answer,
            }
        }
    }

    fn explain(&self, error: &Error, args: &Watch) -> CliError {
        match error {
            Error::Api(status) => {
                let refusal = advice::Refusal { kind: self.kind, namespace: self.namespace, status };
                advice::of_refusal(&refusal, args.informer_args.strategy)
            }
            error => advice::of_client(error, &self.scope.connection.route),
        }
    }
}

fn is_temporary(error: &Error) -> bool {
    let is_temporary = |status: &Status| status.code == 429 || status.code >= 500;
    match error {
        Error::Api(status) => is_temporary(status),
        Error::HyperError(_) | Error::Service(_) => true,
        _ => false,
    }
}

impl Row {
    fn metadata(&self, name: &str) -> &str {
        self.object["metadata"][name].as_str().unwrap_or_default()
    }

    fn name(&self) -> &str {
        self.metadata("name")
    }

    fn labels(&self) -> BTreeMap<String, String> {
        let labels = self.object["metadata"]["labels"].as_object().into_iter().flatten();
        labels.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
    }
}

/// Removes rows by name, and sorts the others.
fn select(mut table: Table, args: &Watch) -> Result<Table, CliError> {
    let selection = Selection::new(args);
    table.rows.retain(|row| selection.accepts(row.name()));
    let Some(path) = &args.columns.sort_by else { return Ok(table) };
    let mut keyed = Vec::with_capacity(table.rows.len());
    for row in table.rows {
        let found = path.find(&row.object).map_err(|error| CliError::new(Class::Usage, error.to_string()))?;
        keyed.push((found.first().map(|value| value.clone().into_owned()), row));
    }
    keyed.sort_by(|one, other| compare(one.0.as_ref(), other.0.as_ref()));
    table.rows = keyed.into_iter().map(|(_, row)| row).collect();
    Ok(table)
}

/// The columns in addition to those of the server.
struct Style<'s> {
    has_kinds: bool,
    context: Option<&'s str>,
    has_namespaces: bool,
    is_wide: bool,
    labels: Labels,
    has_headers: bool,
}

impl Style<'_> {
    fn lines(&self, kind: &Kind, table: &Table) -> Vec<String> {
        let definitions: Vec<_> = table.definitions.iter().enumerate().collect();
        let shown: Vec<_> = definitions
            .into_iter()
            .filter(|(_, definition)| self.is_wide || definition.priority == 0)
            .collect();
        let has_namespaces = self.has_namespaces && kind.has_namespaces;
        let mut rows = Vec::new();
        if self.has_headers {
            let mut row: Vec<_> = self.context.map(|_| "CONTEXT".to_owned()).into_iter().collect();
            row.extend(has_namespaces.then(|| "NAMESPACE".to_owned()));
            row.extend(shown.iter().map(|(_, definition)| clean_name(&definition.name).to_uppercase()));
            row.extend(self.labels.headers());
            rows.push(row);
        }
        for object in &table.rows {
            let mut row: Vec<_> = self.context.map(clean_name).into_iter().collect();
            row.extend(has_namespaces.then(|| clean_name(object.metadata("namespace"))));
            row.extend(shown.iter().map(|(at, definition)| {
                let cell = object.cells.get(*at).map(cell).unwrap_or_default();
                // The name has the kind before it if there are several kinds.
                let is_name = *at == 0 || definition.name == "Name";
                if self.has_kinds && is_name { format!("{}/{cell}", kind.prefix()) } else { cell }
            }));
            row.extend(self.labels.cells(Some(&object.labels())));
            rows.push(row);
        }
        grid::lines(&rows)
    }
}

/// Returns the text of a cell: the first line of a text, with dots if there are more.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => match text.split_once(['\n', '\r', '\u{c}']) {
            Some((first, _)) => clean(first) + "...",
            None => clean(text),
        },
        other => clean(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn table() -> Table {
        let page = json!({"kind": "Table",
        "columnDefinitions": [{"name": "Name"}, {"name": "Ready", "priority": 0}, {"name": "Node", "priority": 1}],
        "rows": [
            {"cells": ["front-1", "1/1", null], "object": {"metadata": {"name": "front-1", "namespace": "shop", "labels": {"app": "x"}}}},
            {"cells": ["b\u{1b}", 3, "two\nlines"], "object": {"metadata": {"name": "b", "namespace": "n"}}},
        ]});
        let page: Page = serde_json::from_value(page).unwrap();
        Table { definitions: page.column_definitions, rows: page.rows }
    }

    fn style() -> Style<'static> {
        Style {
            has_kinds: false,
            context: None,
            has_namespaces: false,
            is_wide: false,
            labels: Labels::default(),
            has_headers: true,
        }
    }

    #[test]
    fn tables_have_the_columns_of_the_server() {
        let kind = Kind { kind: "Pod".into(), has_namespaces: true, ..Kind::default() };
        let lines = |style: Style<'_>| style.lines(&kind, &table());
        assert_eq!(lines(style()), ["NAME      READY", "front-1   1/1", "b\\u{1b}   3"]);
        let wide = lines(Style { is_wide: true, has_namespaces: true, has_headers: false, ..style() });
        assert_eq!(wide, ["shop   front-1   1/1   ", "n      b\\u{1b}   3     two..."]);
        let all = lines(Style { has_kinds: true, context: Some("prod"), ..style() });
        assert_eq!(all[..2], ["CONTEXT   NAME          READY", "prod      pod/front-1   1/1"]);
    }

    #[test]
    fn a_table_without_rows_is_empty() {
        let page: Page =
            serde_json::from_value(json!({"kind": "Table", "columnDefinitions": null, "rows": null}))
                .unwrap();
        assert!(page.rows.is_empty() && page.column_definitions.is_empty());
    }
}
