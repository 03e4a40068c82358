//! A state is only restored for an equal header and a supported format.

use crate::model::{Folder, State, header, open, options, reopened, save};
use kube_informer_saved::{Header, OpenError, SavedState};

fn full() -> Header {
    Header::new("apps", "v1", "deployments")
        .cluster("c1")
        .namespaces(["a", "b"])
        .labels("tier=front")
        .fields("spec.nodeName=n1")
        .transform("slim-2")
        .shard("1/2")
}

#[test]
fn reports_each_field_that_differs_with_both_values() {
    let with = |change: fn(&mut Header)| {
        let mut header = full();
        change(&mut header);
        header
    };
    let others = [
        ("cluster", "c1", "c2", full().cluster("c2")),
        ("cluster", "c1", "", with(|header| header.cluster = None)),
        ("group", "apps", "batch", with(|header| header.group = "batch".into())),
        ("version", "v1", "v2", with(|header| header.version = "v2".into())),
        ("plural", "deployments", "jobs", with(|header| header.plural = "jobs".into())),
        ("namespaces", "a,b", "a", full().namespaces(["a"])),
        ("labels", "tier=front", "", full().labels("")),
        ("fields", "spec.nodeName=n1", "spec.nodeName=n2", full().fields("spec.nodeName=n2")),
        ("transform", "slim-2", "slim-3", full().transform("slim-3")),
        ("shard", "1/2", "2/2", full().shard("2/2")),
    ];
    let folder = Folder::new();
    drop(SavedState::open(folder.path(), &full(), options()).unwrap());
    for (name, old, new, other) in others {
        let error = SavedState::open(folder.path(), &other, options()).unwrap_err();
        assert!(error.is_unusable());
        let text = error.to_string();
        let OpenError::Mismatch { field, saved, expected, .. } = error else { panic!("{text}") };
        assert_eq!((field, &*saved, &*expected), (name, old, new));
        assert!(
            text.contains(name) && text.contains(&format!("{old:?}")) && text.contains(&format!("{new:?}"))
        );
    }
    let same = full().namespaces(["b", "a"]);
    SavedState::open(folder.path(), &same, options()).expect("the order of namespaces does not matter");
}

#[test]
fn start_over_reports_why_the_state_was_discarded() {
    let folder = Folder::new();
    save(&open(&folder).0, 0);
    let other = header().labels("a=b");
    let (saved, restored) = SavedState::open(folder.path(), &other, options().start_over()).unwrap();
    assert!(restored.is_none());
    assert!(matches!(restored.discarded(), Some(OpenError::Mismatch { field: "labels", .. })));
    drop(saved);
    let error = SavedState::open(folder.path(), &header(), options()).unwrap_err();
    assert!(matches!(error, OpenError::Mismatch { .. }), "the old state is gone: {error:?}");
}

#[test]
fn keeps_a_file_of_a_newer_format_unless_starting_over() {
    let folder = Folder::new();
    save(&open(&folder).0, 0);
    let mut newer = folder.bytes();
    newer[8] = 2;
    let error = folder.open_with(&newer).unwrap_err();
    assert!(matches!(error, OpenError::UnsupportedFormat { found: 2, .. }), "{error:?}");
    assert!(error.to_string().contains("unsupported format 2, expected 1"), "{error}");
    assert_eq!(folder.bytes(), newer);
    let (_, restored) = SavedState::open(folder.path(), &header(), options().start_over()).unwrap();
    assert!(matches!(restored.discarded(), Some(OpenError::UnsupportedFormat { .. })));
}

#[test]
fn keeps_a_file_with_a_corrupt_header_unless_starting_over() {
    let folder = Folder::new();
    save(&open(&folder).0, 0);
    let mut damaged = folder.bytes();
    damaged[20] ^= 1;
    let error = folder.open_with(&damaged).unwrap_err();
    assert!(error.to_string().contains("checksum mismatch in the header"), "{error}");
    let (saved, restored) = SavedState::open(folder.path(), &header(), options().start_over()).unwrap();
    assert!(restored.is_none());
    save(&saved, 0);
    drop(saved);
    assert_eq!(reopened(&folder), State::after(1));
}

#[test]
fn rejects_a_header_that_is_too_long() {
    let folder = Folder::new();
    let too_long = header().labels("x".repeat(2 << 20));
    assert!(matches!(SavedState::open(folder.path(), &too_long, options()), Err(OpenError::HeaderTooLong)));
}
