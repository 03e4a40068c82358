//! Layout rules and wording, checked by pure functions over the files of the repository.
//!
//! Each rule is a module with a function `check`, listed in [`RULES`].

mod violation;
mod tokens;
mod syntax;
mod tree;
mod opening;
mod length;
mod names;
mod paths;
mod order;
mod crates;
mod leftovers;
mod testing;
mod links;
mod disk;
mod behavior;
mod parity;
mod parameters;
pub(crate) mod phrases;

use std::path::Path;

use anyhow::Result;

use crate::tidy::tree::{SourceFile, Tree};
use crate::tidy::violation::Violation;

type Rule = fn(&Tree<'_>) -> Vec<Violation>;

const RULES: [Rule; 12] = [
    opening::check,
    length::check,
    names::check,
    order::check,
    crates::check,
    leftovers::check,
    testing::check,
    links::check,
    behavior::check,
    parity::check,
    parameters::check,
    phrases::check,
];

/// Checks the repository, prints the violations, and returns their number.
pub(crate) fn print(root: &Path) -> Result<usize> {
    let files = disk::read(root)?;
    let violations = check(&files);
    for violation in &violations {
        println!("{violation}");
    }
    match violations.len() {
        0 => println!("tidy: no violations in {} files", files.len()),
        1 => println!("tidy: 1 violation"),
        found => println!("tidy: {found} violations"),
    }
    Ok(violations.len())
}

/// Returns all violations, in the order of files and lines.
fn check(files: &[SourceFile]) -> Vec<Violation> {
    let mut tree = Tree::new(files);
    let mut violations = std::mem::take(&mut tree.unreadable);
    violations.extend(RULES.iter().flat_map(|rule| rule(&tree)));
    violations.sort();
    violations.dedup();
    violations
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::files;

    #[test]
    fn violations_come_in_order_of_file_and_line() {
        let files = files(&[
            ("crates/wire/src/lib.rs", "\nfn a() { todo!() }"),
            ("crates/wire/src/a.rs", "//! A.\nfn b( {"),
        ]);
        let lines: Vec<_> = check(&files).iter().map(ToString::to_string).collect();
        let starts = [
            "crates/wire/src/a.rs:2: syntax: ",
            "crates/wire/src/lib.rs:1: opening: ",
            "crates/wire/src/lib.rs:2: leftovers: ",
        ];
        assert_eq!(lines.len(), starts.len());
        assert!(lines.iter().zip(starts).all(|(line, start)| line.starts_with(start)), "{lines:#?}");
    }

    #[test]
    fn this_repository_is_tidy() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let violations = check(&disk::read(root).unwrap());
        let lines: Vec<_> = violations.iter().map(ToString::to_string).collect();
        assert!(lines.is_empty(), "\n{}\n", lines.join("\n"));
    }
}
