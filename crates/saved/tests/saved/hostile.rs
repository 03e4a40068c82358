//! A file made to do harm takes no more memory than there are bytes in it.

use crate::{
    child,
    layout::Parts,
    model::{Folder, open, save},
};
use std::process::Stdio;

/// A number as records write it.
fn number(mut number: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
    out
}

/// An object of this key whose payload is packed, and says that it expands to `length`.
fn packed(key: &str, length: u64, bytes: &[u8]) -> Vec<u8> {
    let key_length = number(key.len() as u64);
    let parts: [&[u8]; 9] = [
        &[1],
        &key_length,
        key.as_bytes(),
        &[0],          // no uid
        &[0, 1, 0, 0], // version 1, JSON, no encoding
        &[1],
        &number(length),
        &number(bytes.len() as u64),
        bytes,
    ];
    parts.concat()
}

const COMMIT: [u8; 2] = [7, 1];

fn hostile_frames() -> Vec<Vec<u8>> {
    let huge = [u64::from(u32::MAX), 1 << 40, u64::MAX];
    let mut frames = Vec::new();
    for length in huge {
        frames.push([&[1], &number(length)[..]].concat()); // a key without end
        frames.push([&[1, 1, b'a'], &number(length)[..]].concat()); // a uid without end
        frames.push([&[4, 1], &number(length)[..]].concat()); // an attachment without end
        frames.push([&[6], &number(length)[..]].concat()); // a dictionary without end
        frames.push([packed("a", length, b"x"), COMMIT.to_vec()].concat()); // a payload that expands without end
    }
    frames.push([&[1; 64 << 10][..], &COMMIT].concat());
    frames.push(COMMIT.repeat(64 << 10));
    frames.push([&[7][..], &number(u64::MAX)].concat()); // a time that no clock shows
    frames
}

#[test]
fn stays_within_its_memory() {
    let Some(folder) = child::task() else {
        let folder = Folder::new();
        save(&open(&folder).0, 0);
        let task = folder.path().to_str().unwrap();
        let mut limited = child::command("ulimit -v 1500000;", "hostile::stays_within_its_memory", task);
        let output = limited.stderr(Stdio::piped()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        return;
    };
    let path = std::path::Path::new(&folder).join("state");
    let intact = std::fs::read(&path).unwrap();
    let check = |file: &[u8]| {
        std::fs::write(&path, file).unwrap();
        let opened =
            kube_informer_saved::Saved::open(&folder, &crate::model::header(), crate::model::options());
        let restored = opened.unwrap().1;
        assert!(restored.objects().len() < 40);
        restored.objects().iter().for_each(|object| drop(object.payload.bytes()));
    };
    for frame in hostile_frames() {
        let mut parts = Parts::of(&intact);
        parts.bodies.push(frame);
        check(&parts.to_file());
    }
    for length in [u32::MAX, 1 << 31, 66 << 20, 1 << 20] {
        check(&[&intact[..], &length.to_le_bytes(), &[0; 100]].concat());
    }
    // As large as is allowed, and a lie: it takes that much for a moment, and is known for it.
    let bombs: Vec<u8> =
        (0..16).flat_map(|number| packed(&format!("bomb-{number}"), 64 << 20, &ZEROS)).collect();
    let mut parts = Parts::of(&intact);
    parts.bodies.push([bombs, COMMIT.to_vec()].concat());
    check(&parts.to_file());
}

/// What zstd makes of some zeros.
const ZEROS: [u8; 17] =
    [0x28, 0xb5, 0x2f, 0xfd, 0x60, 0x10, 0x26, 0x4d, 0, 0, 0x08, 0, 0x01, 0, 0xfc, 0x27, 0x40];
