//! A killed process leaves all flushed batches behind.

use crate::{
    model::{Folder, State, batch, header, object, open, options, reopened},
    subprocess,
};
use kube_informer_saved::{Batch, Enqueue, SavedState};
use std::{
    io::{BufRead, BufReader, Write},
    os::unix::process::ExitStatusExt,
};
use testkit::Random;

const ROUNDS: u64 = 25;

/// Writes batches until the process is killed, and prints the number of the last one after each flush.
fn write_until_killed(folder: &str) -> ! {
    let options = options().compaction_threshold(0);
    let (saved, restored) = SavedState::open(folder, &header(), options).unwrap();
    let first = restored.version().map_or(0, |version| version.to_number().unwrap() + 1);
    let mut out = std::io::stdout();
    for number in first.. {
        assert_eq!(saved.append(batch(number)), Enqueue::Queued);
        if number % 3 == 0 {
            saved.flush().unwrap();
            writeln!(out, "flushed {number}").unwrap();
        }
    }
    unreachable!("numbers do not end")
}

#[test]
fn restores_flushed_batches_after_a_kill() {
    if let Some(folder) = subprocess::task() {
        write_until_killed(&folder);
    }
    let folder = Folder::new();
    let mut random = Random::from_state(17);
    let mut longest = 0;
    for round in 0..ROUNDS {
        let task = folder.path().to_str().unwrap();
        let mut process =
            subprocess::command("", "killed::restores_flushed_batches_after_a_kill", task).spawn().unwrap();
        // The pipe must stay open until the kill, or the process would end by itself.
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map(Result::unwrap);
        let flushed = lines.by_ref().filter_map(|line| line.strip_prefix("flushed ")?.parse::<u64>().ok());
        let last_flushed = flushed.take(1 + random.index(60)).last().expect("it prints a line");
        (0..random.index(2) * random.index(2_000)).for_each(|_| std::thread::yield_now());
        process.kill().unwrap();
        let ended = process.wait().unwrap();
        assert_eq!(ended.signal(), Some(9), "it was running when it was killed");
        let state = reopened(&folder);
        let version = state.version.unwrap();
        assert!(
            version >= last_flushed,
            "round {round}: {last_flushed} was flushed, but {version} was restored"
        );
        assert_eq!(state, State::after(version + 1), "round {round}");
        longest = version;
    }
    assert!(longest > 3 * ROUNDS, "each round continues after the previous one");
}

#[test]
fn restores_flushed_batches_after_an_abort_right_after_the_flush() {
    let name = "killed::restores_flushed_batches_after_an_abort_right_after_the_flush";
    const OBJECTS: usize = 3_000;
    if let Some(folder) = subprocess::task() {
        let (saved, _) = SavedState::open(folder, &header(), options()).unwrap();
        let mut large = Batch::new();
        // Large enough to detect a flush that returns too early.
        for number in 0..OBJECTS {
            large.put(object(&format!("web/{number}"), 1, &number.to_string().repeat(300).into_bytes()));
        }
        assert_eq!(saved.append(large), Enqueue::Queued);
        saved.flush().unwrap();
        std::process::abort();
    }
    let folder = Folder::new();
    let ended =
        subprocess::command("ulimit -c 0;", name, folder.path().to_str().unwrap()).output().unwrap().status;
    assert_eq!(ended.signal(), Some(6), "it aborted");
    assert_eq!(open(&folder).1.objects().len(), OBJECTS);
}
