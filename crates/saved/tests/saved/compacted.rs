//! The file does not grow with the changes, and loses nothing when it is written anew.

use crate::model::{Folder, State, batch, header, object, options, reopened, save};
use kube_informer_saved::{Batch, Compression, Event, SaveError, Saved, Sync, Taken};
use kube_informer_wire::ResourceVersion;
use std::sync::{Arc, Mutex};

#[test]
fn the_file_stays_within_twice_what_is_in_use() {
    let folder = Folder::new();
    let told = Arc::new(Mutex::new(0));
    let listener = Arc::clone(&told);
    let options = options().spare_garbage(1000).sync(Sync::Flushes).on_event(move |event| {
        assert!(matches!(event, Event::Compacted { before, after } if after < before), "{event:?}");
        *listener.lock().unwrap() += 1;
    });
    let (saved, _) = Saved::open(folder.path(), &header(), options).unwrap();
    for number in 0..300 {
        save(&saved, number);
    }
    // Compaction follows the flush; another flush waits for it.
    save(&saved, 300);
    let status = saved.status();
    let most = 2 * status.live_bytes + 1000 + 2000;
    assert!(status.file_bytes < most && status.compactions > 5, "{status:?}");
    assert!(*told.lock().unwrap() > 5);
    drop(saved);
    assert_eq!(reopened(&folder), State::after(301));
}

#[test]
fn a_dictionary_is_made_and_kept_and_replaced() {
    let folder = Folder::new();
    let text =
        |number: u64| format!("{{\"a\":\"{number}\",\"same\":\"in every object there is\"}}").repeat(4);
    let key = |number: u64| format!("web/{number}");
    let mut state = State::default();
    let levels = [Compression::Level(3), Compression::Off, Compression::Level(1), Compression::Level(3)];
    for (round, compression) in (1..).zip(levels) {
        let options = options().compression(compression).spare_garbage(0);
        let (saved, restored) = Saved::open(folder.path(), &header(), options).unwrap();
        assert_eq!(State::of(&restored), state);
        for version in round * 100..round * 100 + 50 {
            let mut batch = Batch::new();
            for number in 0..30 {
                let bytes = text(number * version);
                batch.put(object(&key(number), version, bytes.as_bytes()));
                state.put(&key(number), version, bytes.into_bytes());
            }
            state.version = Some(version);
            assert_eq!(
                saved.append({
                    batch.version(ResourceVersion::number(version));
                    batch
                }),
                Taken::Queued
            );
            saved.flush().unwrap();
        }
        saved.close().unwrap();
    }
    assert_eq!(reopened(&folder), state);
}

#[test]
fn a_dictionary_of_objects_that_are_gone_is_replaced() {
    let folder = Folder::new();
    let (saved, _) = Saved::open(folder.path(), &header(), options()).unwrap();
    let write = |kind: &str, version| {
        let mut batch = Batch::new();
        for number in 0..2_000 {
            let own = (number + version) * 7919;
            let words = (0..40).map(|word| format!("{kind}-{word}/{} ", word * 31 % 17)).collect::<String>();
            batch.put(object(&format!("web/{number}"), version, format!("{own} {words}").as_bytes()));
        }
        assert_eq!(
            saved.append({
                batch.version(ResourceVersion::number(version));
                batch
            }),
            Taken::Queued
        );
        saved.flush().unwrap();
        saved.status().live_bytes
    };
    let first = write("deployment", 1);
    let stale = write("Überraschung", 2);
    assert!(stale > first * 3 / 2, "{first} {stale}");
    saved.close().unwrap();

    // All objects written anew, as compaction does.
    let (saved, restored) = Saved::open(folder.path(), &header(), options()).unwrap();
    let state = State::of(&restored);
    let snapshot =
        kube_informer_saved::Snapshot::new(restored.into_objects()).version(ResourceVersion::number(2));
    assert_eq!(saved.replace(snapshot), Taken::Queued);
    saved.flush().unwrap();
    let renewed = saved.status().live_bytes;
    assert!(renewed * 3 / 2 < stale, "{stale} {renewed}");
    drop(saved);
    assert_eq!(reopened(&folder), state);
}

#[test]
fn damage_beneath_a_writer_is_noticed_and_a_snapshot_mends_it() {
    use std::io::{Seek, SeekFrom, Write};
    let folder = Folder::new();
    let (saved, _) = Saved::open(folder.path(), &header(), options().spare_garbage(0)).unwrap();
    let mut big = Batch::new();
    (0..200).for_each(|number| {
        big.put(object(&format!("web/big-{number}"), 0, &number.to_string().repeat(50).into_bytes()));
    });
    assert_eq!(saved.append(big), Taken::Queued);
    saved.flush().unwrap();
    let mut file = std::fs::OpenOptions::new().write(true).open(folder.state()).unwrap();
    file.seek(SeekFrom::Start(400)).unwrap();
    file.write_all(b"damaged").unwrap();
    let mut number = 0;
    let error = loop {
        let taken = saved.append(batch(number));
        if let (Taken::Queued, Err(error)) = (taken, saved.flush()) {
            break error;
        }
        if taken == Taken::SnapshotNeeded {
            break saved.status().failing.unwrap();
        }
        number += 1;
    };
    assert!(matches!(error, SaveError::Damaged { .. }), "{error:?}");
    let objects = [object("web/a", 7, b"{}")];
    let snapshot = kube_informer_saved::Snapshot::new(objects).version(ResourceVersion::number(7));
    assert_eq!(saved.replace(snapshot), Taken::Queued);
    saved.close().unwrap();
    let mut state = State { version: Some(7), ..State::default() };
    state.put("web/a", 7, b"{}".to_vec());
    assert_eq!(reopened(&folder), state);
}
