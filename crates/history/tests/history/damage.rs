//! Damaged and truncated files: other parts are readable, and wrong states are marked as gaps.

use crate::fixture::{Model, SEGMENT, State, pod, raw, temp_folder, time};
use kube_history::{Filter, History, Kind, List, Recorder, RecorderOptions};
use kube_informer_wire::{EventType, Key, ResourceVersion};
use serde_json::Value;
use std::{collections::HashMap, fs};
use testkit::TempFolder;

const STEP: i64 = 1_000;
const CHANGES: u64 = 40;

/// Records a history with several frames and two segments.
fn record(folder: &TempFolder) -> (Model, HashMap<u64, Value>) {
    let options = RecorderOptions::default().segment_size(2_500);
    let mut recorder = Recorder::open(folder.path(), options, time(0)).unwrap();
    let pods = recorder.add_kind(Kind::new("", "v1", "Pod", "pods"), time(0)).unwrap();
    let (mut model, mut state, mut versions) = (Model::default(), State::new(), HashMap::new());
    let list = List { kind: pods, namespace: None, version: Some(ResourceVersion::number(1)), objects: [] };
    recorder.list(list, time(0)).unwrap();
    for version in 2..CHANGES + 2 {
        let now = i64::try_from(version).unwrap() * STEP;
        let key: Key = format!("web/pod-{}", version % 5).parse().unwrap();
        let object = pod(&key, "uid", version, "Running");
        recorder.change(pods, EventType::Modified, &raw(&object), time(now)).unwrap();
        state.insert(key, object.clone());
        versions.insert(version, object);
        model.record(now, &state);
        if version % 4 == 0 {
            recorder.flush(time(now)).unwrap();
        }
    }
    recorder.close(time(0)).unwrap();
    (model, versions)
}

/// Checks that all versions that can be read are right, and that wrong states are in a gap. Returns the number of readable changes.
fn check(folder: &TempFolder, model: &Model, versions: &HashMap<u64, Value>, what: &str) -> usize {
    let Ok(history) = History::open(folder.path()) else { return 0 };
    let Ok(pods) = history.kind("pods") else { return 0 };
    let end = history.span().unwrap().end;
    let mut readable = 0;
    for change in history.changes(time(-1)..time(1_000_000), Filter::new()).unwrap() {
        let Ok(change) = change else { continue };
        let Ok(object) = change.decode::<Value>() else { continue };
        let version = change.version().unwrap().to_number().unwrap();
        assert_eq!(object, versions[&version], "{what}");
        readable += 1;
    }
    // On a handle without complete indexes, only the parts of one object are read.
    let other = History::open(folder.path()).unwrap();
    for number in 0..5 {
        let key: Key = format!("web/pod-{number}").parse().unwrap();
        for version in other.object(pods, key).versions().unwrap_or_default() {
            let Ok(object) = version.decode::<Value>() else { continue };
            assert_eq!(object, versions[&version.version().unwrap().to_number().unwrap()], "{what}");
        }
    }
    for moment in (0..i64::try_from(CHANGES).unwrap() + 2).map(|step| step * STEP) {
        let Ok(snapshot) = history.at(time(moment)) else { continue };
        if time(moment) > end || snapshot.gap(pods).is_some() {
            continue;
        }
        for (key, expected) in model.at(moment) {
            match snapshot
                .get(pods, &key)
                .and_then(|found| found.map(|found| found.decode::<Value>()).transpose())
            {
                Ok(found) => assert_eq!(found.as_ref(), Some(&expected), "{what}: {key} at {moment}"),
                Err(error) => assert!(error.is_damaged(), "{what}: {error}"),
            }
        }
    }
    readable
}

/// Returns the positions after the preamble and after each frame.
fn frame_ends(segment: &[u8]) -> Vec<usize> {
    let mut ends = vec![44];
    while let Some(length) = ends.last().and_then(|end| segment.get(*end..)?.first_chunk()) {
        let end = ends[ends.len() - 1];
        ends.push(end + 16 + u32::from_le_bytes(*length) as usize);
    }
    ends
}

#[test]
fn a_flipped_bit_is_detected_and_other_parts_are_readable() {
    let folder = temp_folder();
    let (model, versions) = record(&folder);
    let segments = folder.files(SEGMENT);
    assert!(segments.len() >= 2);
    assert_eq!(check(&folder, &model, &versions, "intact"), versions.len());
    for (number, path) in segments.iter().enumerate() {
        let intact = fs::read(path).unwrap();
        let boundaries = frame_ends(&intact).into_iter().flat_map(|end| [end - 1, end]);
        let positions = (number..intact.len()).step_by(5).chain(boundaries);
        for position in positions.filter(|position| *position < intact.len()) {
            let mut damaged = intact.clone();
            damaged[position] ^= 1 << (position / 5 % 8);
            fs::write(path, &damaged).unwrap();
            let what = format!("segment {number}, byte {position}");
            let readable = check(&folder, &model, &versions, &what);
            // A damaged preamble loses its segment, a damaged frame at most the changes of the segment after it.
            assert!(readable > 0, "{what}");
        }
        fs::write(path, &intact).unwrap();
    }
}

#[test]
fn a_truncated_file_has_the_changes_before_the_end() {
    let folder = temp_folder();
    let (model, versions) = record(&folder);
    let last = folder.files(SEGMENT).pop().unwrap();
    let intact = fs::read(&last).unwrap();
    let mut previous = 0;
    let boundaries = frame_ends(&intact).into_iter().flat_map(|end| [end - 1, end, end + 1]);
    let mut lengths: Vec<usize> = (0..intact.len()).step_by(7).chain(boundaries).collect();
    lengths.sort_unstable();
    for length in lengths.into_iter().filter(|length| *length <= intact.len()) {
        fs::write(&last, &intact[..length]).unwrap();
        let readable = check(&folder, &model, &versions, &format!("length {length}"));
        assert!(readable >= previous, "length {length}");
        previous = readable;
    }
    assert_eq!(previous, versions.len());
}

#[test]
fn a_recorder_continues_after_damage() {
    for position in [10, 200, 2_000, 3_500] {
        let folder = temp_folder();
        let (_, versions) = record(&folder);
        let last = folder.files(SEGMENT).pop().unwrap();
        let mut bytes = fs::read(&last).unwrap();
        let position = position.min(bytes.len() - 1);
        bytes[position] ^= 4;
        fs::write(&last, &bytes).unwrap();
        let now = time(1_000_000);
        let mut recorder = Recorder::open(folder.path(), RecorderOptions::default(), now).unwrap();
        let pods = recorder.add_kind(Kind::new("", "v1", "Pod", "pods"), now).unwrap();
        let current: Vec<&Value> = (CHANGES - 3..CHANGES + 2).map(|version| &versions[&version]).collect();
        let version = Some(ResourceVersion::number(CHANGES + 1));
        let objects: Vec<_> = current.iter().map(|object| raw(object)).collect();
        recorder.list(List { kind: pods, namespace: None, version, objects }, now).unwrap();
        recorder.close(now).unwrap();
        let history = History::open(folder.path()).unwrap();
        let snapshot = history.at(now).unwrap();
        assert!(snapshot.gap(pods).is_none(), "{:?}", snapshot.gap(pods));
        assert_eq!(snapshot.len(pods), 5);
        for version in snapshot.list(pods, None) {
            let version = version.unwrap();
            let number = version.version().unwrap().to_number().unwrap();
            assert_eq!(version.decode::<Value>().unwrap(), versions[&number]);
        }
    }
}

#[test]
fn a_missing_or_damaged_index_file_is_replaced_by_a_scan() {
    let folder = temp_folder();
    let (model, versions) = record(&folder);
    let index = folder.files(SEGMENT)[0].with_extension("index");
    let intact = fs::read(&index).unwrap();
    for position in (0..intact.len()).step_by(9) {
        let mut damaged = intact.clone();
        damaged[position] ^= 0x10;
        fs::write(&index, &damaged).unwrap();
        assert_eq!(check(&folder, &model, &versions, "damaged index"), versions.len());
    }
    fs::remove_file(&index).unwrap();
    assert_eq!(check(&folder, &model, &versions, "no index"), versions.len());
}

#[test]
fn another_format_is_refused() {
    let folder = temp_folder();
    record(&folder);
    let path = &folder.files(SEGMENT).pop().unwrap();
    let mut bytes = fs::read(path).unwrap();
    bytes[8] = 2;
    let checksum = twox_hash::XxHash3_64::oneshot(&bytes[..36]).to_le_bytes();
    bytes[36..44].copy_from_slice(&checksum);
    fs::write(path, &bytes).unwrap();
    let error = History::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("has history format 2, this version supports format 1"), "{error}");
    let error = Recorder::open(folder.path(), RecorderOptions::default(), time(0)).unwrap_err();
    assert_eq!(error.to_string(), "existing history cannot be read");
}
