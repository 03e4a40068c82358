//! Compaction limits the size of the file and keeps the state.

use crate::model::{Folder, State, batch, header, object, options, reopened, save};
use kube_informer_saved::{Batch, Enqueue, SaveError, SavedState, Snapshot, SyncPolicy, WriterEvent};
use kube_informer_wire::ResourceVersion;
use std::sync::{Arc, Mutex};

#[test]
fn the_file_is_at_most_twice_as_large_as_the_live_data() {
    let folder = Folder::new();
    let compactions = Arc::new(Mutex::new(0));
    let listener = Arc::clone(&compactions);
    let options = options().compaction_threshold(1000).sync(SyncPolicy::EveryFlush).on_event(move |event| {
        assert!(matches!(event, WriterEvent::Compacted { before, after } if after < before), "{event:?}");
        *listener.lock().unwrap() += 1;
    });
    let (saved, _) = SavedState::open(folder.path(), &header(), options).unwrap();
    for number in 0..300 {
        save(&saved, number);
    }
    // A compaction follows the flush, so another flush waits for it.
    save(&saved, 300);
    let status = saved.status();
    let limit = 2 * status.live_bytes + 1000 + 2000;
    assert!(status.file_bytes < limit && status.compactions > 5, "{status:?}");
    assert!(*compactions.lock().unwrap() > 5);
    drop(saved);
    assert_eq!(reopened(&folder), State::after(301));
}

#[test]
fn detects_damage_while_open_and_recovers_with_a_snapshot() {
    use std::io::{Seek, SeekFrom, Write};
    let folder = Folder::new();
    let (saved, _) = SavedState::open(folder.path(), &header(), options().compaction_threshold(0)).unwrap();
    let mut big = Batch::new();
    (0..200).for_each(|number| {
        big.put(object(&format!("web/big-{number}"), 0, &number.to_string().repeat(50).into_bytes()));
    });
    assert_eq!(saved.append(big), Enqueue::Queued);
    saved.flush().unwrap();
    let mut file = std::fs::OpenOptions::new().write(true).open(folder.state()).unwrap();
    file.seek(SeekFrom::Start(400)).unwrap();
    file.write_all(b"damaged").unwrap();
    let mut number = 0;
    let error = loop {
        let result = saved.append(batch(number));
        if let (Enqueue::Queued, Err(error)) = (result, saved.flush()) {
            break error;
        }
        if result == Enqueue::NeedsSnapshot {
            break saved.status().last_error.unwrap();
        }
        number += 1;
    };
    assert!(matches!(error, SaveError::Corrupt { .. }), "{error:?}");
    let objects = [object("web/a", 7, b"{}")];
    let snapshot = Snapshot::new(objects).version(ResourceVersion::number(7));
    assert_eq!(saved.replace(snapshot), Enqueue::Queued);
    saved.close().unwrap();
    let mut state = State { version: Some(7), ..State::default() };
    state.put("web/a", 7, b"{}".to_vec());
    assert_eq!(reopened(&folder), state);
}
