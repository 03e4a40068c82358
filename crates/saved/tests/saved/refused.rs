//! A state of something else is not taken for what is asked for.

use crate::model::{Folder, State, header, open, options, reopened, save};
use kube_informer_saved::{Header, OpenError, Saved};

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
fn every_field_that_differs_is_named_with_both_sides() {
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
    drop(Saved::open(folder.path(), &full(), options()).unwrap());
    for (name, here, there, other) in others {
        let error = Saved::open(folder.path(), &other, options()).unwrap_err();
        assert!(error.is_unusable());
        let text = error.to_string();
        let OpenError::Mismatch { field, saved, wanted, .. } = error else { panic!("{text}") };
        assert_eq!((field, &*saved, &*wanted), (name, here, there));
        assert!(
            text.contains(name)
                && text.contains(&format!("{here:?}"))
                && text.contains(&format!("{there:?}"))
        );
    }
    let same = full().namespaces(["b", "a"]);
    Saved::open(folder.path(), &same, options()).expect("the order of namespaces does not matter");
}

#[test]
fn who_wants_to_start_over_is_told_why() {
    let folder = Folder::new();
    save(&open(&folder).0, 0);
    let other = header().labels("a=b");
    let (saved, restored) = Saved::open(folder.path(), &other, options().start_over()).unwrap();
    assert!(restored.is_none());
    assert!(matches!(restored.refused(), Some(OpenError::Mismatch { field: "labels", .. })));
    drop(saved);
    let error = Saved::open(folder.path(), &header(), options()).unwrap_err();
    assert!(matches!(error, OpenError::Mismatch { .. }), "the old state is gone: {error:?}");
}

#[test]
fn a_newer_format_is_left_alone_unless_told() {
    let folder = Folder::new();
    save(&open(&folder).0, 0);
    let mut newer = folder.bytes();
    newer[8] = 2;
    let error = folder.open_with(&newer).unwrap_err();
    assert!(matches!(error, OpenError::Newer { found: 2, .. }), "{error:?}");
    assert!(error.to_string().contains("format 2 is newer than 1"), "{error}");
    assert_eq!(folder.bytes(), newer);
    let (_, restored) = Saved::open(folder.path(), &header(), options().start_over()).unwrap();
    assert!(matches!(restored.refused(), Some(OpenError::Newer { .. })));
}

#[test]
fn a_damaged_header_is_left_alone_unless_told() {
    let folder = Folder::new();
    save(&open(&folder).0, 0);
    let mut damaged = folder.bytes();
    damaged[20] ^= 1;
    let error = folder.open_with(&damaged).unwrap_err();
    assert!(error.to_string().contains("does not match its checksum"), "{error}");
    let (saved, restored) = Saved::open(folder.path(), &header(), options().start_over()).unwrap();
    assert!(restored.is_none());
    save(&saved, 0);
    drop(saved);
    assert_eq!(reopened(&folder), State::after(1));
}

#[test]
fn a_header_without_end_is_refused() {
    let folder = Folder::new();
    let endless = header().labels("x".repeat(2 << 20));
    assert!(matches!(Saved::open(folder.path(), &endless, options()), Err(OpenError::HeaderTooLong)));
}
