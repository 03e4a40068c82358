//! Reports banned wording in comments, messages, test names and documents, with a replacement.

mod banned;
mod texts;

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::tidy::disk;
use crate::tidy::phrases::banned::{Banned, Hit};
use crate::tidy::phrases::texts::Text;
use crate::tidy::tree::Tree;
use crate::tidy::violation::Violation;

const RULE: &str = "phrases";

/// A text that matches a banned pattern.
#[derive(Debug)]
struct Finding<'a> {
    path: &'a str,
    text: Text,
    hit: Hit,
}

/// Checks all files.
pub(crate) fn check(tree: &Tree<'_>) -> Vec<Violation> {
    let violation = |finding: Finding<'_>| Violation {
        file: finding.path.to_owned(),
        line: finding.text.line,
        rule: RULE,
        problem: format!("\"{}\"", finding.hit.phrase),
        fix: finding.hit.replacement.to_owned(),
    };
    findings(tree).into_iter().map(violation).collect()
}

/// Prints the findings below the paths, which are relative to `start`, and returns their number.
pub(crate) fn print(start: &Path, paths: &[PathBuf]) -> Result<usize> {
    let mut files = Vec::new();
    for path in paths {
        files.extend(disk::read_path(&start.join(path))?);
    }
    let prefix = format!("{}/", start.display());
    for file in &mut files {
        file.path = file.path.strip_prefix(&prefix).unwrap_or(&file.path).to_owned();
    }
    let tree = Tree::new(&files);
    for unreadable in &tree.unreadable {
        println!("{unreadable}\n");
    }
    let found = findings(&tree);
    for Finding { path, text, hit } in &found {
        println!("{path}:{}: \"{}\" -> {}\n    {}", text.line, hit.phrase, hit.replacement, text.body);
    }
    println!("{} texts with banned wording in {} files", found.len(), files.len());
    Ok(found.len())
}

fn findings<'a>(tree: &Tree<'a>) -> Vec<Finding<'a>> {
    let banned = Banned::new();
    let mut texts: Vec<(&'a str, Text)> = Vec::new();
    for file in tree.rust.iter().filter(|file| !file.is_generated()) {
        texts.extend(texts::of_rust(file).into_iter().map(|text| (file.path, text)));
    }
    for file in tree.files {
        let found = match file.path.rsplit_once('.') {
            Some((_, "md")) => texts::of_markdown(&file.text),
            Some((_, "go")) => texts::of_comments(&file.text),
            _ => continue,
        };
        texts.extend(found.into_iter().map(|text| (file.path.as_str(), text)));
    }
    let finding = |(path, text): (&'a str, Text)| {
        let hit = banned.find(&text.body)?;
        Some(Finding { path, text, hit })
    };
    let mut found: Vec<_> = texts.into_iter().filter_map(finding).collect();
    found.sort_by_key(|finding| (finding.path, finding.text.line));
    found
}

#[cfg(test)]
mod tests;
