//! A file that was cut or damaged anywhere is the batches up to some point, or an error that says so.

use crate::model::{Folder, State, open, reopened, save};
use kube_informer_saved::OpenError;

const BATCHES: u64 = 9;

/// A small file, with its length after each batch.
fn written(folder: &Folder) -> (Vec<u8>, Vec<usize>) {
    let (saved, _) = open(folder);
    let mut ends = vec![folder.bytes().len()];
    for number in 0..BATCHES {
        save(&saved, number);
        ends.push(folder.bytes().len());
    }
    drop(saved);
    (folder.bytes(), ends)
}

/// The state of the batches that lie whole before this byte; nothing if not even the header does.
fn expected(ends: &[usize], intact: usize) -> Option<State> {
    let whole = ends.iter().filter(|end| **end <= intact).count().checked_sub(1)?;
    Some(State::after(whole as u64))
}

fn check(folder: &Folder, bytes: &[u8], expected: Option<State>, what: &str) {
    match (folder.open_with(bytes), expected) {
        (Ok(restored), Some(state)) => {
            assert_eq!(State::of(&restored), state, "{what}");
            assert_eq!(restored.dropped().is_some(), folder.bytes().len() < bytes.len(), "{what}");
        }
        (Err(OpenError::Damaged { .. } | OpenError::Foreign { .. } | OpenError::Newer { .. }), None) => {}
        (outcome, expected) => panic!("{what}: {outcome:?} instead of {expected:?}"),
    }
}

#[test]
fn a_file_cut_anywhere_is_the_batches_before() {
    let folder = Folder::new();
    let (bytes, ends) = written(&folder);
    for length in 0..=bytes.len() {
        check(&folder, &bytes[..length], expected(&ends, length), &format!("cut at {length}"));
    }
}

#[test]
fn a_file_with_any_byte_flipped_is_the_batches_before() {
    let folder = Folder::new();
    let (bytes, ends) = written(&folder);
    for at in 0..bytes.len() {
        for mask in [0x01, 0x80, 0xff] {
            let mut flipped = bytes.clone();
            flipped[at] ^= mask;
            check(&folder, &flipped, expected(&ends, at), &format!("byte {at} ^ {mask:x}"));
        }
    }
}

#[test]
fn a_file_with_zeros_at_its_end_is_the_batches_before() {
    let folder = Folder::new();
    let (bytes, ends) = written(&folder);
    for length in (ends[0]..bytes.len()).step_by(5) {
        // What a file system may leave where the length was written and the content was not.
        let mut zeroed = bytes.clone();
        zeroed[length..].fill(0);
        let intact = zeroed.iter().zip(&bytes).take_while(|(one, two)| one == two).count();
        check(&folder, &zeroed, expected(&ends, intact), &format!("zeros from {length}"));
    }
}

#[test]
fn what_is_appended_after_a_cut_follows_what_was_before_it() {
    let folder = Folder::new();
    let (bytes, ends) = written(&folder);
    for length in (ends[0]..bytes.len()).step_by(17) {
        let state = expected(&ends, length).unwrap();
        std::fs::write(folder.state(), &bytes[..length]).unwrap();
        let next = state.version.map_or(0, |version| version + 1);
        let (saved, _) = open(&folder);
        save(&saved, next);
        drop(saved);
        assert_eq!(reopened(&folder), State::after(next + 1), "cut at {length}");
    }
}

#[test]
fn frames_behind_a_damaged_one_do_not_come_back() {
    let folder = Folder::new();
    let (mut bytes, ends) = written(&folder);
    bytes[ends[3] + 20] ^= 1;
    std::fs::write(folder.state(), &bytes).unwrap();
    let (saved, restored) = open(&folder);
    assert_eq!(restored.dropped().unwrap().at, ends[3] as u64);
    assert_eq!(restored.dropped().unwrap().bytes, (bytes.len() - ends[3]) as u64);
    // The very batch that was damaged, so that what is written ends where the old one did.
    save(&saved, 3);
    drop(saved);
    assert_eq!(reopened(&folder), State::after(4));
}
