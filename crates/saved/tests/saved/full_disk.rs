//! A disk without room is told of, harms nobody, and is made up for when there is room again.

use crate::{
    child,
    model::{Folder, Random, State, header, object, options, reopened},
};
use kube_informer_saved::{Batch, Event, OpenError, SaveError, Saved, Snapshot, Taken};
use kube_informer_wire::ResourceVersion;
use std::{
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};

/// About eight kilobytes that do not shrink.
fn noise(number: u64) -> Vec<u8> {
    let mut random = Random(number);
    (0..1024).flat_map(|_| random.next().to_le_bytes()).collect()
}

fn noisy(number: u64) -> Batch {
    let mut batch = Batch::new();
    batch
        .put(object(&format!("web/{number}"), number, &noise(number)))
        .version(ResourceVersion::number(number));
    batch
}

fn state(count: u64) -> State {
    let mut state = State::default();
    for number in 0..count {
        state.put(&format!("web/{number}"), number, noise(number));
        state.version = Some(number);
    }
    state
}

/// Lets this process write as much as it likes again.
fn make_room() {
    let process = format!("--pid={}", std::process::id());
    let done = Command::new("prlimit").arg(process).arg("--fsize=unlimited").status().unwrap();
    assert!(done.success());
}

fn fill_up(folder: &str) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let listener = Arc::clone(&told);
    let options = options()
        .retry(Duration::from_secs(3600), Duration::from_secs(3600))
        .on_event(move |event| listener.lock().unwrap().push(event.clone()));
    let (saved, _) = Saved::open(folder, &header(), options).unwrap();
    let mut count = 0;
    let error = loop {
        assert_eq!(saved.append(noisy(count)), Taken::Queued);
        if let Err(error) = saved.flush() {
            break error;
        }
        count += 1;
    };
    assert!(count > 3, "some fit");
    assert!(matches!(error, SaveError::Io { .. }) && !error.needs_snapshot(), "{error:?}");
    assert!(saved.status().failing.is_some());
    // It goes on taking changes, and what is on disk stays.
    assert_eq!(saved.append(noisy(count + 1)), Taken::Queued);
    assert!(saved.flush().is_err());
    make_room();
    saved.flush().unwrap();
    assert!(saved.status().failing.is_none());
    assert_eq!(saved.status().objects, usize::try_from(count).unwrap() + 2);
    drop(saved);
    let told = told.lock().unwrap();
    let kinds: Vec<_> = told.iter().map(|event| matches!(event, Event::Failed { .. })).collect();
    assert_eq!(kinds, [true, true, false], "{told:?}");
    let (_, restored) = Saved::open(folder, &header(), crate::model::options()).unwrap();
    assert_eq!(State::of(&restored), state(count + 2));
}

fn fill_up_with_snapshots(folder: &str) {
    let options = options().retry(Duration::ZERO, Duration::ZERO);
    let (saved, _) = Saved::open(folder, &header(), options).unwrap();
    assert_eq!(saved.append(noisy(0)), Taken::Queued);
    saved.flush().unwrap();
    let snapshot = || {
        let objects = (0..100).map(|number| object(&format!("web/{number}"), number, &noise(number)));
        Snapshot::new(objects).version(ResourceVersion::number(99))
    };
    assert_eq!(saved.replace(snapshot()), Taken::Queued);
    assert!(matches!(saved.flush(), Err(SaveError::Io { .. })));
    assert_eq!(saved.append(noisy(1)), Taken::SnapshotNeeded);
    assert!(saved.status().is_behind);
    let names: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "nothing is left of the attempt: {names:?}");
    make_room();
    assert_eq!(saved.replace(snapshot()), Taken::Queued);
    assert_eq!(saved.append(noisy(100)), Taken::Queued);
    saved.close().unwrap();
    let (_, restored) = Saved::open(folder, &header(), crate::model::options()).unwrap();
    assert_eq!(State::of(&restored), state(101));
}

fn fail_and_think_better_of_it(folder: &str) {
    let options = options().retry(Duration::from_secs(3600), Duration::from_secs(3600));
    let (saved, _) = Saved::open(folder, &header(), options).unwrap();
    for number in 0..5 {
        assert_eq!(saved.append(noisy(number)), Taken::Queued);
    }
    saved.flush().unwrap();
    let large: Vec<u8> = (0..20).flat_map(noise).collect();
    let mut batch = Batch::new();
    batch.put(object("web/large", 5, &large)).version(ResourceVersion::number(5));
    assert_eq!(saved.append(batch), Taken::Queued);
    assert!(matches!(saved.flush(), Err(SaveError::Io { .. })));
    let length = || std::fs::metadata(format!("{folder}/state")).unwrap().len();
    let good = saved.status().file_bytes;
    assert!(length() > good, "a part of it was written");
    // Together they come to less than what was written of the first.
    let mut batch = Batch::new();
    batch.delete("web/large".parse().unwrap()).version(ResourceVersion::number(4));
    assert_eq!(saved.append(batch), Taken::Queued);
    make_room();
    saved.flush().unwrap();
    assert_eq!(length(), saved.status().file_bytes, "and nothing of it is left");
    assert!(length() > good);
    drop(saved);
    let (_, restored) = Saved::open(folder, &header(), crate::model::options()).unwrap();
    assert_eq!(restored.dropped(), None);
    assert_eq!(State::of(&restored), state(5));
}

/// In a process that may write so many bytes to a file, and is told if it writes more.
fn in_little_room(name: &str) -> bool {
    let folder = Folder::new();
    let mut limited =
        child::command("trap '' XFSZ; ulimit -S -f 200;", name, folder.path().to_str().unwrap());
    let output = limited.stderr(Stdio::piped()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    reopened(&folder).objects.len() > 3
}

#[test]
fn batches_are_made_up_for() {
    match child::task() {
        Some(folder) => fill_up(&folder),
        None => assert!(in_little_room("full_disk::batches_are_made_up_for")),
    }
}

#[test]
fn snapshots_are_asked_for_again() {
    match child::task() {
        Some(folder) => fill_up_with_snapshots(&folder),
        None => assert!(in_little_room("full_disk::snapshots_are_asked_for_again")),
    }
}

#[test]
fn what_was_written_in_part_is_cut_off_before_what_follows() {
    match child::task() {
        Some(folder) => fail_and_think_better_of_it(&folder),
        None => {
            assert!(in_little_room("full_disk::what_was_written_in_part_is_cut_off_before_what_follows"));
        }
    }
}

#[test]
fn a_folder_without_room_for_a_file_is_an_error() {
    let name = "full_disk::a_folder_without_room_for_a_file_is_an_error";
    let Some(folder) = child::task() else {
        let folder = Folder::new();
        let task = folder.path().to_str().unwrap();
        let output = child::command("trap '' XFSZ; ulimit -f 0;", name, task).output().unwrap();
        assert!(output.status.success());
        return;
    };
    let error = Saved::open(folder, &header(), options()).unwrap_err();
    assert!(matches!(error, OpenError::Io { .. }) && !error.is_unusable(), "{error:?}");
}
