//! Measures the check on known texts: the old wording of the crates, and the plain wording of the work queue.

use super::*;
use crate::tidy::tree::{files, found};

/// 60 sentences of five or more words, drawn at random (see the first lines of the file).
const OLD_WORDING: &str = include_str!("../fixtures/private.txt");

#[test]
fn nine_of_ten_sentences_of_the_old_wording_are_flagged() {
    let table = Table::new();
    let sentences: Vec<_> = OLD_WORDING.lines().filter(|line| !line.starts_with("# ")).collect();
    let is_flagged = |line: &&&str| !table.phrases(line).is_empty() || table.style(line).is_some();
    let flagged = sentences.iter().filter(is_flagged).count();
    assert_eq!(sentences.len(), 60);
    assert!(flagged >= 54, "{flagged} of 60 sentences are flagged");
}

#[test]
fn the_plain_wording_of_the_work_queue_passes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let files = disk::read_path(&root.join("crates/workqueue/src")).unwrap();
    let tree = Tree::new(&files);
    let found = findings(&tree, |_| true);
    let hits: Vec<_> = found.iter().flat_map(|file| file.banned.iter().chain(&file.styled)).collect();
    assert!(found.iter().map(|file| file.sentences).sum::<usize>() > 150);
    assert!(hits.len() <= 3, "{hits:#?}");
}

#[test]
fn banned_phrases_are_found_in_comments_errors_logs_and_test_names() {
    let path = "crates/workqueue/src/a.rs";
    let text = "//! Plain.\n\
        // Whoever asks is told.\n\
        #[error(\"a line that is no text\")] struct E;\n\
        fn a() { debug!(\"goes on\"); }\n\
        #[test] fn it_is_written_anew() {}\n\
        fn b() { let c = \"goes on\"; }\n";
    let lines: Vec<_> = check(&Tree::new(&files(&[(path, text)]))).iter().map(|hit| hit.line).collect();
    assert_eq!(lines, [2, 3, 4, 5]);
}

#[test]
fn files_out_of_scope_pass() {
    assert_eq!(found(check, &[("simulation/src/a.rs", "// Whoever asks is told.")]), [""; 0]);
}

#[test]
fn a_violation_names_the_phrase_and_its_replacement() {
    let files = files(&[("crates/workqueue/src/a.rs", "// The file is written anew.")]);
    let violation = check(&Tree::new(&files)).remove(0).to_string();
    assert!(violation.contains("\"anew $\"; mend: \"again\""), "{violation}");
}

#[test]
fn a_few_sentences_over_the_limit_of_style_are_tolerated() {
    let odd = "// Each has its own of those.\n\n";
    let table = Table::new();
    assert!(table.phrases(odd).is_empty() && table.style(odd).is_some());
    let plain = "// Returns the key.\n\n";
    let path = "crates/workqueue/src/a.rs";
    assert_eq!(found(check, &[(path, &odd.repeat(10))]), [""; 0], "too short to be judged");
    assert_eq!(found(check, &[(path, &odd.repeat(11))]).len(), 11);
    assert_eq!(found(check, &[(path, &(odd.repeat(11) + &plain.repeat(8)))]), [""; 0]);
}
