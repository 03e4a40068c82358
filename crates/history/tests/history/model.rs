//! Random histories are compared with a plain model.

use crate::fixture::{Model, SEGMENT, State, pod, raw, temp_folder, time};
use kube_history::{
    Event, Filter, History, Kind, KindId, List, Recorder, RecorderOptions, Snapshot, Source, Transition,
    Version,
};
use kube_informer_wire::{EventType, Key, ManagedFields, Raw, ResourceVersion};
use serde_json::Value;
use std::collections::BTreeMap;
use testkit::{Random, TempFolder};

/// A server with two kinds, a recorder and the expected history.
struct Simulation {
    folder: TempFolder,
    random: Random,
    recorder: Option<Recorder>,
    kinds: [KindId; 2],
    /// The state of the server, of which the recorder may have missed changes.
    server: [State; 2],
    /// Whether the watch of a kind is lost.
    is_lost: [bool; 2],
    models: [Model; 2],
    now: i64,
    version: u64,
    /// The number of changes that earlier recorders have recorded.
    changes: u64,
}

fn options() -> RecorderOptions {
    RecorderOptions::default().segment_size(20_000).memory(8_000)
}

fn kind(index: usize) -> Kind {
    [Kind::new("", "v1", "Pod", "pods"), Kind::new("apps", "v1", "Deployment", "deployments")][index].clone()
}

impl Simulation {
    fn new(seed: u64) -> Self {
        let folder = temp_folder();
        let mut recorder = Recorder::open(folder.path(), options(), time(0)).unwrap();
        let kinds = [0, 1].map(|index| recorder.add_kind(kind(index), time(0)).unwrap());
        let mut simulation = Self {
            folder,
            random: Random::new(seed),
            recorder: Some(recorder),
            kinds,
            server: Default::default(),
            is_lost: [true, true],
            models: Default::default(),
            now: 0,
            version: 1,
            changes: 0,
        };
        simulation.list(0);
        simulation.list(1);
        simulation
    }

    fn recorder(&mut self) -> &mut Recorder {
        self.recorder.as_mut().unwrap()
    }

    fn step(&mut self) {
        // Often several changes at the same time.
        self.now += [0, 1, 50, 1_000_000][self.random.below(4) as usize];
        let index = self.random.below(2) as usize;
        match self.random.below(200) {
            0..3 => self.restart(),
            3..6 => {
                self.is_lost[index] = true;
                let (kind, now) = (self.kinds[index], time(self.now));
                self.recorder().watch_lost(kind, None, "watch closed", now).unwrap();
            }
            6..20 if self.is_lost[index] => self.list(index),
            20..40 => {
                let now = time(self.now);
                self.recorder().flush(now).unwrap();
            }
            _ => self.change(index),
        }
    }

    fn change(&mut self, index: usize) {
        self.version += 1 + self.random.below(3);
        let number = self.random.below(40);
        let key: Key = format!("ns-{}/object-{number}", number % 3).parse().unwrap();
        let existing = self.server[index].get(&key).cloned();
        let (event, object) = match existing {
            Some(mut object) if self.random.below(8) == 0 => {
                self.server[index].remove(&key);
                object["metadata"]["resourceVersion"] = self.version.to_string().into();
                (EventType::Deleted, object)
            }
            existing => {
                let uid = existing
                    .as_ref()
                    .and_then(|object| object["metadata"]["uid"].as_str())
                    .map(str::to_owned);
                let uid = uid.unwrap_or_else(|| format!("uid-{}", self.version));
                let phase = ["Pending", "Running", "Failed"][self.random.below(3) as usize];
                let object = pod(&key, &uid, self.version, phase);
                self.server[index].insert(key, object.clone());
                (if existing.is_some() { EventType::Modified } else { EventType::Added }, object)
            }
        };
        if self.is_lost[index] {
            return;
        }
        let (kind, now) = (self.kinds[index], time(self.now));
        self.recorder().change(kind, event, &raw(&object), now).unwrap();
        self.models[index].record(self.now, &self.server[index]);
    }

    /// Lists a kind, which ends its gap.
    fn list(&mut self, index: usize) {
        self.is_lost[index] = false;
        let objects: Vec<_> = self.server[index].values().map(raw).collect();
        let version = Some(ResourceVersion::number(self.version));
        let (list, now) =
            (List { kind: self.kinds[index], namespace: None, version, objects }, time(self.now));
        self.recorder().list(list, now).unwrap();
        self.models[index].record(self.now, &self.server[index]);
    }

    /// Stops the recorder after a flush, and starts another one.
    fn restart(&mut self) {
        let now = time(self.now);
        let recorder = self.recorder.take().unwrap();
        self.changes += recorder.statistics().changes;
        recorder.close(now).unwrap();
        let mut recorder = Recorder::open(self.folder.path(), options(), now).unwrap();
        self.kinds = [0, 1].map(|index| recorder.add_kind(kind(index), now).unwrap());
        self.recorder = Some(recorder);
        self.is_lost = [true, true];
    }
}

/// Compares the versions of all objects, and the content of some.
fn check_state(snapshot: &Snapshot, kind: KindId, expected: &State, random: &mut Random) {
    let found: Vec<_> = snapshot.list(kind, None).map(Result::unwrap).collect();
    let versions: BTreeMap<_, _> =
        found.iter().map(|v| (v.key(), v.version().unwrap().to_string())).collect();
    let version =
        |object: &serde_json::Value| object["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    let expected_versions: BTreeMap<_, _> =
        expected.iter().map(|(key, object)| (key, version(object))).collect();
    assert_eq!(versions, expected_versions, "at {}", snapshot.time());
    for version in found.iter().filter(|_| random.below(8) == 0) {
        assert_eq!(version.decode::<serde_json::Value>().unwrap(), expected[version.key()]);
    }
}

/// Compares the history with the model at random moments, and returns the number of segments.
fn check(simulation: &mut Simulation, moments: u64) -> usize {
    let now = time(simulation.now);
    simulation.recorder().flush(now).unwrap();
    let history = History::open(simulation.folder.path()).unwrap();
    let keys = simulation.kinds.map(|kind| history.keys(kind).unwrap());
    for _ in 0..moments {
        let moment = i64::try_from(simulation.random.below(simulation.now as u64 + 2)).unwrap();
        let snapshot = history.at(time(moment)).unwrap();
        for index in [0, 1] {
            let expected = simulation.models[index].at(moment);
            let kind = simulation.kinds[index];
            check_state(&snapshot, kind, &expected, &mut simulation.random);
            for key in &keys[index] {
                if simulation.random.below(50) == 0 {
                    let object = history.object(kind, key.clone()).at(time(moment)).unwrap();
                    let object = object.map(|version| version.decode::<serde_json::Value>().unwrap());
                    assert_eq!(object.as_ref(), expected.get(key), "{key} at {}", time(moment));
                }
            }
        }
    }
    simulation.folder.files(SEGMENT).len()
}

#[test]
fn every_moment_equals_the_model() {
    // 10,000 random moments of eight histories.
    let mut segments = 0;
    for seed in 1..=8 {
        let mut simulation = Simulation::new(seed);
        for _ in 0..2_000 {
            simulation.step();
        }
        segments += check(&mut simulation, 1_250);
    }
    assert!(segments > 12, "{segments} segments");
}

#[test]
fn changes_lead_from_one_moment_to_another() {
    let mut simulation = Simulation::new(77);
    for _ in 0..2_000 {
        simulation.step();
    }
    let now = time(simulation.now);
    simulation.recorder().flush(now).unwrap();
    let history = History::open(simulation.folder.path()).unwrap();
    let mut total = 0;
    for round in 0..60 {
        let limit = simulation.now as u64 + 1;
        let mut ends = [simulation.random.below(limit), simulation.random.below(limit)].map(|end| end as i64);
        if round == 0 {
            ends = [-1, simulation.now];
        }
        ends.sort_unstable();
        let [from, to] = ends;
        let index = usize::from(round % 2 == 1);
        let mut state = simulation.models[index].at(from);
        for change in
            history.changes(time(from)..time(to), Filter::new().kind(simulation.kinds[index])).unwrap()
        {
            let change = change.unwrap();
            assert!(time(from) < change.time() && change.time() <= time(to));
            let known = state.contains_key(change.key());
            match change.event() {
                Event::Added => assert!(!known),
                Event::Modified => assert!(known),
                Event::Deleted => assert!(known),
                Event::Checkpoint => panic!("a checkpoint is not a change"),
            }
            match change.event() {
                Event::Deleted => state.remove(change.key()),
                _ => state.insert(change.key().clone(), change.decode().unwrap()),
            };
        }
        assert!(state == simulation.models[index].at(to), "from {from} to {to}");
        total += 1;
    }
    assert_eq!(total, 60);
    let all = history.changes(time(-1)..time(simulation.now), Filter::new()).unwrap();
    let recorded = simulation.changes + simulation.recorder().statistics().changes;
    assert_eq!(all.count() as u64, recorded);
}

#[test]
fn the_versions_of_an_object_are_its_changes() {
    let mut simulation = Simulation::new(5);
    for _ in 0..2_000 {
        simulation.step();
    }
    let now = time(simulation.now);
    simulation.recorder().flush(now).unwrap();
    let history = History::open(simulation.folder.path()).unwrap();
    let mut expected: BTreeMap<(KindId, Key), Vec<_>> = BTreeMap::new();
    for change in history.changes(time(-1)..time(simulation.now), Filter::new()).unwrap() {
        let change = change.unwrap();
        let versions = expected.entry((change.kind_id(), change.key().clone())).or_default();
        versions.push((change.time(), change.event(), change.version().cloned(), change.uid().to_owned()));
    }
    assert!(expected.len() > 60);
    // Without complete indexes, only the parts of one object are read.
    let without_indexes = History::open(simulation.folder.path()).unwrap();
    for ((kind, key), expected) in expected {
        let versions = history.object(kind, key.clone()).versions().unwrap();
        let found = |versions: &[Version]| -> Vec<_> {
            let parts = |v: &Version| (v.time(), v.event(), v.version().cloned(), v.uid().to_owned());
            versions.iter().map(parts).collect()
        };
        assert_eq!(found(&versions), expected, "{key}");
        let partly_read = without_indexes.object(kind, key.clone()).versions().unwrap();
        assert_eq!(found(&partly_read), expected, "{key}");
        for (one, other) in versions.iter().zip(&partly_read) {
            let contents = |version: &Version| version.decode::<serde_json::Value>().unwrap();
            assert_eq!(contents(one), contents(other), "{key}");
            let previous = |version: &Version| version.previous().unwrap().map(|before| contents(&before));
            assert_eq!(previous(one), previous(other), "{key}");
        }
        let sources = versions.iter().filter(|version| version.source() == Source::List);
        assert!(sources.count() < versions.len());
    }
}

#[test]
fn transitions_have_the_states_before_and_after_each_change() {
    for seed in 20..22 {
        let mut simulation = Simulation::new(seed);
        for _ in 0..2_000 {
            simulation.step();
        }
        let now = time(simulation.now);
        simulation.recorder().flush(now).unwrap();
        let history = History::open(simulation.folder.path()).unwrap();
        let parts = |version: &Version| {
            (
                version.time(),
                version.event(),
                version.source(),
                version.key().clone(),
                version.version().cloned(),
            )
        };
        let decode = |state: &Raw| state.decode::<Value>(ManagedFields::Keep).unwrap();
        for round in 0..10 {
            let limit = simulation.now as u64 + 1;
            let mut ends = [0, 1].map(|_| i64::try_from(simulation.random.below(limit)).unwrap());
            ends.sort_unstable();
            let [from, to] = if round == 0 { [-1, simulation.now] } else { ends };
            let range = time(from)..time(to);
            let changes = history.changes(range.clone(), Filter::new()).unwrap().map(Result::unwrap);
            let expected: Vec<_> = changes
                .map(|version| {
                    let before = version.previous().unwrap().map(|before| before.decode::<Value>().unwrap());
                    (parts(&version), before, version.decode::<Value>().ok())
                })
                .collect();
            let read = |change: Transition<'_>| {
                (parts(change.version), change.before.map(decode), change.after.map(decode))
            };
            let (mut found, mut batches) = (Vec::new(), 0);
            history
                .read_transitions(range, read, |batch| {
                    batches += 1;
                    found.extend(batch);
                })
                .unwrap();
            assert_eq!(found.len(), expected.len(), "seed {seed} round {round}");
            for (found, expected) in found.iter().zip(&expected) {
                assert_eq!(found, expected, "seed {seed} round {round}");
            }
            assert!(round > 0 || batches > 1, "{batches} batches");
        }
    }
}
