//! Restores files that were written by version 0.1.

use crate::model::{Folder, header, open, options, save};
use kube_informer_saved::{Encoding, Layout, Restored, SavedState};
use kube_informer_wire::ResourceVersion;

/// Restores the state from a file of the folder `fixtures`.
fn restore(folder: &Folder, file: &[u8]) -> (SavedState, Restored) {
    std::fs::create_dir(folder.path()).unwrap();
    std::fs::write(folder.state(), file).unwrap();
    SavedState::open(folder.path(), &header(), options()).unwrap()
}

/// Describes the objects: key, uid, version, layout, encoding and bytes.
fn objects(restored: &Restored) -> Vec<(String, String, String, Layout, Encoding, String)> {
    let describe = |object: &kube_informer_saved::Object| {
        let payload = &object.payload;
        let bytes = String::from_utf8(payload.bytes().to_vec()).unwrap();
        let version = object.version.to_string();
        (object.key.to_string(), object.uid.to_string(), version, payload.layout(), payload.encoding(), bytes)
    };
    let mut objects: Vec<_> = restored.objects().iter().map(describe).collect();
    objects.sort_by(|a, b| a.0.cmp(&b.0));
    objects
}

fn object(
    key: &str,
    version: &str,
    layout: Layout,
    encoding: u32,
    bytes: &str,
) -> (String, String, String, Layout, Encoding, String) {
    (key.into(), format!("uid-of-{key}"), version.into(), layout, Encoding(encoding), bytes.into())
}

#[test]
fn restores_a_file_of_version_0_1() {
    let folder = Folder::new();
    let (saved, _) = restore(&folder, include_bytes!("fixtures/encoded.state"));
    drop(saved);
    // The first open must not have changed the file.
    assert_eq!(folder.bytes(), include_bytes!("fixtures/encoded.state"));
    let (_, restored) = open(&folder);
    let expected = [
        object("cluster-scoped", "opaque", Layout::Json, 1, ""),
        object("web/a", "5", Layout::Json, 1, "json again"),
        object("web/b", "2", Layout::Protobuf, 16, "protobuf"),
        object("web/c", "3", Layout::ProtobufItem, 16, "item"),
    ];
    assert_eq!(objects(&restored), expected);
    assert_eq!(restored.version(), Some(&ResourceVersion::number(6)));
    assert_eq!(restored.version_of("db"), Some(&"opaque".parse().unwrap()));
    let attachments: Vec<_> =
        restored.attachments().map(|id| (id, restored.attachment(id).unwrap().to_vec())).collect();
    assert_eq!(attachments, [(1, b"form".to_vec()), (2, b"5f1e".to_vec()), (16, b"dictionary".to_vec())]);
    assert_eq!(restored.truncated(), None);
}

/// Version 0.1 could compress payloads itself, although no informer did.
#[test]
fn restores_the_batches_before_compressed_records_of_version_0_1() {
    let folder = Folder::new();
    let (saved, restored) = restore(&folder, include_bytes!("fixtures/compressed.state"));
    assert_eq!(objects(&restored), [object("web/a", "1", Layout::Json, 1, "json")]);
    assert_eq!(restored.version(), Some(&ResourceVersion::number(1)));
    assert!(restored.truncated().is_some());
    save(&saved, 0);
    drop(saved);
    let (_, restored) = open(&folder);
    assert_eq!(restored.truncated(), None);
    assert_eq!(restored.version(), Some(&ResourceVersion::number(0)));
}
