//! A process that is killed at any moment leaves the batches up to some point, and no fewer than it was promised.

use crate::{
    child,
    model::{Folder, Random, State, batch, header, object, open, options, reopened},
};
use kube_informer_saved::{Batch, Saved, Taken};
use std::{
    io::{BufRead, BufReader, Write},
    os::unix::process::ExitStatusExt,
};

const ROUNDS: u64 = 25;

/// Writes batches, and says after each flush how many there are, until it is killed.
fn write_until_killed(folder: &str) -> ! {
    let options = options().spare_garbage(0);
    let (saved, restored) = Saved::open(folder, &header(), options).unwrap();
    let first = restored.version().map_or(0, |version| version.to_number().unwrap() + 1);
    let mut out = std::io::stdout();
    for number in first.. {
        assert_eq!(saved.append(batch(number)), Taken::Queued);
        if number % 3 == 0 {
            saved.flush().unwrap();
            writeln!(out, "flushed {number}").unwrap();
        }
    }
    unreachable!("numbers do not end")
}

#[test]
fn what_was_flushed_is_there_after_a_kill() {
    if let Some(folder) = child::task() {
        write_until_killed(&folder);
    }
    let folder = Folder::new();
    let mut random = Random(17);
    let mut longest = 0;
    for round in 0..ROUNDS {
        let task = folder.path().to_str().unwrap();
        let mut process =
            child::command("", "killed::what_was_flushed_is_there_after_a_kill", task).spawn().unwrap();
        // The pipe stays open until the kill, or the process would end by itself.
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map(Result::unwrap);
        let flushed = lines.by_ref().filter_map(|line| line.strip_prefix("flushed ")?.parse::<u64>().ok());
        let promised = flushed.take(1 + random.below(60)).last().expect("it says so");
        (0..random.below(2) * random.below(2_000)).for_each(|_| std::thread::yield_now());
        process.kill().unwrap();
        let ended = process.wait().unwrap();
        assert_eq!(ended.signal(), Some(9), "it was at work when it was killed");
        let state = reopened(&folder);
        let version = state.version.unwrap();
        assert!(version >= promised, "round {round}: {promised} was promised, and {version} is there");
        assert_eq!(state, State::after(version + 1), "round {round}");
        longest = version;
    }
    assert!(longest > 3 * ROUNDS, "each round adds to what the one before left");
}

#[test]
fn what_was_flushed_is_there_when_the_process_ends_that_moment() {
    let name = "killed::what_was_flushed_is_there_when_the_process_ends_that_moment";
    const OBJECTS: usize = 3_000;
    if let Some(folder) = child::task() {
        let (saved, _) = Saved::open(folder, &header(), options()).unwrap();
        let mut large = Batch::new();
        // It takes a while to write, so that a promise that comes too early is broken.
        for number in 0..OBJECTS {
            large.put(object(&format!("web/{number}"), 1, &number.to_string().repeat(300).into_bytes()));
        }
        assert_eq!(saved.append(large), Taken::Queued);
        saved.flush().unwrap();
        std::process::abort();
    }
    let folder = Folder::new();
    let ended =
        child::command("ulimit -c 0;", name, folder.path().to_str().unwrap()).output().unwrap().status;
    assert_eq!(ended.signal(), Some(6), "it came to its end");
    assert_eq!(open(&folder).1.objects().len(), OBJECTS);
}
