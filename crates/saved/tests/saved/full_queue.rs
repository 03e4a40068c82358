//! A full queue requests a snapshot, and the state on disk stays valid.

use crate::model::{Folder, State, batch, header, object, open, options, reopened, save};
use kube_informer_saved::{Batch, Enqueue, SaveError, SavedState, Snapshot};
use kube_informer_wire::ResourceVersion;

fn snapshot_of(state: &State) -> Snapshot {
    let objects: Vec<_> =
        state.objects.iter().map(|(key, (_, version, bytes))| object(key, *version, bytes)).collect();
    Snapshot::new(objects).version(ResourceVersion::number(state.version.unwrap()))
}

#[test]
fn a_snapshot_replaces_batches_that_did_not_fit_into_the_queue() {
    let folder = Folder::new();
    let (saved, _) = SavedState::open(folder.path(), &header(), options().max_queue_bytes(4_000)).unwrap();
    // Blocks the writer until `unblock` is dropped.
    let (unblock, wait) = std::sync::mpsc::channel::<()>();
    let busy = std::iter::from_fn(move || {
        wait.recv().ok();
        None
    });
    assert_eq!(saved.replace(Snapshot::new(busy)), Enqueue::Queued);
    let queued = (0..).take_while(|number| saved.append(batch(*number)) == Enqueue::Queued).count() as u64;
    assert!(queued > 2);
    assert!(saved.status().queued_bytes < 8_000);
    drop(unblock);
    assert!(matches!(saved.flush(), Err(SaveError::QueueFull)));
    assert_eq!(saved.append(batch(queued)), Enqueue::NeedsSnapshot, "a batch is missing");
    let later = State::after(queued + 9);
    assert_eq!(saved.replace(snapshot_of(&later)), Enqueue::Queued);
    saved.flush().unwrap();
    drop(saved);
    assert_eq!(reopened(&folder), later);
}

#[test]
fn writes_the_batches_that_were_queued_before_it_was_full() {
    let folder = Folder::new();
    let (saved, _) = SavedState::open(folder.path(), &header(), options().max_queue_bytes(4_000)).unwrap();
    let (unblock, wait) = std::sync::mpsc::channel::<()>();
    let busy = std::iter::from_fn(move || {
        wait.recv().ok();
        None
    });
    assert_eq!(saved.replace(Snapshot::new(busy)), Enqueue::Queued);
    let queued = (0..).take_while(|number| saved.append(batch(*number)) == Enqueue::Queued).count() as u64;
    drop(unblock);
    drop(saved);
    assert_eq!(reopened(&folder), State::after(queued));
}

#[test]
fn a_snapshot_replaces_everything_before_it() {
    let folder = Folder::new();
    let (saved, _) = open(&folder);
    (0..5).for_each(|number| save(&saved, number));
    let later = State::after(50);
    assert_eq!(saved.append(batch(7)), Enqueue::Queued);
    assert_eq!(saved.replace(snapshot_of(&later)), Enqueue::Queued);
    assert_eq!(saved.append(batch(50)), Enqueue::Queued);
    saved.close().unwrap();
    assert_eq!(reopened(&folder), State::after(51));
}

#[test]
fn rejects_an_object_that_is_too_large_to_be_read() {
    let folder = Folder::new();
    let (saved, _) = open(&folder);
    save(&saved, 0);
    let mut large = Batch::new();
    large.put(object("web/large", 1, &vec![0; (64 << 20) + 1])).version(ResourceVersion::number(1));
    assert_eq!(saved.append(large), Enqueue::Queued);
    let error = saved.flush().unwrap_err();
    assert!(matches!(&error, SaveError::TooLarge { name, .. } if name == "web/large"), "{error:?}");
    assert_eq!(saved.append(batch(1)), Enqueue::NeedsSnapshot);
    assert_eq!(saved.replace(snapshot_of(&State::after(2))), Enqueue::Queued);
    saved.close().unwrap();
    assert_eq!(reopened(&folder), State::after(2));
}

#[test]
fn a_panic_in_the_iterator_of_a_snapshot_only_stops_the_writer() {
    let folder = Folder::new();
    let (saved, _) = open(&folder);
    save(&saved, 0);
    let objects = std::iter::from_fn(|| panic!("expected by the test"));
    assert_eq!(saved.replace(Snapshot::new(objects)), Enqueue::Queued);
    assert!(matches!(saved.flush(), Err(SaveError::Stopped)));
    assert_eq!(saved.append(batch(1)), Enqueue::Stopped);
    assert!(saved.status().is_stopped);
    drop(saved);
    assert_eq!(reopened(&folder), State::after(1));
}

#[test]
fn writes_queued_changes_when_the_handle_is_dropped() {
    let folder = Folder::new();
    let (saved, _) = open(&folder);
    assert_eq!(saved.append(batch(0)), Enqueue::Queued);
    drop(saved);
    assert_eq!(reopened(&folder), State::after(1));
}
