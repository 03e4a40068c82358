//! Filters, selectors, differences and replays.

use crate::fixture::{pod, raw, temp_folder, time};
use kube_history::{Event, Filter, History, Kind, KindId, List, Recorder, RecorderOptions, diff};
use kube_informer_wire::{EventType, Key, ResourceVersion};
use serde_json::{Value, json};
use std::time::Duration;
use testkit::TempFolder;

const SECOND: i64 = 1_000_000;

struct Recorded {
    _folder: TempFolder,
    history: History,
    pods: KindId,
}

/// Records a deployment-like tree: `x/owner` owns `x/middle`, which owns `x/leaf`; `y/other` is independent.
fn recorded() -> Recorded {
    let folder = temp_folder();
    let mut recorder = Recorder::open(folder.path(), RecorderOptions::default(), time(0)).unwrap();
    let pods = recorder.add_kind(Kind::new("", "v1", "Pod", "pods"), time(0)).unwrap();
    let owned = |name: &str, owner: &str, version| {
        let mut object = pod(&key(name), name, version, "Pending");
        object["metadata"]["ownerReferences"] = json!([{"uid": owner}]);
        object
    };
    let objects = [pod(&key("x/owner"), "x/owner", 1, "Pending"), owned("x/middle", "x/owner", 2)];
    let objects = objects.iter().map(raw).collect::<Vec<_>>();
    let version = Some(ResourceVersion::number(2));
    recorder.list(List { kind: pods, namespace: None, version, objects }, time(SECOND)).unwrap();
    let changes = [
        (EventType::Added, owned("x/leaf", "x/middle", 3)),
        (EventType::Added, pod(&key("y/other"), "y/other", 4, "Pending")),
        (EventType::Modified, pod(&key("y/other"), "y/other", 5, "Running")),
        (EventType::Modified, pod(&key("y/other"), "y/other", 6, "Running")),
        (EventType::Deleted, owned("x/leaf", "x/middle", 7)),
    ];
    for (second, (event, object)) in (2..).zip(&changes) {
        recorder.change(pods, *event, &raw(object), time(second * SECOND)).unwrap();
    }
    recorder.close(time(9 * SECOND)).unwrap();
    let history = History::open(folder.path()).unwrap();
    Recorded { _folder: folder, history, pods }
}

fn key(text: &str) -> Key {
    text.parse().unwrap()
}

fn versions(recorded: &Recorded, filter: Filter) -> Vec<u64> {
    let changes = recorded.history.changes(time(SECOND)..time(9 * SECOND), filter).unwrap();
    changes.map(|change| change.unwrap().version().unwrap().to_number().unwrap()).collect()
}

#[test]
fn changes_are_filtered() {
    let recorded = recorded();
    let filtered = |filter| versions(&recorded, filter);
    assert_eq!(filtered(Filter::new()), [3, 4, 5, 6, 7]);
    assert_eq!(filtered(Filter::new().namespace("y")), [4, 5, 6]);
    assert_eq!(filtered(Filter::new().key(key("x/leaf"))), [3, 7]);
    assert_eq!(filtered(Filter::new().owner("x/owner")), [3, 7]);
    assert_eq!(filtered(Filter::new().owner("y/other")), [4, 5, 6]);
    assert_eq!(filtered(Filter::new().manager("controller-0")), [3, 6]);
    assert_eq!(filtered(Filter::new().namespace("y").changed("/status/phase")), [4, 5]);
    assert_eq!(filtered(Filter::new().namespace("y").changed("/absent")), [0; 0]);
    let ignoring = |pointers: &[&str]| {
        let filter =
            pointers.iter().fold(Filter::new().namespace("y"), |filter, pointer| filter.ignore(*pointer));
        filtered(filter)
    };
    assert_eq!(ignoring(&["/status/observed"]), [4, 5, 6], "the label changes too");
    assert_eq!(ignoring(&["/status/observed", "/metadata/labels/parity"]), [4, 5]);
}

#[test]
fn versions_have_managers_and_differences() {
    let recorded = recorded();
    let versions = recorded.history.object(recorded.pods, key("y/other")).versions().unwrap();
    let managers: Vec<_> = versions.iter().map(|version| version.manager().unwrap()).collect();
    assert_eq!(managers, ["controller-1", "controller-2", "controller-0"]);
    let values: Vec<Value> = versions.iter().map(|version| version.decode().unwrap()).collect();
    let changes: Vec<_> = diff(&values[0], &values[1]).iter().map(ToString::to_string).collect();
    assert!(changes.contains(&r#"status.phase: "Pending" -> "Running""#.to_owned()), "{changes:?}");
    let previous = versions[1].previous().unwrap().unwrap();
    assert_eq!(previous.version(), versions[0].version());
    let leaf = recorded.history.object(recorded.pods, key("x/leaf"));
    assert_eq!(leaf.versions().unwrap()[1].event(), Event::Deleted);
    assert!(leaf.at(time(3 * SECOND)).unwrap().is_some());
    assert!(leaf.at(time(6 * SECOND)).unwrap().is_none());
}

#[test]
fn a_snapshot_is_selected_by_labels_and_namespace() {
    let recorded = recorded();
    let snapshot = recorded.history.at(time(5 * SECOND)).unwrap();
    let selected = |namespace, labels: &str| {
        let labels = labels.parse().unwrap();
        let found = snapshot.select(recorded.pods, namespace, &labels);
        found.map(|version| version.unwrap().key().to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(selected(None, ""), "x/leaf x/middle x/owner y/other");
    assert_eq!(selected(Some("y"), ""), "y/other");
    assert_eq!(selected(None, "parity=even"), "x/middle y/other");
    assert_eq!(selected(Some("x"), "parity=odd,app!=leaf"), "x/owner");
    assert_eq!(snapshot.version(recorded.pods).unwrap(), Some(ResourceVersion::number(6)));
}

#[test]
fn a_replay_has_the_initial_objects_and_the_spacing_of_events() {
    let recorded = recorded();
    let replay = recorded.history.replay(time(2 * SECOND)..time(5 * SECOND));
    let kind = replay.kind("", "v1", "pods").unwrap();
    let initial = replay.initial(kind).unwrap();
    assert_eq!(initial.version, Some(ResourceVersion::number(3)));
    let keys: Vec<_> = initial.objects.iter().map(|version| version.key().to_string()).collect();
    assert_eq!(keys, ["x/leaf", "x/middle", "x/owner"]);
    let events = |replay: &kube_history::Replay, after: u64| {
        let events = replay.events(kind, Some(&ResourceVersion::number(after))).unwrap().map(Result::unwrap);
        events.map(|event| (event.event, event.delay.as_millis())).collect::<Vec<_>>()
    };
    let (added, modified) = (EventType::Added, EventType::Modified);
    assert_eq!(events(&replay, 3), [(added, 1_000), (modified, 1_000), (modified, 1_000)]);
    assert_eq!(events(&replay, 5), [(modified, 1_000)]);
    assert_eq!(events(&replay.clone().speed(4.0), 4), [(modified, 250), (modified, 250)]);
    assert_eq!(events(&replay.clone().immediate(), 3), [(added, 0), (modified, 0), (modified, 0)]);
    assert_eq!(events(&replay.clone().namespace("x"), 3), []);
    assert_eq!(replay.last_version(kind).unwrap(), Some(ResourceVersion::number(6)));
    let first = replay.clone().speed(-1.0).events(kind, None).unwrap().next().unwrap().unwrap();
    assert_eq!(first.delay, Duration::from_secs(1));
    assert!(replay.kind("", "v1", "services").is_err());
}
