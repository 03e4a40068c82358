//! Tests cite rules of docs/behavior.md that exist, and every rule there has a test.

use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::tree::{RustFile, SourceFile, Tree};
use crate::tidy::violation::Violation;

const RULE: &str = "behavior";

/// The document that defines the rules, one per line: `- **R1** text`.
const DOCUMENT: &str = "docs/behavior.md";

/// The ends of rules that need no test.
const EXEMPTIONS: [&str; 2] = ["(not applicable: ", "(planned: "];

/// A rule as the document defines it.
#[derive(Debug)]
struct Definition {
    line: usize,
    is_exempt: bool,
}

pub(crate) fn check(tree: &Tree<'_>) -> Vec<Violation> {
    let Some(document) = tree.files.iter().find(|file| file.path == DOCUMENT) else {
        return Vec::new();
    };
    let (defined, mut violations) = definitions(document);
    let mut cited = BTreeSet::new();
    for file in &tree.rust {
        for (line, name) in citations(file) {
            if !defined.contains_key(name) {
                let problem = format!("{DOCUMENT} has no rule {name}");
                violations.push(file.violation(RULE, line, problem, "cite a rule that exists, or define it"));
            }
            cited.insert(name);
        }
    }
    violations.extend(defined.iter().filter_map(|(name, rule)| untested(name, rule, &cited)));
    violations
}

/// Returns the rules by name, and a violation for each that is defined twice.
fn definitions(document: &SourceFile) -> (BTreeMap<&str, Definition>, Vec<Violation>) {
    let mut defined = BTreeMap::new();
    let mut violations = Vec::new();
    for (index, text) in document.text.lines().enumerate() {
        let Some((name, text)) = text.strip_prefix("- **").and_then(|rest| rest.split_once("** ")) else {
            continue;
        };
        let line = index + 1;
        let is_exempt = text.ends_with(')') && EXEMPTIONS.iter().any(|mark| text.contains(mark));
        if defined.insert(name, Definition { line, is_exempt }).is_some() {
            violations.push(violation(line, format!("{name} is defined twice"), "renumber one of them"));
        }
    }
    (defined, violations)
}

fn untested(name: &str, rule: &Definition, cited: &BTreeSet<&str>) -> Option<Violation> {
    match (rule.is_exempt, cited.contains(name)) {
        (false, false) => {
            let fix = format!("add `// {name}` above its test, or mark it `(planned: ..)`");
            Some(violation(rule.line, format!("no test cites {name}"), &fix))
        }
        (true, true) => {
            let problem = format!("{name} is marked as untested, but a test cites it");
            Some(violation(rule.line, problem, "remove the mark, or the citation"))
        }
        (true, false) | (false, true) => None,
    }
}

fn violation(line: usize, problem: String, fix: &str) -> Violation {
    Violation { file: DOCUMENT.to_owned(), line, rule: RULE, problem, fix: fix.to_owned() }
}

/// Returns the rules that comments in test code cite, with their lines.
fn citations<'a>(file: &RustFile<'a>) -> Vec<(usize, &'a str)> {
    let mut found = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let Some(comment) = line.trim_start().strip_prefix("//") else { continue };
        if file.is_test_line(index + 1) {
            let words = comment.split(|c: char| !c.is_ascii_alphanumeric());
            found.extend(words.filter(|word| is_rule(word)).map(|word| (index + 1, word)));
        }
    }
    found
}

/// Returns true for `R73`; `A1` is a rule only if the document defines it, so that other names do not clash.
fn is_rule(word: &str) -> bool {
    let is_numbered = |letter: char, digits: usize| {
        word.strip_prefix(letter).is_some_and(|number| {
            !number.is_empty() && number.len() <= digits && number.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    is_numbered('R', 3) || is_numbered('A', 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::found;

    const RULES: &str = "# Behavior\n\n- **R1** One.\n- **A1** Two. (planned: not implemented)\n";

    fn check_with(test: &str, expected: &[&str]) {
        let tree = [(DOCUMENT, RULES), ("crates/a/tests/b.rs", test)];
        assert_eq!(found(check, &tree), expected);
    }

    #[test]
    fn rules_with_a_test_or_a_mark_pass() {
        check_with("// R1\n#[test] fn a() {}", &[]);
        check_with("/// Something (R1).\n#[test] fn a() {}", &[]);
    }

    #[test]
    fn unknown_rules_are_caught() {
        check_with(
            "// R1, R2\n#[test] fn a() {}",
            &["crates/a/tests/b.rs:1: behavior: docs/behavior.md has no rule R2"],
        );
    }

    #[test]
    fn rules_without_a_test_are_caught() {
        check_with(
            "#[test] fn r1() { let text = \"// R1\"; }",
            &["docs/behavior.md:3: behavior: no test cites R1"],
        );
    }

    #[test]
    fn citations_outside_of_tests_do_not_count() {
        let tree =
            [(DOCUMENT, RULES), ("crates/a/src/b.rs", "// R1\nfn a() {}\n#[cfg(test)]\nmod tests {\n}")];
        assert_eq!(found(check, &tree), ["docs/behavior.md:3: behavior: no test cites R1"]);
    }

    #[test]
    fn marks_of_rules_that_have_a_test_are_caught() {
        let problem = "docs/behavior.md:4: behavior: A1 is marked as untested, but a test cites it";
        check_with("// R1, A1\n#[test] fn a() {}", &[problem]);
    }

    #[test]
    fn rules_that_are_defined_twice_are_caught() {
        let tree = [(DOCUMENT, "- **R1** One.\n- **R1** Two.\n"), ("a/tests/b.rs", "// R1\nfn a() {}")];
        assert_eq!(found(check, &tree), ["docs/behavior.md:2: behavior: R1 is defined twice"]);
    }
}
