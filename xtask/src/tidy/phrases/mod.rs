//! Finds wording that a reader from the field would have to translate, and suggests a replacement.
//!
//! A sentence is flagged if it contains a banned phrase, or if its words as a whole resemble the old style of this codebase.
//! The second test is a statistical one: a few plain sentences exceed its limit as well. It is therefore a violation only in
//! files in which a large share of the sentences exceeds it.

mod sentence;
mod table;
mod texts;

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::tidy::disk;
use crate::tidy::phrases::table::{Hit, Table};
use crate::tidy::phrases::texts::{Kind, Text};
use crate::tidy::scope;
use crate::tidy::tree::{SourceFile, Tree};
use crate::tidy::violation::Violation;

const RULE: &str = "phrases";

/// The share of flagged sentences, in percent, up to which a file may exceed the limit of style.
const TOLERATED_PERCENT: usize = 60;

/// The number of flagged sentences up to which a file is too short to be judged by its style.
const TOLERATED_SENTENCES: usize = 10;

/// The flagged texts of one file.
#[derive(Debug)]
struct Findings<'a> {
    path: &'a str,
    /// The number of sentences, flagged or not.
    sentences: usize,
    banned: Vec<(Text, Hit)>,
    /// Sentences without a banned phrase that exceed the limit of style.
    styled: Vec<(Text, Hit)>,
}

/// Checks the files in scope.
pub(crate) fn check(tree: &Tree<'_>) -> Vec<Violation> {
    let files = findings(tree, scope::is_enforced);
    files.into_iter().flat_map(violations).collect()
}

/// Prints all flagged texts below the paths, which are relative to `start`, and returns their number.
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
    let found = findings(&tree, |_| true);
    for file in &found {
        print_file(file);
    }
    let phrases: usize = found.iter().map(|file| file.banned.len()).sum();
    let styles: usize = found.iter().map(|file| file.styled.len()).sum();
    let sentences: usize = found.iter().map(|file| file.sentences).sum();
    let files = found.len();
    println!(
        "{phrases} texts with a banned phrase, {styles} by style; {sentences} sentences in {files} files"
    );
    println!(
        "Style is a hint: it fails the check only in files with more than {TOLERATED_PERCENT} % flagged sentences."
    );
    Ok(phrases + styles)
}

fn print_file(file: &Findings<'_>) {
    let mut lines: Vec<_> = file.banned.iter().chain(&file.styled).collect();
    lines.sort_by_key(|(text, _)| text.line);
    for (text, hit) in &lines {
        println!("{}:{}: {} -> {}", file.path, text.line, hit.phrase, hit.advice);
        println!("    {}", text.body);
    }
    if !lines.is_empty() {
        println!();
    }
}

fn findings<'a>(tree: &Tree<'a>, is_checked: impl Fn(&str) -> bool) -> Vec<Findings<'a>> {
    let table = Table::new();
    let rust = tree.rust.iter().filter(|file| !file.is_generated() && is_checked(file.path));
    let mut found: Vec<_> = rust.map(|file| judge(&table, file.path, texts::of_rust(file))).collect();
    let is_markdown = |file: &&SourceFile| file.path.ends_with(".md") && is_checked(&file.path);
    let markdown = tree.files.iter().filter(is_markdown);
    found.extend(markdown.map(|file| judge(&table, &file.path, texts::of_markdown(&file.text))));
    found.sort_by_key(|file| file.path);
    found
}

fn judge<'a>(table: &Table, path: &'a str, texts: Vec<Text>) -> Findings<'a> {
    let sentences = texts.iter().filter(|text| text.kind == Kind::Sentence).count();
    let mut findings = Findings { path, sentences, banned: Vec::new(), styled: Vec::new() };
    for text in texts {
        let style = match text.kind {
            Kind::Sentence => table.style(&text.body),
            Kind::Fragment => None,
        };
        if let Some(hit) = table.phrases(&text.body).into_iter().next() {
            findings.banned.push((text, hit));
        } else if let Some(hit) = style {
            findings.styled.push((text, hit));
        }
    }
    findings
}

fn violations(file: Findings<'_>) -> Vec<Violation> {
    let flagged = file.banned.len() + file.styled.len();
    let exceeds = flagged > TOLERATED_SENTENCES && flagged * 100 > file.sentences * TOLERATED_PERCENT;
    let styled = if exceeds { file.styled } else { Vec::new() };
    let violation = |(text, hit): (Text, Hit)| Violation {
        file: file.path.to_owned(),
        line: text.line,
        rule: RULE,
        wrong: hit.phrase,
        mend: hit.advice,
    };
    file.banned.into_iter().chain(styled).map(violation).collect()
}

#[cfg(test)]
mod tests;
