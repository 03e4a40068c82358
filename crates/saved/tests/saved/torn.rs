//! A file that was cut or damaged anywhere is the batches up to some point, or an error that says so.

use crate::model::{Folder, Random, State, object, open, reopened, save};
use kube_informer_saved::{Batch, OpenError, Taken};
use kube_informer_wire::ResourceVersion;

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

#[test]
fn a_batch_of_many_frames_is_there_whole_or_not_at_all() {
    let folder = Folder::new();
    let (saved, _) = open(&folder);
    save(&saved, 0);
    let before = folder.bytes().len();
    let mut batch = Batch::new();
    for number in 0..20 {
        let mut random = Random(number);
        let noise: Vec<u8> = (0..32 << 10).flat_map(|_| random.next().to_le_bytes()).collect();
        batch.put(object(&format!("web/large-{number}"), 1, &noise));
    }
    batch.version(ResourceVersion::number(1));
    assert_eq!(saved.append(batch), Taken::Queued);
    saved.close().unwrap();
    let bytes = folder.bytes();
    let frames = crate::layout::Parts::of(&bytes).bodies;
    assert!(frames.len() > 4, "{} frames", frames.len());
    // Right behind each frame, and within it.
    let mut end = bytes.len() - frames.iter().map(|frame| frame.len() + 12).sum::<usize>();
    for frame in &frames {
        for cut in [end, end + 12, end + frame.len() / 2].into_iter().filter(|cut| *cut >= before) {
            let restored = folder.open_with(&bytes[..cut]).unwrap();
            assert_eq!(State::of(&restored), State::after(1), "cut at {cut}");
        }
        end += frame.len() + 12;
    }
    assert_eq!(folder.open_with(&bytes).unwrap().objects().len(), 20 + State::after(1).objects.len());
}

#[test]
fn a_batch_of_many_frames_that_was_cut_leaves_no_trace_in_the_next() {
    let folder = Folder::new();
    let (saved, _) = open(&folder);
    save(&saved, 0);
    drop(saved);
    let mut parts = crate::layout::Parts::of(&folder.bytes());
    // A whole frame without a commit: the deletion of everything there is, say.
    let known = State::after(1).objects;
    let deletions =
        known.keys().flat_map(|key| [&[2, u8::try_from(key.len()).unwrap()], key.as_bytes()].concat());
    parts.bodies.push(deletions.collect());
    std::fs::write(folder.state(), parts.to_file()).unwrap();
    let (saved, restored) = open(&folder);
    assert_eq!(State::of(&restored), State::after(1));
    assert!(restored.dropped().is_some());
    save(&saved, 1);
    drop(saved);
    assert_eq!(reopened(&folder), State::after(2));
}
