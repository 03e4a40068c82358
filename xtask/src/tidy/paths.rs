//! Paths that start at `crate`, `super` or `self`, written out from the crate's root.

use crate::tidy::tree::RustFile;

/// A path in the code: its modules, then the name of the item.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CodePath {
    pub(crate) parts: Vec<String>,
    pub(crate) line: usize,
    pub(crate) is_macro_call: bool,
}

/// Returns all paths in the file of a module, except in tests.
pub(crate) fn paths(file: &RustFile<'_>, module: &[String]) -> Vec<CodePath> {
    let mut found = Vec::new();
    for at in (0..file.tokens.len()).filter(|&at| starts_path(file, at) && !file.is_test(at)) {
        let base = match file.tokens.word(at) {
            Some("crate") => Vec::new(),
            _ => module_at(file, module, at),
        };
        collect(file, at, base, &mut found);
    }
    found
}

fn starts_path(file: &RustFile<'_>, at: usize) -> bool {
    let tokens = &file.tokens;
    let is_root = ["crate", "super", "self"].iter().any(|root| tokens.is_word(at, root));
    if !is_root || !tokens.is_path_separator(at + 1) {
        return false;
    }
    let follows = |mark| at > 0 && tokens.is_mark(at - 1, mark);
    // `$crate` and `pub(in crate::a)` are not imports.
    let is_visibility = at >= 2 && tokens.is_word(at - 1, "in") && tokens.is_open(at - 2, '(');
    !follows(':') && !follows('$') && !is_visibility
}

/// Returns the module of a token: the module of the file and inline modules.
fn module_at(file: &RustFile<'_>, module: &[String], at: usize) -> Vec<String> {
    let around = file.modules.iter().filter(|m| m.body.as_ref().is_some_and(|body| body.contains(&at)));
    let inline = around.filter_map(|m| file.tokens.word(m.name)).map(str::to_owned);
    module.iter().cloned().chain(inline).collect()
}

/// Collects the rest of a path, and of every branch of a `{..}` group.
fn collect(file: &RustFile<'_>, at: usize, mut parts: Vec<String>, found: &mut Vec<CodePath>) {
    let tokens = &file.tokens;
    let line = tokens.line(at);
    match tokens.word(at) {
        Some("crate" | "self") => {}
        Some("super") => drop(parts.pop()),
        Some(name) => parts.push(name.to_owned()),
        None if tokens.is_mark(at, '*') => parts.push("*".to_owned()),
        None if tokens.is_open(at, '{') => {
            return branches(file, at).for_each(|branch| collect(file, branch, parts.clone(), found));
        }
        None => {}
    }
    let continues =
        |next| tokens.word(next).is_some() || tokens.is_mark(next, '*') || tokens.is_open(next, '{');
    if tokens.word(at).is_some() && tokens.is_path_separator(at + 1) && continues(at + 3) {
        return collect(file, at + 3, parts, found);
    }
    let is_macro_call = tokens.is_mark(at + 1, '!') && !tokens.is_mark(at + 2, '=');
    found.push(CodePath { parts, line, is_macro_call });
}

/// Returns the start of each branch of a group.
fn branches(file: &RustFile<'_>, open: usize) -> impl Iterator<Item = usize> {
    let close = file.tokens.pair(open);
    let mut starts = vec![];
    let mut at = open + 1;
    while at < close {
        starts.push(at);
        while at < close && !file.tokens.is_mark(at, ',') {
            at = file.tokens.pair(at) + 1;
        }
        at += 1;
    }
    starts.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::{Tree, files};

    /// The paths of a file that is the module `store::trie`.
    fn check(text: &str, expected: &[&str]) {
        let files = files(&[("a/src/store/trie.rs", text)]);
        let module = ["store".to_owned(), "trie".to_owned()];
        let found = paths(&Tree::new(&files).rust[0], &module);
        assert_eq!(found.iter().map(|path| path.parts.join("::")).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn every_root_is_resolved() {
        check("use crate::key::Key;", &["key::Key"]);
        check("use super::node::Node;", &["store::node::Node"]);
        check("use super::super::key;", &["key"]);
        check("use self::leaf::Leaf;", &["store::trie::leaf::Leaf"]);
    }

    #[test]
    fn groups_are_followed_into_every_branch() {
        check(
            "use crate::{key::{self, Key as K}, *, version::{A, b::C}};",
            &["key", "key::Key", "*", "version::A", "version::b::C"],
        );
    }

    #[test]
    fn expressions_types_and_macros_are_seen() {
        check("fn a(k: &crate::key::Key) { debug!(v = crate::b::V::<u8>::new()) }", &["key::Key", "b::V"]);
    }

    #[test]
    fn inner_modules_are_a_level_of_their_own() {
        check(
            "mod sealed { use super::Trie; use super::super::node; }",
            &["store::trie::Trie", "store::node"],
        );
    }

    #[test]
    fn visibilities_macros_and_tests_are_skipped() {
        check("pub(crate) fn a() {} pub(in crate::store) fn b() {} // crate::key", &[]);
        check("macro_rules! m { () => { $crate::Key } }", &[]);
        check("#[cfg(test)] mod tests { use crate::key::Key; }", &[]);
    }
}
