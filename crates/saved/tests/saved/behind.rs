//! A writer that cannot keep up asks for a snapshot, and keeps what it has.

use crate::model::{Folder, State, batch, header, object, open, options, reopened, save};
use kube_informer_saved::{Batch, SaveError, Saved, Snapshot, Taken};
use kube_informer_wire::ResourceVersion;

fn snapshot_of(state: &State) -> Snapshot {
    let objects: Vec<_> =
        state.objects.iter().map(|(key, (_, version, bytes))| object(key, *version, bytes)).collect();
    Snapshot::new(objects).version(ResourceVersion::number(state.version.unwrap()))
}

#[test]
fn what_does_not_fit_the_queue_is_made_up_for_by_a_snapshot() {
    let folder = Folder::new();
    let (saved, _) = Saved::open(folder.path(), &header(), options().queue_bytes(4_000)).unwrap();
    // The writer is busy for as long as the test likes.
    let (go_on, wait) = std::sync::mpsc::channel::<()>();
    let busy = std::iter::from_fn(move || {
        wait.recv().ok();
        None
    });
    assert_eq!(saved.replace(Snapshot::new(busy)), Taken::Queued);
    let queued = (0..).take_while(|number| saved.append(batch(*number)) == Taken::Queued).count() as u64;
    assert!(queued > 2);
    assert!(saved.status().queued_bytes < 8_000);
    drop(go_on);
    assert!(matches!(saved.flush(), Err(SaveError::Behind)));
    assert_eq!(saved.append(batch(queued)), Taken::SnapshotNeeded, "one is missing");
    let later = State::after(queued + 9);
    assert_eq!(saved.replace(snapshot_of(&later)), Taken::Queued);
    saved.flush().unwrap();
    drop(saved);
    assert_eq!(reopened(&folder), later);
}

#[test]
fn what_was_queued_before_it_was_full_is_written() {
    let folder = Folder::new();
    let (saved, _) = Saved::open(folder.path(), &header(), options().queue_bytes(4_000)).unwrap();
    let (go_on, wait) = std::sync::mpsc::channel::<()>();
    let busy = std::iter::from_fn(move || {
        wait.recv().ok();
        None
    });
    assert_eq!(saved.replace(Snapshot::new(busy)), Taken::Queued);
    let queued = (0..).take_while(|number| saved.append(batch(*number)) == Taken::Queued).count() as u64;
    drop(go_on);
    drop(saved);
    assert_eq!(reopened(&folder), State::after(queued));
}

#[test]
fn a_snapshot_takes_the_place_of_everything() {
    let folder = Folder::new();
    let (saved, _) = open(&folder);
    (0..5).for_each(|number| save(&saved, number));
    let later = State::after(50);
    assert_eq!(saved.append(batch(7)), Taken::Queued);
    assert_eq!(saved.replace(snapshot_of(&later)), Taken::Queued);
    assert_eq!(saved.append(batch(50)), Taken::Queued);
    saved.close().unwrap();
    assert_eq!(reopened(&folder), State::after(51));
}

#[test]
fn an_object_that_cannot_be_read_back_is_not_written() {
    let folder = Folder::new();
    let (saved, _) = open(&folder);
    save(&saved, 0);
    let mut large = Batch::new();
    large.put(object("web/large", 1, &vec![0; (64 << 20) + 1])).version(ResourceVersion::number(1));
    assert_eq!(saved.append(large), Taken::Queued);
    let error = saved.flush().unwrap_err();
    assert!(matches!(&error, SaveError::TooLarge { key, .. } if key == "web/large"), "{error:?}");
    assert_eq!(saved.append(batch(1)), Taken::SnapshotNeeded);
    assert_eq!(saved.replace(snapshot_of(&State::after(2))), Taken::Queued);
    saved.close().unwrap();
    assert_eq!(reopened(&folder), State::after(2));
}

#[test]
fn a_panic_while_a_snapshot_is_asked_for_stops_saving_and_nothing_else() {
    let folder = Folder::new();
    let (saved, _) = open(&folder);
    save(&saved, 0);
    let objects = std::iter::from_fn(|| panic!("this is what the test is about"));
    assert_eq!(saved.replace(Snapshot::new(objects)), Taken::Queued);
    assert!(matches!(saved.flush(), Err(SaveError::Stopped)));
    assert_eq!(saved.append(batch(1)), Taken::Stopped);
    assert!(saved.status().is_stopped);
    drop(saved);
    assert_eq!(reopened(&folder), State::after(1));
}

#[test]
fn changes_are_written_when_the_handle_is_dropped() {
    let folder = Folder::new();
    let (saved, _) = open(&folder);
    assert_eq!(saved.append(batch(0)), Taken::Queued);
    drop(saved);
    assert_eq!(reopened(&folder), State::after(1));
}
