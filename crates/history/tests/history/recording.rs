//! The folder, gaps, retention, redaction and the clock.

use crate::fixture::{SEGMENT, pod, raw, temp_folder, time};
use kube_history::{
    Filter, History, Kind, KindId, List, RecordError, Recorded, Recorder, RecorderOptions, Secrets, Source,
};
use kube_informer_wire::{EventType, Format, Key, Raw, ResourceVersion, Schema};
use serde_json::{Value, json};
use std::{fs, time::Duration};
use testkit::TempFolder;

const SECOND: i64 = 1_000_000;

fn pods() -> Kind {
    Kind::new("", "v1", "Pod", "pods")
}

fn list(kind: KindId, objects: &[Value]) -> List<Vec<Raw>> {
    let version = Some(ResourceVersion::number(1_000));
    List { kind, namespace: None, version, objects: objects.iter().map(raw).collect() }
}

fn key(text: &str) -> Key {
    text.parse().unwrap()
}

#[test]
fn a_folder_has_one_recorder() {
    let folder = temp_folder();
    let open = || Recorder::open(folder.path(), RecorderOptions::default(), time(0));
    let first = open().unwrap();
    assert!(open().unwrap_err().is_locked());
    assert!(History::open(folder.path()).is_ok());
    drop(first);
    assert!(open().is_ok());
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_access_the_files() {
    use std::os::unix::fs::PermissionsExt;
    let folder = temp_folder();
    let options = RecorderOptions::default().segment_size(1);
    let mut recorder = Recorder::open(folder.path(), options, time(0)).unwrap();
    let kind = recorder.add_kind(pods(), time(0)).unwrap();
    recorder.list(list(kind, &[pod(&key("a/b"), "1", 1, "")]), time(1)).unwrap();
    recorder.flush(time(2)).unwrap();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(folder.path()), 0o700);
    let files: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 4, "{files:?}");
    assert!(files.iter().all(|path| mode(path) == 0o600));
    drop(recorder);

    let shared = temp_folder();
    fs::create_dir(shared.path()).unwrap();
    fs::set_permissions(shared.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(shared.path().join("notes"), "").unwrap();
    let error = Recorder::open(shared.path(), RecorderOptions::default(), time(0)).unwrap_err();
    assert!(matches!(error, RecordError::InsecurePermissions { mode: 0o755, .. }), "{error}");
}

#[test]
fn secrets_are_recorded_only_if_configured() {
    let folder = temp_folder();
    let secrets = || Kind::new("", "v1", "Secret", "secrets");
    let mut recorder = Recorder::open(folder.path(), RecorderOptions::default(), time(0)).unwrap();
    assert!(matches!(recorder.add_kind(secrets(), time(0)), Err(RecordError::SecretsRefused)));
    drop(recorder);
    let options = RecorderOptions::default().secrets(Secrets::Record);
    let mut recorder = Recorder::open(folder.path(), options, time(0)).unwrap();
    assert!(recorder.add_kind(secrets(), time(0)).is_ok());
}

#[test]
fn redacted_values_are_not_in_the_files() {
    let folder = temp_folder();
    let options = RecorderOptions::default().redact("configmaps:/data/*".parse().unwrap());
    let mut recorder = Recorder::open(folder.path(), options, time(0)).unwrap();
    let maps = recorder.add_kind(Kind::new("", "v1", "ConfigMap", "configmaps"), time(0)).unwrap();
    let map = |n: u64| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"password": format!("hunter{n}")},
            "metadata": {"name": format!("m{n}"), "namespace": "a", "uid": "1", "resourceVersion": n.to_string()}})
    };
    // Enough objects for a dictionary, as JSON and as protobuf.
    let schema = Schema::of("v1", "ConfigMap").unwrap();
    let protobuf = |n| Raw::new(Format::ProtobufItem(schema), schema.encode(&map(n)).unwrap().into());
    let objects: Vec<_> = (1..30).map(|n| if n % 2 == 0 { raw(&map(n)) } else { protobuf(n) }).collect();
    let version = Some(ResourceVersion::number(50));
    recorder.list(List { kind: maps, namespace: None, version, objects }, time(1)).unwrap();
    recorder.change(maps, EventType::Deleted, &raw(&map(3)), time(2)).unwrap();
    recorder.close(time(2)).unwrap();
    let history = History::open(folder.path()).unwrap();
    let versions: Vec<_> = history.changes(time(0)..time(2), Filter::new()).unwrap().collect();
    assert_eq!(versions.len(), 30);
    for version in versions {
        assert_eq!(version.unwrap().decode::<Value>().unwrap()["data"]["password"], "REDACTED");
    }
    let bytes = fs::read(&folder.files(SEGMENT)[0]).unwrap();
    assert!(!bytes.windows(6).any(|window| window == b"hunter"));
}

#[test]
fn a_list_after_a_gap_finds_the_differences() {
    let folder = temp_folder();
    let mut recorder = Recorder::open(folder.path(), RecorderOptions::default(), time(0)).unwrap();
    let kind = recorder.add_kind(pods(), time(0)).unwrap();
    let object = |name: &str, version| pod(&key(name), name, version, "");
    recorder.list(list(kind, &[object("x/a", 1), object("x/b", 2), object("y/c", 3)]), time(1)).unwrap();
    recorder.watch_lost(kind, None, "watch closed", time(5)).unwrap();
    recorder.watch_lost(kind, Some("x"), "part of the gap", time(6)).unwrap();
    let differences =
        recorder.list(list(kind, &[object("x/a", 1), object("x/b", 7), object("x/d", 8)]), time(9));
    assert_eq!(differences.unwrap(), 3);
    recorder.close(time(9)).unwrap();

    let history = History::open(folder.path()).unwrap();
    let gaps = history.gaps().unwrap();
    let found: Vec<_> = gaps.iter().map(|gap| (gap.from, gap.to, gap.reason.as_str())).collect();
    let expected = [(time(0), Some(time(1)), "not listed yet"), (time(5), Some(time(9)), "watch closed")];
    assert_eq!(found, expected);
    assert!(history.at(time(7)).unwrap().gap(kind).is_some());
    assert!(history.at(time(5)).unwrap().gap(kind).is_none());
    assert!(history.at(time(9)).unwrap().gap(kind).is_none());
    let changes = history.changes(time(1)..time(9), Filter::new()).unwrap().map(Result::unwrap);
    let changes: Vec<_> = changes.map(|c| (c.key().to_string(), c.event(), c.source())).collect();
    assert!(changes.iter().all(|(_, _, source)| *source == Source::List));
    let names: Vec<_> = changes.iter().map(|(key, event, _)| format!("{event:?} {key}")).collect();
    assert_eq!(names, ["Modified x/b", "Added x/d", "Deleted y/c"]);
}

#[test]
fn a_list_of_a_namespace_does_not_delete_objects_of_others() {
    let folder = temp_folder();
    let mut recorder = Recorder::open(folder.path(), RecorderOptions::default(), time(0)).unwrap();
    let kind = recorder.add_kind(pods(), time(0)).unwrap();
    let object = |name: &str| pod(&key(name), name, 1, "");
    recorder.list(list(kind, &[object("x/a"), object("y/b")]), time(1)).unwrap();
    recorder.watch_lost(kind, Some("x"), "watch closed", time(2)).unwrap();
    recorder.watch_lost(kind, Some("y"), "watch closed", time(2)).unwrap();
    let list = List { kind, namespace: Some("x".into()), version: None, objects: [] };
    assert_eq!(recorder.list(list, time(3)).unwrap(), 1);
    recorder.close(time(3)).unwrap();
    let history = History::open(folder.path()).unwrap();
    let snapshot = history.at(time(3)).unwrap();
    assert_eq!(snapshot.keys(kind).collect::<Vec<_>>(), [&key("y/b")]);
    assert_eq!(snapshot.gap(kind).unwrap().namespace.as_deref(), Some("y"));
    let ended: Vec<_> = history.gaps().unwrap().into_iter().filter(|gap| gap.to == Some(time(3))).collect();
    assert_eq!(ended.len(), 1, "only the gap of the listed namespace ends");
}

#[test]
fn a_restart_is_a_gap_until_the_next_list() {
    let folder = temp_folder();
    let mut recorder = Recorder::open(folder.path(), RecorderOptions::default(), time(0)).unwrap();
    let kind = recorder.add_kind(pods(), time(0)).unwrap();
    let object = pod(&key("x/a"), "1", 5, "");
    recorder.list(list(kind, std::slice::from_ref(&object)), time(1)).unwrap();
    recorder.close(time(2)).unwrap();
    let mut recorder = Recorder::open(folder.path(), RecorderOptions::default(), time(SECOND)).unwrap();
    assert_eq!(recorder.objects(), 1);
    let again = recorder.add_kind(pods().short_names(["po"]), time(SECOND)).unwrap();
    assert_eq!(again, kind);
    assert_eq!(recorder.list(list(kind, &[object]), time(2 * SECOND)).unwrap(), 0);
    recorder.close(time(2 * SECOND)).unwrap();
    let history = History::open(folder.path()).unwrap();
    assert_eq!(history.kind("po").unwrap(), kind);
    let gap = history.gaps().unwrap().pop().unwrap();
    assert_eq!((gap.from, gap.to), (time(1), Some(time(2 * SECOND))));
    assert_eq!(gap.reason, "recorder was not running");
}

#[test]
fn a_removed_kind_deletes_its_objects() {
    let folder = temp_folder();
    let mut recorder = Recorder::open(folder.path(), RecorderOptions::default(), time(0)).unwrap();
    let widgets = Kind::new("example.com", "v1", "Widget", "widgets");
    let kind = recorder.add_kind(widgets.clone(), time(0)).unwrap();
    recorder.list(list(kind, &[pod(&key("x/a"), "1", 5, "")]), time(1)).unwrap();
    recorder.remove_kind(kind, time(2)).unwrap();
    assert_eq!(recorder.add_kind(widgets, time(3)).unwrap(), kind);
    recorder.list(list(kind, &[pod(&key("x/a"), "2", 9, "")]), time(4)).unwrap();
    recorder.close(time(4)).unwrap();
    let history = History::open(folder.path()).unwrap();
    assert!(history.at(time(3)).unwrap().is_empty());
    let versions = history.object(kind, key("x/a")).versions().unwrap();
    let found: Vec<_> = versions.iter().map(|v| format!("{:?} {}", v.event(), v.uid())).collect();
    assert_eq!(found, ["Added 1", "Deleted 1", "Added 2"]);
    assert_eq!(versions[1].decode::<Value>().unwrap()["metadata"]["resourceVersion"], "5");
}

#[test]
fn a_clock_that_is_set_back_does_not_change_the_order() {
    let folder = temp_folder();
    let mut recorder = Recorder::open(folder.path(), RecorderOptions::default(), time(0)).unwrap();
    let kind = recorder.add_kind(pods(), time(0)).unwrap();
    recorder.list(list(kind, &[]), time(0)).unwrap();
    let times = [10 * SECOND, 2 * SECOND, 3 * SECOND, 11 * SECOND];
    for (version, at) in (1..).zip(times) {
        let object = raw(&pod(&key("x/a"), "1", version, ""));
        assert_eq!(recorder.change(kind, EventType::Added, &object, time(at)).unwrap(), Recorded::Changed);
    }
    recorder.close(time(0)).unwrap();
    let history = History::open(folder.path()).unwrap();
    let found: Vec<_> =
        history.object(kind, key("x/a")).versions().unwrap().iter().map(|v| v.time()).collect();
    assert_eq!(found, [10, 10, 10, 11].map(|second| time(second * SECOND)));
    let steps = history.clock_steps().unwrap();
    let steps: Vec<_> = steps.iter().map(|step| (step.time, step.clock)).collect();
    assert_eq!(steps[0], (time(10 * SECOND), time(2 * SECOND)));
    assert_eq!(steps.len(), 2, "the recorder was also closed at an earlier time");
}

#[test]
fn old_segments_are_removed_by_age_and_by_size() {
    let record = |options: RecorderOptions| {
        let folder = temp_folder();
        let options = options.segment_size(3_000);
        let mut recorder = Recorder::open(folder.path(), options, time(0)).unwrap();
        let kind = recorder.add_kind(pods(), time(0)).unwrap();
        recorder.list(list(kind, &[pod(&key("x/old"), "0", 1, "")]), time(0)).unwrap();
        for version in 2..600 {
            let now = time(i64::try_from(version).unwrap() * SECOND);
            let key = key(&format!("x/pod-{}", version % 7));
            recorder.change(kind, EventType::Modified, &raw(&pod(&key, "u", version, "")), now).unwrap();
            recorder.flush(now).unwrap();
        }
        (folder, kind)
    };
    let (all, _) = record(RecorderOptions::default());
    let (by_age, kind) = record(RecorderOptions::default().max_age(Duration::from_secs(100)));
    let (by_size, _) = record(RecorderOptions::default().max_size(20_000));
    assert!(by_age.files(SEGMENT).len() < all.files(SEGMENT).len() / 2);
    let size = |folder: &TempFolder| {
        let files = fs::read_dir(folder.path()).unwrap();
        files.map(|entry| entry.unwrap().metadata().unwrap().len()).sum::<u64>()
    };
    assert!(size(&all) > 40_000 && size(&by_size) <= 20_000, "{} {}", size(&all), size(&by_size));
    let history = History::open(by_age.path()).unwrap();
    let span = history.span().unwrap();
    assert!(span.start <= time(499 * SECOND) && span.start > time(300 * SECOND), "{span:?}");
    assert!(
        history
            .at(time(100 * SECOND))
            .unwrap_err()
            .to_string()
            .contains("is before the start of the history")
    );
    // An object that did not change is part of every checkpoint.
    let snapshot = history.at(span.start).unwrap();
    assert_eq!(snapshot.len(kind), 8);
    let old = snapshot.get(kind, &key("x/old")).unwrap().unwrap();
    assert_eq!(old.decode::<Value>().unwrap(), pod(&key("x/old"), "0", 1, ""));
    assert!(fs::read_dir(by_age.path()).unwrap().count() <= 2 * by_age.files(SEGMENT).len() + 1);
}

#[test]
fn objects_without_a_name_are_rejected() {
    let folder = temp_folder();
    let mut recorder = Recorder::open(folder.path(), RecorderOptions::default(), time(0)).unwrap();
    let kind = recorder.add_kind(pods(), time(0)).unwrap();
    for json in ["", "{}", "[]", r#"{"metadata":{"name":"a/b"}}"#] {
        let raw = Raw::new(Format::Json, json.into());
        for event in [EventType::Added, EventType::Deleted] {
            let error = recorder.change(kind, event, &raw, time(0)).unwrap_err();
            assert_eq!(
                error.to_string(),
                "object of kind pods cannot be recorded: it is malformed or has no valid metadata.name"
            );
        }
    }
}
