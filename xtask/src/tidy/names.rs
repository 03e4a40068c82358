//! No file, directory or module has a name without meaning.

use std::collections::BTreeSet;

use crate::tidy::tree::{SourceFile, Tree};
use crate::tidy::violation::Violation;

const RULE: &str = "names";

/// Names that do not describe the contents.
const EMPTY_NAMES: [&str; 18] = [
    "base",
    "common",
    "commons",
    "extras",
    "general",
    "helper",
    "helpers",
    "lib2",
    "misc",
    "other",
    "shared",
    "stuff",
    "things",
    "types",
    "util",
    "utilities",
    "utility",
    "utils",
];

const FIX: &str = "name it after its contents";

pub(crate) fn check(tree: &Tree<'_>) -> Vec<Violation> {
    let mut seen = BTreeSet::new();
    let rust = tree.files.iter().filter(|file| file.path.ends_with(".rs"));
    let mut violations: Vec<_> = rust.filter_map(|file| check_path(file, &mut seen)).collect();
    violations.extend(check_modules(tree));
    violations
}

/// Returns true if the last word of a name is in the list, as in `string_utils`.
fn is_empty_name(name: &str) -> bool {
    name.rsplit(['_', '-']).next().is_some_and(|last| EMPTY_NAMES.contains(&last))
}

/// Returns a violation for the first part of a path in the list, once per directory.
fn check_path(file: &SourceFile, seen: &mut BTreeSet<String>) -> Option<Violation> {
    let stem = file.path.strip_suffix(".rs")?;
    let parts: Vec<&str> = stem.split('/').collect();
    let at = parts.iter().position(|part| is_empty_name(part))?;
    let problem = format!("`{}` does not describe its contents", parts[at]);
    let is_new = seen.insert(parts[..=at].join("/"));
    is_new.then(|| Violation { file: file.path.clone(), line: 1, rule: RULE, problem, fix: FIX.to_owned() })
}

/// Checks inline modules; other modules are checked by the path of their file.
fn check_modules(tree: &Tree<'_>) -> impl Iterator<Item = Violation> {
    tree.rust.iter().flat_map(|file| {
        let inline = file.modules.iter().filter(|module| module.body.is_some());
        inline.filter_map(|module| {
            let name = file.tokens.word(module.name).filter(|name| is_empty_name(name))?;
            let problem = format!("module `{name}` does not describe its contents");
            Some(file.violation(RULE, file.tokens.line(module.name), problem, FIX))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::found;

    #[test]
    fn names_of_ideas_pass() {
        let tree = [("crates/a/src/lib.rs", "mod key;"), ("crates/a/src/shared_informer.rs", "mod path {}")];
        assert_eq!(found(check, &tree), [""; 0]);
    }

    #[test]
    fn empty_names_of_files_are_caught() {
        let problem = "crates/a/src/string_utils.rs:1: names: `string_utils` does not describe its contents";
        assert_eq!(found(check, &[("crates/a/src/string_utils.rs", "")]), [problem]);
    }

    #[test]
    fn empty_names_of_folders_are_caught_once() {
        let tree = [("crates/a/tests/common/mod.rs", ""), ("crates/a/tests/common/pods.rs", "")];
        let problem = "crates/a/tests/common/mod.rs:1: names: `common` does not describe its contents";
        assert_eq!(found(check, &tree), [problem]);
    }

    #[test]
    fn empty_names_of_modules_are_caught() {
        let problem = "crates/a/src/lib.rs:2: names: module `helpers` does not describe its contents";
        assert_eq!(found(check, &[("crates/a/src/lib.rs", "\nmod helpers {}")]), [problem]);
    }
}
