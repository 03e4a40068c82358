//! A module uses only modules that its parent lists above it.

use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::paths::{self, CodePath};
use crate::tidy::tree::{RustFile, Tree};
use crate::tidy::violation::Violation;

const RULE: &str = "order";

pub(crate) fn check(tree: &Tree<'_>) -> Vec<Violation> {
    let is_root =
        |file: &&RustFile<'_>| file.path.ends_with("/src/lib.rs") || file.path.ends_with("/src/main.rs");
    tree.rust.iter().filter(is_root).flat_map(|root| Crate::new(tree, root).check()).collect()
}

/// The modules of a crate outside of its tests.
struct Crate<'a> {
    files: Vec<(Vec<String>, &'a RustFile<'a>)>,
    /// For each module its children, in the order in which it lists them.
    children: BTreeMap<Vec<String>, Vec<String>>,
    macros: BTreeSet<&'a str>,
    /// The types, functions and constants that a module defines itself, rather than re-exports.
    defined: BTreeMap<Vec<String>, BTreeSet<&'a str>>,
}

/// The words before the name of an item.
const ITEMS: [&str; 8] = ["struct", "enum", "union", "trait", "type", "fn", "const", "static"];

impl<'a> Crate<'a> {
    fn new(tree: &'a Tree<'_>, root: &'a RustFile<'_>) -> Self {
        let mut found = Self {
            files: Vec::new(),
            children: BTreeMap::new(),
            macros: BTreeSet::new(),
            defined: BTreeMap::new(),
        };
        found.add(tree, root, Vec::new());
        found
    }

    fn add(&mut self, tree: &'a Tree<'_>, file: &'a RustFile<'_>, module: Vec<String>) {
        let tokens = &file.tokens;
        let macros = tokens.find("macro_rules").filter(|at| tokens.is_mark(at + 1, '!'));
        self.macros.extend(macros.filter_map(|at| tokens.word(at + 2)));
        let items = ITEMS.iter().flat_map(|item| tokens.find(item)).filter_map(|at| tokens.word(at + 1));
        self.defined.entry(module.clone()).or_default().extend(items);
        for declared in file.modules.iter().filter(|declared| !file.is_test(declared.name)) {
            let is_nested =
                file.modules.iter().any(|m| m.body.as_ref().is_some_and(|b| b.contains(&declared.name)));
            let Some(name) = tokens.word(declared.name).filter(|_| !is_nested) else { continue };
            self.children.entry(module.clone()).or_default().push(name.to_owned());
            let stem = file.child(declared.name).unwrap_or_default();
            let apart = [format!("{stem}.rs"), format!("{stem}/mod.rs")].iter().find_map(|p| tree.rust_at(p));
            if let Some(apart) = apart.filter(|_| declared.body.is_none()) {
                self.add(tree, apart, [module.as_slice(), &[name.to_owned()]].concat());
            }
        }
        self.files.push((module, file));
    }

    fn check(&self) -> Vec<Violation> {
        let mut violations = Vec::new();
        for (module, file) in &self.files {
            for path in paths::paths(file, module) {
                let problem = self.judge(module, &path);
                violations
                    .extend(problem.map(|(problem, fix)| file.violation(RULE, path.line, problem, fix)));
            }
        }
        violations
    }

    /// Returns the problem of a path in a module, and the fix.
    fn judge(&self, module: &[String], path: &CodePath) -> Option<(String, String)> {
        let same = module.iter().zip(&path.parts).take_while(|(ours, theirs)| ours == theirs).count();
        // A path that never leaves the module leads to its own items and children.
        let ours = module.get(same)?;
        let written = from_root(&path.parts);
        let Some(theirs) = path.parts.get(same) else {
            return Some((
                format!("`{ours}` uses `{written}`, the module it is part of"),
                "name the modules below that it needs".to_owned(),
            ));
        };
        let siblings = self.children.get(&module[..same]).map_or(&[][..], Vec::as_slice);
        let place = |name| siblings.iter().position(|sibling| sibling == name);
        match place(theirs) {
            Some(at) if Some(at) < place(ours) => None,
            Some(_) => Some((
                format!("imports upward: `{ours}` uses `{theirs}`, which is listed below it"),
                format!("list `{theirs}` above `{ours}`, or move what both need into a module above them"),
            )),
            None if path.is_macro_call || self.macros.contains(theirs.as_str()) => None,
            // A private submodule may be a part of a type that its parent defines.
            None if self
                .defined
                .get(&module[..same])
                .is_some_and(|items| items.contains(theirs.as_str())) =>
            {
                None
            }
            None => Some((
                format!("`{written}` does not say which module it comes from"),
                format!("name it as `{}::<module>::{theirs}`", from_root(&module[..same])),
            )),
        }
    }
}

fn from_root(parts: &[String]) -> String {
    [&["crate".to_owned()], parts].concat().join("::")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::found;

    const LIB: (&str, &str) = ("a/src/lib.rs", "mod key; mod store; mod informer; pub use key::Key;");
    const STORE: (&str, &str) = ("a/src/store/mod.rs", "mod node; mod trie; pub use trie::Trie;");

    fn passes(path: &str, text: &str) {
        assert_eq!(found(check, &[LIB, STORE, (path, text)]), [""; 0]);
    }

    fn fails(path: &str, text: &str, problem: &str) {
        assert_eq!(found(check, &[LIB, STORE, (path, text)]), [format!("{path}:1: order: {problem}")]);
    }

    #[test]
    fn modules_above_may_be_used() {
        passes("a/src/informer.rs", "use crate::{key::Key, store}; fn a() { super::store::Trie::new() }");
        passes("a/src/store/trie.rs", "use super::node::Node; use crate::store::node; use crate::key::Key;");
        passes("a/src/store/trie.rs", "use self::leaf::Leaf; mod leaf { use super::Trie; } struct Trie;");
    }

    #[test]
    fn modules_below_are_caught() {
        let problem = "imports upward: `key` uses `store`, which is listed below it";
        fails("a/src/key.rs", "use crate::store::Trie;", problem);
        fails("a/src/key.rs", "use super::{store::Trie};", problem);
        fails("a/src/key.rs", "fn a() -> crate::store::Trie {}", problem);
    }

    #[test]
    fn folders_have_an_order_of_their_own() {
        let problem = "imports upward: `node` uses `trie`, which is listed below it";
        fails("a/src/store/node.rs", "use super::trie::Trie;", problem);
        fails("a/src/store/node.rs", "use crate::store::trie;", problem);
        let problem = "imports upward: `store` uses `informer`, which is listed below it";
        fails("a/src/store/node.rs", "use super::super::informer::Informer;", problem);
    }

    #[test]
    fn items_of_a_parent_are_caught() {
        fails(
            "a/src/store/node.rs",
            "use crate::Key;",
            "`crate::Key` does not say which module it comes from",
        );
        fails(
            "a/src/store/node.rs",
            "use super::Trie;",
            "`crate::store::Trie` does not say which module it comes from",
        );
        fails("a/src/informer.rs", "use super::*;", "`crate::*` does not say which module it comes from");
        fails(
            "a/src/store/node.rs",
            "use crate::store;",
            "`node` uses `crate::store`, the module it is part of",
        );
    }

    #[test]
    fn types_that_a_parent_defines_may_be_used_by_its_parts() {
        let parent = ("a/src/store/mod.rs", "mod node; struct Store; pub use node::Node;");
        let part = ("a/src/store/node.rs", "use super::Store; struct Node;");
        assert_eq!(found(check, &[LIB, parent, part]), [""; 0]);
    }

    #[test]
    fn macros_live_at_the_root() {
        passes("a/src/key.rs", "macro_rules! name { () => {} } fn a() { crate::name!() }");
        passes("a/src/store/node.rs", "use crate::name; macro_rules! name { () => {} }");
    }

    #[test]
    fn tests_may_look_anywhere() {
        passes(
            "a/src/key.rs",
            "#[cfg(test)] mod tests { use crate::{informer::Informer, Key}; use super::*; }",
        );
        passes("a/src/key/tests.rs", "use crate::informer::Informer;");
    }
}
