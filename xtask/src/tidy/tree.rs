//! The files of the repository.

use std::ops::Range;

use crate::tidy::syntax::{self, Function, Module};
use crate::tidy::tokens::Tokens;
use crate::tidy::violation::Violation;

/// A file with its path from the root; only Rust, Go, TOML and Markdown files have a text.
#[derive(Debug)]
pub(crate) struct SourceFile {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// All files, with tokens of the Rust files.
#[derive(Debug)]
pub(crate) struct Tree<'a> {
    pub(crate) files: &'a [SourceFile],
    pub(crate) rust: Vec<RustFile<'a>>,
    /// Rust files with syntax errors.
    pub(crate) unreadable: Vec<Violation>,
}

/// A Rust file.
#[derive(Debug)]
pub(crate) struct RustFile<'a> {
    pub(crate) path: &'a str,
    pub(crate) text: &'a str,
    pub(crate) tokens: Tokens,
    pub(crate) functions: Vec<Function>,
    pub(crate) modules: Vec<Module>,
    /// The test code.
    pub(crate) tests: Vec<Range<usize>>,
}

impl<'a> Tree<'a> {
    pub(crate) fn new(files: &'a [SourceFile]) -> Self {
        let mut tree = Self { files, rust: Vec::new(), unreadable: Vec::new() };
        for file in files.iter().filter(|file| file.path.ends_with(".rs")) {
            match Tokens::parse(&file.text) {
                Ok(tokens) => tree.rust.push(RustFile::new(file, tokens)),
                Err(line) => tree.unreadable.push(unreadable(&file.path, line)),
            }
        }
        tree.mark_test_files();
        tree
    }

    /// Returns the Rust file at a path.
    pub(crate) fn rust_at(&self, path: &str) -> Option<&RustFile<'a>> {
        self.rust.iter().find(|file| file.path == path)
    }

    /// Returns true if a file or directory exists.
    pub(crate) fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let is_at = |file: &SourceFile| {
            file.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        path.is_empty() || self.files.iter().any(is_at)
    }

    /// Marks files whose `mod` declaration has `#[cfg(test)]` as test code.
    fn mark_test_files(&mut self) {
        let mut directories = Vec::new();
        for file in &self.rust {
            let declared = file.modules.iter().filter(|module| file.is_test(module.name));
            directories.extend(declared.filter_map(|module| file.child(module.name)));
        }
        for file in &mut self.rust {
            let is_below = |directory: &String| {
                file.path
                    .strip_prefix(directory.as_str())
                    .is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
            };
            if file.is_in("tests") || file.path.ends_with("/tests.rs") || directories.iter().any(is_below) {
                file.tests.clear();
                file.tests.push(0..file.tokens.len());
            }
        }
    }
}

impl<'a> RustFile<'a> {
    fn new(file: &'a SourceFile, tokens: Tokens) -> Self {
        Self {
            path: &file.path,
            text: &file.text,
            functions: syntax::functions(&tokens),
            modules: syntax::modules(&tokens),
            tests: syntax::test_code(&tokens),
            tokens,
        }
    }

    pub(crate) fn is_test(&self, at: usize) -> bool {
        self.tests.iter().any(|range| range.contains(&at))
    }

    /// Returns true if the line is inside test code, or precedes it without other code between.
    pub(crate) fn is_test_line(&self, line: usize) -> bool {
        let next = (0..self.tokens.len()).find(|&at| self.tokens.line(at) > line);
        self.is_all_test() || next.is_some_and(|at| self.is_test(at))
    }

    /// Returns true if the entire file is test code.
    pub(crate) fn is_all_test(&self) -> bool {
        self.tests.iter().any(|range| *range == (0..self.tokens.len()))
    }

    /// Returns true for generated files.
    pub(crate) fn is_generated(&self) -> bool {
        self.text.lines().next().is_some_and(|line| line.contains("@generated"))
    }

    /// Returns true if the path contains a directory with this name.
    pub(crate) fn is_in(&self, directory: &str) -> bool {
        self.path.split('/').rev().skip(1).any(|part| part == directory)
    }

    /// Returns the path of the file of a declared module, without `.rs`.
    pub(crate) fn child(&self, name: usize) -> Option<String> {
        let stem = self.path.strip_suffix(".rs")?;
        let (directory, last) = stem.rsplit_once('/')?;
        let directory = if ["lib", "main", "mod"].contains(&last) { directory } else { stem };
        Some(format!("{directory}/{}", self.tokens.word(name)?))
    }

    /// Returns a violation at a line of this file.
    pub(crate) fn violation(
        &self,
        rule: &'static str,
        line: usize,
        problem: impl Into<String>,
        fix: impl Into<String>,
    ) -> Violation {
        Violation { file: self.path.to_owned(), line, rule, problem: problem.into(), fix: fix.into() }
    }
}

fn unreadable(path: &str, line: usize) -> Violation {
    Violation {
        file: path.to_owned(),
        line,
        rule: "syntax",
        problem: "the file is not valid Rust".to_owned(),
        fix: "close the bracket or string".to_owned(),
    }
}

/// Returns files with these paths and texts.
#[cfg(test)]
pub(crate) fn files(pairs: &[(&str, &str)]) -> Vec<SourceFile> {
    let file = |&(path, text): &(&str, &str)| SourceFile { path: path.to_owned(), text: text.to_owned() };
    pairs.iter().map(file).collect()
}

/// Returns the violations of a rule without the suggested fix, for files with these paths and texts.
#[cfg(test)]
pub(crate) fn found(rule: fn(&Tree<'_>) -> Vec<Violation>, pairs: &[(&str, &str)]) -> Vec<String> {
    let files = files(pairs);
    let line = |violation: Violation| {
        let text = violation.to_string();
        text.split_once("; fix: ").map(|(problem, _)| problem.to_owned()).unwrap()
    };
    rule(&Tree::new(&files)).into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_declared_for_tests_is_test_code() {
        let files = files(&[
            ("a/src/lib.rs", "#[cfg(test)] mod fixture; mod real;"),
            ("a/src/fixture.rs", "fn a() {}"),
            ("a/src/fixture/deep.rs", "fn a() {}"),
            ("a/src/real.rs", "fn a() {}"),
        ]);
        let tree = Tree::new(&files);
        let is_test = tree.rust.iter().map(RustFile::is_all_test).collect::<Vec<_>>();
        assert_eq!(is_test, [false, true, true, false]);
    }

    #[test]
    fn a_directory_exists_if_it_contains_a_file() {
        let files = files(&[("docs/guide.md", "")]);
        let tree = Tree::new(&files);
        assert!(tree.has("docs") && tree.has("docs/") && tree.has("docs/guide.md"));
        assert!(!tree.has("doc") && !tree.has("docs/guide"));
    }
}
