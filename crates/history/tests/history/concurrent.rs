//! A reader and a recorder work on the same folder.

use crate::fixture::{SEGMENT, pod, raw, temp_folder, time};
use kube_history::{History, Kind, List, Recorder, RecorderOptions};
use kube_informer_wire::{EventType, Key, ResourceVersion};
use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

const OBJECTS: u64 = 10;
const CHANGES: u64 = 8_000;

/// Version `n` is a change of object `n % OBJECTS`, so that the newest version determines the state.
fn expected(newest: u64, object: u64) -> Option<u64> {
    (newest.saturating_sub(OBJECTS - 1)..=newest)
        .find(|version| version % OBJECTS == object && *version >= OBJECTS)
}

#[test]
fn a_reader_sees_a_state_of_the_server_while_it_is_recorded() {
    let folder = temp_folder();
    let options = RecorderOptions::default().segment_size(40_000).max_age(Duration::from_micros(CHANGES / 3));
    let mut recorder = Recorder::open(folder.path(), options, time(0)).unwrap();
    let pods = recorder.add_kind(Kind::new("", "v1", "Pod", "pods"), time(0)).unwrap();
    let version = Some(ResourceVersion::number(1));
    recorder.list(List { kind: pods, namespace: None, version, objects: [] }, time(0)).unwrap();
    recorder.flush(time(0)).unwrap();
    let is_done = AtomicBool::new(false);
    let snapshots = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut history = History::open(folder.path()).unwrap();
            let mut snapshots = 0;
            loop {
                let was_done = is_done.load(Ordering::Acquire);
                history.refresh().unwrap();
                let snapshot = history.at(history.span().unwrap().end).unwrap();
                let found = snapshot.list(pods, None).map(Result::unwrap);
                let versions: Vec<u64> = found.map(|v| v.version().unwrap().to_number().unwrap()).collect();
                let newest = versions.iter().copied().max().unwrap_or_default();
                let mut states: Vec<u64> =
                    (0..OBJECTS).filter_map(|object| expected(newest, object)).collect();
                let mut versions = versions;
                versions.sort_unstable();
                states.sort_unstable();
                assert_eq!(versions, states);
                snapshots += 1;
                if was_done {
                    assert_eq!(newest, CHANGES - 1);
                    return snapshots;
                }
            }
        });
        for version in OBJECTS..CHANGES {
            let key: Key = format!("web/pod-{}", version % OBJECTS).parse().unwrap();
            let object = raw(&pod(&key, "uid", version, "Running"));
            let now = time(i64::try_from(version).unwrap());
            recorder.change(pods, EventType::Modified, &object, now).unwrap();
            if version % 100 == 0 {
                recorder.flush(now).unwrap();
            }
        }
        recorder.flush(time(i64::try_from(CHANGES).unwrap())).unwrap();
        is_done.store(true, Ordering::Release);
        reader.join().unwrap()
    });
    assert!(snapshots > 1);
    assert!(folder.files(SEGMENT).len() > 1);
    assert!(recorder.statistics().segments > folder.files(SEGMENT).len() as u64, "old segments were removed");
}
