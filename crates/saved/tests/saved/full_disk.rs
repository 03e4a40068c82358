//! A full disk is reported, keeps the saved state intact, and saving continues when there is space again.

use crate::{
    model::{Folder, State, header, object, options, reopened},
    subprocess,
};
use kube_informer_saved::{Batch, Enqueue, OpenError, SaveError, SavedState, Snapshot, WriterEvent};
use kube_informer_wire::ResourceVersion;
use std::{
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};
use testkit::Random;

/// Returns 8 KiB of random bytes.
fn noise(number: u64) -> Vec<u8> {
    let mut random = Random::from_state(number);
    (0..1024).flat_map(|_| random.next_u64().to_le_bytes()).collect()
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

/// Removes the file size limit of this process.
fn remove_limit() {
    let process = format!("--pid={}", std::process::id());
    let done = Command::new("prlimit").arg(process).arg("--fsize=unlimited").status().unwrap();
    assert!(done.success());
}

fn fill_up(folder: &str) {
    let events = Arc::new(Mutex::new(Vec::new()));
    let listener = Arc::clone(&events);
    let options = options()
        .backoff(Duration::from_secs(3600), Duration::from_secs(3600))
        .on_event(move |event| listener.lock().unwrap().push(event.clone()));
    let (saved, _) = SavedState::open(folder, &header(), options).unwrap();
    let mut count = 0;
    let error = loop {
        assert_eq!(saved.append(noisy(count)), Enqueue::Queued);
        if let Err(error) = saved.flush() {
            break error;
        }
        count += 1;
    };
    assert!(count > 3, "some batches fit");
    assert!(matches!(error, SaveError::Io { .. }) && !error.needs_snapshot(), "{error:?}");
    assert!(saved.status().last_error.is_some());
    // It still accepts changes, and the state on disk stays intact.
    assert_eq!(saved.append(noisy(count + 1)), Enqueue::Queued);
    assert!(saved.flush().is_err());
    remove_limit();
    saved.flush().unwrap();
    assert!(saved.status().last_error.is_none());
    assert_eq!(saved.status().objects, usize::try_from(count).unwrap() + 2);
    drop(saved);
    let events = events.lock().unwrap();
    let kinds: Vec<_> = events.iter().map(|event| matches!(event, WriterEvent::Failed { .. })).collect();
    assert_eq!(kinds, [true, true, false], "{events:?}");
    let (_, restored) = SavedState::open(folder, &header(), crate::model::options()).unwrap();
    assert_eq!(State::of(&restored), state(count + 2));
}

fn fill_up_with_snapshots(folder: &str) {
    let options = options().backoff(Duration::ZERO, Duration::ZERO);
    let (saved, _) = SavedState::open(folder, &header(), options).unwrap();
    assert_eq!(saved.append(noisy(0)), Enqueue::Queued);
    saved.flush().unwrap();
    let snapshot = || {
        let objects = (0..100).map(|number| object(&format!("web/{number}"), number, &noise(number)));
        Snapshot::new(objects).version(ResourceVersion::number(99))
    };
    assert_eq!(saved.replace(snapshot()), Enqueue::Queued);
    assert!(matches!(saved.flush(), Err(SaveError::Io { .. })));
    assert_eq!(saved.append(noisy(1)), Enqueue::NeedsSnapshot);
    assert!(saved.status().needs_snapshot);
    let names: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "the incomplete file is removed: {names:?}");
    remove_limit();
    assert_eq!(saved.replace(snapshot()), Enqueue::Queued);
    assert_eq!(saved.append(noisy(100)), Enqueue::Queued);
    saved.close().unwrap();
    let (_, restored) = SavedState::open(folder, &header(), crate::model::options()).unwrap();
    assert_eq!(State::of(&restored), state(101));
}

fn delete_after_partial_write(folder: &str) {
    let options = options().backoff(Duration::from_secs(3600), Duration::from_secs(3600));
    let (saved, _) = SavedState::open(folder, &header(), options).unwrap();
    for number in 0..5 {
        assert_eq!(saved.append(noisy(number)), Enqueue::Queued);
    }
    saved.flush().unwrap();
    let large: Vec<u8> = (0..20).flat_map(noise).collect();
    let mut batch = Batch::new();
    batch.put(object("web/large", 5, &large)).version(ResourceVersion::number(5));
    assert_eq!(saved.append(batch), Enqueue::Queued);
    assert!(matches!(saved.flush(), Err(SaveError::Io { .. })));
    let length = || std::fs::metadata(format!("{folder}/state")).unwrap().len();
    let good = saved.status().file_bytes;
    assert!(length() > good, "the batch was partly written");
    // The merged batches are smaller than the part that was written.
    let mut batch = Batch::new();
    batch.delete("web/large".parse().unwrap()).version(ResourceVersion::number(4));
    assert_eq!(saved.append(batch), Enqueue::Queued);
    remove_limit();
    saved.flush().unwrap();
    assert_eq!(length(), saved.status().file_bytes, "the partial write is removed");
    assert!(length() > good);
    drop(saved);
    let (_, restored) = SavedState::open(folder, &header(), crate::model::options()).unwrap();
    assert_eq!(restored.truncated(), None);
    assert_eq!(State::of(&restored), state(5));
}

/// Runs a test in a process with a file size limit, and checks that some objects were saved.
fn runs_with_file_size_limit(name: &str) -> bool {
    let folder = Folder::new();
    let mut limited =
        subprocess::command("trap '' XFSZ; ulimit -S -f 200;", name, folder.path().to_str().unwrap());
    let output = limited.stderr(Stdio::piped()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    reopened(&folder).objects.len() > 3
}

#[test]
fn retries_batches_when_there_is_space_again() {
    match subprocess::task() {
        Some(folder) => fill_up(&folder),
        None => assert!(runs_with_file_size_limit("full_disk::retries_batches_when_there_is_space_again")),
    }
}

#[test]
fn requests_a_new_snapshot_after_a_failure() {
    match subprocess::task() {
        Some(folder) => fill_up_with_snapshots(&folder),
        None => assert!(runs_with_file_size_limit("full_disk::requests_a_new_snapshot_after_a_failure")),
    }
}

#[test]
fn removes_a_partly_written_batch_before_the_next_one() {
    match subprocess::task() {
        Some(folder) => delete_after_partial_write(&folder),
        None => {
            assert!(runs_with_file_size_limit(
                "full_disk::removes_a_partly_written_batch_before_the_next_one"
            ));
        }
    }
}

#[test]
fn returns_an_error_if_there_is_no_space_for_a_file() {
    let name = "full_disk::returns_an_error_if_there_is_no_space_for_a_file";
    let Some(folder) = subprocess::task() else {
        let folder = Folder::new();
        let task = folder.path().to_str().unwrap();
        let output = subprocess::command("trap '' XFSZ; ulimit -f 0;", name, task).output().unwrap();
        assert!(output.status.success());
        return;
    };
    let error = SavedState::open(folder, &header(), options()).unwrap_err();
    assert!(matches!(error, OpenError::Io { .. }) && !error.is_unusable(), "{error:?}");
}
