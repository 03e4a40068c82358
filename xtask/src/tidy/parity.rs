//! The tests that documents name exist.

use std::collections::BTreeSet;

use crate::tidy::tree::{RustFile, Tree};
use crate::tidy::violation::Violation;

const RULE: &str = "parity";

/// The documents whose tables have a column `tests`, in which names of tests are in backticks.
const DOCUMENTS: [&str; 2] = ["docs/parity.md", "docs/differences.md"];

pub(crate) fn check(tree: &Tree<'_>) -> Vec<Violation> {
    let defined: BTreeSet<&str> = tree.rust.iter().flat_map(tests).collect();
    let mut violations = Vec::new();
    for document in tree.files.iter().filter(|file| DOCUMENTS.contains(&file.path.as_str())) {
        for (line, name) in named(&document.text) {
            if !defined.contains(name) {
                violations.push(Violation {
                    file: document.path.clone(),
                    line,
                    rule: RULE,
                    problem: format!("there is no test `{name}`"),
                    fix: "name the test that checks this now".to_owned(),
                });
            }
        }
    }
    violations
}

/// Returns the names in the columns `tests` of all tables, with their lines.
fn named(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut column = None;
    for (index, line) in text.lines().enumerate() {
        let Some(row) = line.strip_prefix('|') else {
            column = None;
            continue;
        };
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        if let Some(head) = cells.iter().position(|cell| *cell == "tests") {
            column = Some(head);
            continue;
        }
        let cell = column.and_then(|column| cells.get(column)).copied().unwrap_or_default();
        found.extend(cell.split('`').skip(1).step_by(2).map(|name| (index + 1, name)));
    }
    found
}

/// Returns the names of the functions of a file that are tests.
fn tests<'a>(file: &RustFile<'a>) -> Vec<&'a str> {
    let mut found = Vec::new();
    let mut is_test = false;
    for line in file.text.lines().map(str::trim_start) {
        if line.starts_with("#[") {
            is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
            continue;
        }
        let name = line.trim_start_matches("async ").strip_prefix("fn ");
        if let Some(name) = name.filter(|_| is_test) {
            found.push(name.split(['(', '<']).next().unwrap_or_default());
        }
        is_test &= line.is_empty() || line.starts_with("//");
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::files;

    const CODE: &str = "//! A.\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn one() {}\n\n    #[tokio::test(start_paused = true)]\n    \
                        #[cfg(unix)]\n    async fn two() {}\n\n    fn helper() {}\n}\n";

    fn check_of(document: &str) -> Vec<String> {
        let files = files(&[("crates/wire/src/a.rs", CODE), ("docs/parity.md", document)]);
        check(&Tree::new(&files)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn names_of_tests_pass() {
        let table =
            "| `x` | tests | note |\n|---|---|---|\n| `y` | `one`, `two` | `z` |\n| w |  | |\n\n`helper`\n";
        assert_eq!(check_of(table), [""; 0]);
    }

    #[test]
    fn other_names_are_caught() {
        let table = "# A\n\n| a | tests |\n|---|---|\n| b | `one`, `three` |\n| c | `helper` |\n";
        assert_eq!(
            check_of(table),
            [
                "docs/parity.md:5: parity: there is no test `three`; fix: name the test that checks this now",
                "docs/parity.md:6: parity: there is no test `helper`; fix: name the test that checks this now",
            ]
        );
    }
}
