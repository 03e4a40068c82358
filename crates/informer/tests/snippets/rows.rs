//! Checks that every row of the tables of names is compiled, with every name in its right column.

use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::controller::Action;
use std::{collections::BTreeMap, sync::Arc};

pub(crate) type Done = Result<(), Box<dyn std::error::Error>>;

pub(crate) async fn reconcile(_: Arc<ConfigMap>, _: Arc<()>) -> Result<Action, kube::Error> {
    Ok(Action::await_change())
}

pub(crate) fn policy(_: Arc<ConfigMap>, _: &kube::Error, _: Arc<()>) -> Action {
    Action::await_change()
}

/// A row of a table of names.
struct Row<'a> {
    /// The name in the other project.
    left: &'a str,
    /// The names here.
    right: &'a str,
}

/// Returns the rows of the section "Names".
fn rows(document: &str) -> Vec<Row<'_>> {
    let section = document.split("## Names\n").nth(1).expect("the section exists");
    let section = section.split("\n## ").next().unwrap_or_default();
    let lines = section.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| --")).skip(1);
    lines.map(|line| row(line).unwrap_or_else(|| panic!("not a row of two columns: {line}"))).collect()
}

/// Splits a row at the one bar that is not escaped.
fn row(line: &str) -> Option<Row<'_>> {
    let line = line.strip_prefix("| ")?.strip_suffix(" |")?;
    let (left, right) = line.split_once(" | ")?;
    Some(Row { left, right })
}

/// Returns the code of each row by the left column, without comments.
fn compiled(source: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut sections = source.split("\n// row: ");
    sections.next();
    sections
        .map(|section| {
            let (left, code) = section.split_once('\n').unwrap_or((section, ""));
            (left, words(code.lines().filter(|line| !line.trim_start().starts_with("//"))))
        })
        .collect()
}

fn words<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let is_separator = |character: char| !character.is_alphanumeric() && character != '_';
    lines.flat_map(|line| line.split(is_separator)).filter(|word| !word.is_empty()).collect()
}

/// Returns the identifiers in the inline code of a cell. Names of files and crates are checked differently.
fn identifiers(cell: &str) -> Vec<&str> {
    let code = cell.split('`').skip(1).step_by(2).filter(|code| !is_file(code) && !is_crate(code));
    words(code).into_iter().filter(|word| !word.starts_with(|first: char| first.is_ascii_digit())).collect()
}

fn is_file(code: &str) -> bool {
    code.ends_with(".rs") || code.ends_with(".md")
}

fn is_crate(code: &str) -> bool {
    code.starts_with("kube-")
}

fn check(document: &str, source: &str) {
    let compiled = compiled(source);
    let rows = rows(document);
    assert!(rows.len() > 30, "{} rows", rows.len());
    for Row { left, right } in &rows {
        let code = compiled.get(left).unwrap_or_else(|| panic!("no function for the row {left}"));
        for name in identifiers(right) {
            assert!(code.contains(&name), "the function of the row {left} does not use `{name}`");
        }
        for file in right.split('`').skip(1).step_by(2).filter(|code| is_file(code)) {
            let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
            assert!(path.exists(), "{file} in the row {left} does not exist");
        }
    }
    for left in compiled.keys() {
        assert!(rows.iter().any(|row| row.left == *left), "the row {left} does not exist any more");
    }
}

#[test]
fn every_row_of_from_kube_rs_is_compiled() {
    check(include_str!("../../../../docs/from-kube-rs.md"), include_str!("kube_rs_rows.rs"));
}

#[test]
fn every_row_of_from_client_go_is_compiled() {
    check(include_str!("../../../../docs/from-client-go.md"), include_str!("client_go_rows.rs"));
}

#[test]
fn a_name_that_the_code_does_not_use_is_found() {
    let found = std::panic::catch_unwind(|| {
        let rows: String = (0..31).map(|n| format!("| `a{n}` | `Informer::missing` |\n")).collect();
        let code: String = (0..31).map(|n| format!("\n// row: `a{n}`\nfn f() {{ Informer }}")).collect();
        check(&format!("## Names\n\n| x | y |\n|---|---|\n{rows}"), &code);
    });
    let message = found.unwrap_err().downcast::<String>().unwrap();
    assert_eq!(*message, "the function of the row `a0` does not use `missing`");
}

/// Returns the text of all source files.
fn sources(folder: &std::path::Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(folder).expect("the sources are readable").map_while(Result::ok) {
        if entry.path().is_dir() {
            text += &sources(&entry.path());
        } else {
            text += &std::fs::read_to_string(entry.path()).expect("sources are text");
        }
    }
    text
}

#[test]
fn a_search_in_the_docs_finds_the_names_of_other_projects() {
    let text = sources(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    for name in [
        "owns",
        "watches",
        "requeue",
        "error_policy",
        "SharedInformer",
        "ListerWatcher",
        "HasSynced",
        "predicate",
        "finalizer",
    ] {
        let is_alias = text.contains(&format!("#[doc(alias = \"{name}\")]"));
        let is_item = text.lines().map(str::trim_start).any(|line| {
            let declares = |item: &str| line.contains(&format!(" {item} {name}"));
            line.starts_with("pub ") && (declares("fn") || declares("trait"))
        });
        assert!(is_alias || is_item, "{name}");
    }
}
