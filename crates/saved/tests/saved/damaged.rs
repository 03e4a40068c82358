//! A truncated or damaged file restores the batches before the damage, or returns an error.

use crate::model::{Folder, State, object, open, reopened, save};
use kube_informer_saved::{Batch, Enqueue, OpenError};
use kube_informer_wire::ResourceVersion;
use testkit::Random;

const BATCHES: u64 = 5;

/// Writes a small file and returns it with its length after each batch.
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

/// Returns the state of the batches that end before this byte; `None` if the header does not.
fn expected(ends: &[usize], intact: usize) -> Option<State> {
    let complete = ends.iter().filter(|end| **end <= intact).count().checked_sub(1)?;
    Some(State::after(complete as u64))
}

fn check(folder: &Folder, bytes: &[u8], expected: Option<State>, what: &str) {
    match (folder.open_with(bytes), expected) {
        (Ok(restored), Some(state)) => {
            assert_eq!(State::of(&restored), state, "{what}");
            assert_eq!(restored.truncated().is_some(), folder.bytes().len() < bytes.len(), "{what}");
        }
        (
            Err(
                OpenError::Corrupt { .. }
                | OpenError::UnknownFile { .. }
                | OpenError::UnsupportedFormat { .. },
            ),
            None,
        ) => {}
        (outcome, expected) => panic!("{what}: {outcome:?} instead of {expected:?}"),
    }
}

#[test]
fn restores_the_batches_before_any_truncation() {
    let folder = Folder::new();
    let (bytes, ends) = written(&folder);
    for length in 0..=bytes.len() {
        check(&folder, &bytes[..length], expected(&ends, length), &format!("truncated at {length}"));
    }
}

#[test]
fn restores_the_batches_before_any_changed_byte() {
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
fn restores_the_batches_before_trailing_zeros() {
    let folder = Folder::new();
    let (bytes, ends) = written(&folder);
    for length in (ends[0]..bytes.len()).step_by(5) {
        // A file system may leave zeros where it wrote the length but not the content.
        let mut zeroed = bytes.clone();
        zeroed[length..].fill(0);
        let intact = zeroed.iter().zip(&bytes).take_while(|(zeroed, original)| zeroed == original).count();
        check(&folder, &zeroed, expected(&ends, intact), &format!("zeros from {length}"));
    }
}

#[test]
fn appends_after_the_restored_batches() {
    let folder = Folder::new();
    let (bytes, ends) = written(&folder);
    for length in (ends[0]..bytes.len()).step_by(17) {
        let state = expected(&ends, length).unwrap();
        std::fs::write(folder.state(), &bytes[..length]).unwrap();
        let next = state.version.map_or(0, |version| version + 1);
        let (saved, _) = open(&folder);
        save(&saved, next);
        drop(saved);
        assert_eq!(reopened(&folder), State::after(next + 1), "truncated at {length}");
    }
}

#[test]
fn frames_after_a_damaged_one_are_never_restored() {
    let folder = Folder::new();
    let (mut bytes, ends) = written(&folder);
    bytes[ends[3] + 20] ^= 1;
    std::fs::write(folder.state(), &bytes).unwrap();
    let (saved, restored) = open(&folder);
    assert_eq!(restored.truncated().unwrap().offset, ends[3] as u64);
    assert_eq!(restored.truncated().unwrap().bytes, (bytes.len() - ends[3]) as u64);
    // The batch that was damaged, so that the new one ends at the same position.
    save(&saved, 3);
    drop(saved);
    assert_eq!(reopened(&folder), State::after(4));
}

#[test]
fn restores_all_frames_of_a_batch_or_none() {
    let folder = Folder::new();
    let (saved, _) = open(&folder);
    save(&saved, 0);
    let before = folder.bytes().len();
    let mut batch = Batch::new();
    for number in 0..20 {
        let mut random = Random::from_state(number);
        let noise: Vec<u8> = (0..32 << 10).flat_map(|_| random.next_u64().to_le_bytes()).collect();
        batch.put(object(&format!("web/large-{number}"), 1, &noise));
    }
    batch.version(ResourceVersion::number(1));
    assert_eq!(saved.append(batch), Enqueue::Queued);
    saved.close().unwrap();
    let bytes = folder.bytes();
    let frames = crate::file_parts::FileParts::of(&bytes).bodies;
    assert!(frames.len() > 4, "{} frames", frames.len());
    // At the start of each frame, and within it.
    let mut end = bytes.len() - frames.iter().map(|frame| frame.len() + 12).sum::<usize>();
    for frame in &frames {
        for cut in [end, end + 12, end + frame.len() / 2].into_iter().filter(|cut| *cut >= before) {
            let restored = folder.open_with(&bytes[..cut]).unwrap();
            assert_eq!(State::of(&restored), State::after(1), "truncated at {cut}");
        }
        end += frame.len() + 12;
    }
    assert_eq!(folder.open_with(&bytes).unwrap().objects().len(), 20 + State::after(1).objects.len());
}

#[test]
fn an_uncommitted_frame_does_not_affect_the_next_batch() {
    let folder = Folder::new();
    let (saved, _) = open(&folder);
    save(&saved, 0);
    drop(saved);
    let mut parts = crate::file_parts::FileParts::of(&folder.bytes());
    // A complete frame without a commit, which deletes everything.
    let known = State::after(1).objects;
    let deletions =
        known.keys().flat_map(|key| [&[2, u8::try_from(key.len()).unwrap()], key.as_bytes()].concat());
    parts.bodies.push(deletions.collect());
    std::fs::write(folder.state(), parts.to_file()).unwrap();
    let (saved, restored) = open(&folder);
    assert_eq!(State::of(&restored), State::after(1));
    assert!(restored.truncated().is_some());
    save(&saved, 1);
    drop(saved);
    assert_eq!(reopened(&folder), State::after(2));
}
