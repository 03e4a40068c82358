//! Compares random batches, reopened at random points, with a reference model.

use crate::model::{Folder, State, header, object, options};
use kube_informer_saved::{Batch, Encoding, Enqueue, Layout, Payload, SavedState, Snapshot};
use kube_informer_wire::ResourceVersion;
use proptest::{collection::vec, prelude::*};

#[derive(Clone, Debug)]
enum Step {
    Append(Vec<Change>),
    Flush,
    Replace(Vec<(u8, Vec<u8>)>),
    Reopen,
}

#[derive(Clone, Debug)]
enum Change {
    Put(u8, Vec<u8>),
    Delete(u8),
}

fn payload() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![vec(any::<u8>(), 0..40), "[a-c]{60,300}".prop_map(String::into_bytes)]
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        3 => (any::<u8>(), payload()).prop_map(|(key, bytes)| Change::Put(key % 12, bytes)),
        1 => any::<u8>().prop_map(|key| Change::Delete(key % 12)),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => vec(change(), 0..6).prop_map(Step::Append),
        2 => Just(Step::Flush),
        1 => vec((0..12_u8, payload()), 0..24).prop_map(Step::Replace),
        2 => Just(Step::Reopen),
    ]
}

fn key(number: u8) -> String {
    format!("web/pod-{number}")
}

fn append(saved: &SavedState, changes: &[Change], version: u64, state: &mut State) {
    let mut batch = Batch::new();
    for change in changes {
        match change {
            Change::Put(number, bytes) => {
                batch.put(object(&key(*number), version, bytes));
                state.put(&key(*number), version, bytes.clone());
            }
            Change::Delete(number) => {
                batch.delete(key(*number).parse().unwrap());
                state.objects.remove(&key(*number));
            }
        }
    }
    batch.version(ResourceVersion::number(version));
    state.version = Some(version);
    assert_eq!(saved.append(batch), Enqueue::Queued);
}

fn replace(saved: &SavedState, objects: &[(u8, Vec<u8>)], version: u64, state: &mut State) {
    *state = State { version: Some(version), ..State::default() };
    objects.iter().for_each(|(number, bytes)| state.put(&key(*number), version, bytes.clone()));
    let objects: Vec<_> =
        objects.iter().map(|(number, bytes)| object(&key(*number), version, bytes)).collect();
    let snapshot = Snapshot::new(objects).version(ResourceVersion::number(version));
    assert_eq!(saved.replace(snapshot), Enqueue::Queued);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn restores_the_state_of_the_reference_model(steps in vec(step(), 0..24)) {
        let folder = Folder::new();
        let options = || options().compaction_threshold(64);
        let mut saved = Some(SavedState::open(folder.path(), &header(), options()).unwrap().0);
        let mut state = State::default();
        for (version, step) in (1..).zip(&steps) {
            let open = saved.as_ref().unwrap();
            match step {
                Step::Append(changes) => append(open, changes, version, &mut state),
                Step::Flush => open.flush().unwrap(),
                Step::Replace(objects) => replace(open, objects, version, &mut state),
                Step::Reopen => {
                    saved.take().unwrap().close().unwrap();
                    let (reopened, restored) = SavedState::open(folder.path(), &header(), options()).unwrap();
                    prop_assert_eq!(State::of(&restored), state.clone());
                    prop_assert_eq!(restored.truncated(), None);
                    saved = Some(reopened);
                }
            }
        }
        drop(saved);
        let (_, restored) = SavedState::open(folder.path(), &header(), options()).unwrap();
        prop_assert_eq!(State::of(&restored), state);
    }
}

#[test]
fn restores_encodings_attachments_and_the_versions_of_sources() {
    let folder = Folder::new();
    let (saved, restored) = SavedState::open(folder.path(), &header(), options()).unwrap();
    assert!(restored.is_none());
    let mut batch = Batch::new();
    let mut own = object("web/a", 1, b"");
    let bytes = vec![b'x'; 500];
    own.payload = Payload::new(Layout::ProtobufItem, Encoding(7), bytes.clone().into());
    batch.put(own).attach(7, "dictionary".into()).attach(8, "gone".into()).detach(8);
    batch.version_of("web", "12".parse().unwrap()).version_of("db", "opaque".parse().unwrap());
    assert_eq!(saved.append(batch), Enqueue::Queued);
    saved.close().unwrap();

    for _ in 0..2 {
        let (_, restored) = SavedState::open(folder.path(), &header(), options()).unwrap();
        let payload = &restored.objects()[0].payload;
        assert_eq!((payload.layout(), payload.encoding()), (Layout::ProtobufItem, Encoding(7)));
        assert_eq!((&payload.bytes()[..], payload.size()), (&bytes[..], 500));
        assert_eq!(restored.attachment(7).unwrap(), "dictionary");
        assert_eq!(restored.attachment(8), None);
        assert_eq!(restored.version(), None);
        let versions: Vec<_> =
            restored.versions().map(|(source, version)| format!("{source}={version}")).collect();
        assert_eq!(versions, ["db=opaque", "web=12"]);
    }
}

#[test]
fn reports_the_age_of_the_state() {
    let folder = Folder::new();
    let before = std::time::SystemTime::now() - std::time::Duration::from_millis(1);
    let (saved, _) = SavedState::open(folder.path(), &header(), options()).unwrap();
    append(&saved, &[], 1, &mut State::default());
    saved.close().unwrap();
    let (_, restored) = SavedState::open(folder.path(), &header(), options()).unwrap();
    let now = std::time::SystemTime::now();
    assert!(restored.saved_at().unwrap() >= before);
    assert!(restored.age(now).unwrap() <= now.duration_since(before).unwrap());
}
