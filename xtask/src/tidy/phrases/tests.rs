//! Measures the check on known texts: the old wording of the crates, and plain wording.

use super::*;
use crate::tidy::tree::{SourceFile, files, found};

/// 60 sentences of five or more words, drawn at random (see the first lines of the file).
const OLD_SENTENCES: &str = include_str!("old_sentences.txt");

/// More than 500 lines of plain documents.
const PLAIN_DOCUMENTS: [&str; 5] = ["behavior", "concepts", "from-client-go", "operating", "testing"];

fn repository_files(path: &str) -> Vec<SourceFile> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    disk::read_path(&root.join(path)).unwrap()
}

#[test]
fn nine_of_ten_old_sentences_are_flagged() {
    let banned = Banned::new();
    let sentences: Vec<_> = OLD_SENTENCES.lines().filter(|line| !line.starts_with("# ")).collect();
    let missed: Vec<_> = sentences.iter().filter(|line| banned.find(line).is_none()).collect();
    assert_eq!(sentences.len(), 60);
    assert!(missed.len() <= 6, "{missed:#?}");
}

#[test]
fn plain_sentences_are_not_flagged() {
    let mut files = repository_files("crates/workqueue/src");
    files.extend(PLAIN_DOCUMENTS.iter().flat_map(|name| repository_files(&format!("docs/{name}.md"))));
    let documents = files.iter().filter(|file| file.path.ends_with(".md"));
    assert!(documents.map(|file| file.text.lines().count()).sum::<usize>() >= 500);
    let found = findings(&Tree::new(&files));
    assert!(found.len() <= 3, "{found:#?}");
}

#[test]
fn wording_is_checked_in_comments_errors_logs_and_test_names() {
    let path = "crates/workqueue/src/a.rs";
    let lines = [
        "//! Plain.",
        concat!("//", " Whoever asks is told."),
        "#[error(\"a line that is no text\")] struct E;",
        "fn a() { debug!(\"goes on\"); }",
        "#[test] fn it_is_written_anew() {}",
        "fn b() { let c = \"goes on\"; }",
    ];
    let text = lines.join("\n");
    let lines: Vec<_> = check(&Tree::new(&files(&[(path, &text)]))).iter().map(|hit| hit.line).collect();
    assert_eq!(lines, [2, 3, 4, 5]);
}

#[test]
fn go_comments_are_checked() {
    let text = "// Package a is plain.\npackage a\n\n// Whoever asks.\nfunc a() {}\n";
    assert_eq!(found(check, &[("crates/saved/a.go", text)]), ["crates/saved/a.go:4: phrases: \"whoever\""]);
}

#[test]
fn a_violation_names_the_phrase_and_its_replacement() {
    let files = files(&[("crates/workqueue/src/a.rs", "// The file is written anew.")]);
    let violation = check(&Tree::new(&files)).remove(0).to_string();
    assert!(violation.contains("\"anew\"; fix: \"again\""), "{violation}");
}
