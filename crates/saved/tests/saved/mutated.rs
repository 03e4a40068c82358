//! Random changes of a file, with and without valid checksums.

use crate::{
    file_parts::FileParts,
    model::{Folder, State, open, save},
};
use std::time::{Duration, Instant};
use testkit::Random;

/// The time limit. The changes are the same in every run.
const LIMIT: Duration = Duration::from_secs(5);
const ROUNDS: u64 = 4_000;

fn written(folder: &Folder) -> Vec<u8> {
    let (saved, _) = open(folder);
    (0..12).for_each(|number| save(&saved, number));
    drop(saved);
    folder.bytes()
}

fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    if bytes.is_empty() {
        return bytes.push(0);
    }
    let at = random.index(bytes.len());
    let end = (at + random.index(40)).min(bytes.len());
    match random.index(7) {
        0 => bytes[at] ^= 1 << random.index(8),
        1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][random.index(5)],
        2 => drop(bytes.drain(at..end)),
        3 => {
            let copy = bytes[at..end].to_vec();
            let to = random.index(bytes.len());
            bytes.splice(to..to, copy);
        }
        4 => bytes[at..end].fill(0xff),
        5 => bytes.truncate(at),
        _ => bytes.insert(at, random.next_u64().to_le_bytes()[0]),
    }
}

#[test]
fn restores_an_earlier_state_from_a_changed_file() {
    let folder = Folder::new();
    let bytes = written(&folder);
    let states: Vec<State> = (0..=12).map(State::after).collect();
    let start = Instant::now();
    for round in 0..ROUNDS {
        let mut random = Random::from_state(round);
        let mut changed = bytes.clone();
        (0..=random.index(4)).for_each(|_| mutate(&mut changed, &mut random));
        if let Ok(restored) = folder.open_with(&changed) {
            let state = State::of(&restored);
            assert!(states.contains(&state), "round {round}: {state:?}");
        }
        if start.elapsed() > LIMIT {
            break;
        }
    }
}

#[test]
fn changed_records_with_valid_checksums_never_cause_a_panic() {
    let folder = Folder::new();
    let bytes = written(&folder);
    let start = Instant::now();
    let mut restored_objects = 0;
    for round in 0..ROUNDS {
        let mut random = Random::from_state(round);
        let mut parts = FileParts::of(&bytes);
        let frame = random.index(parts.bodies.len());
        (0..=random.index(3)).for_each(|_| mutate(&mut parts.bodies[frame], &mut random));
        let restored = folder.open_with(&parts.to_file()).expect("the header is intact");
        restored_objects += restored.objects().len();
        if start.elapsed() > LIMIT {
            break;
        }
    }
    assert!(restored_objects > 0);
}
