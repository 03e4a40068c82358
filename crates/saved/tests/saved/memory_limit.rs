//! Opening a malicious file never allocates more memory than the size of the file.

use crate::{
    file_parts::FileParts,
    model::{Folder, open, save},
    subprocess,
};
use std::process::Stdio;

/// Encodes a number as LEB128.
fn number(mut number: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
    out
}

const COMMIT: [u8; 2] = [7, 1];

fn malicious_frames() -> Vec<Vec<u8>> {
    let huge = [u64::from(u32::MAX), 1 << 40, u64::MAX];
    let mut frames = Vec::new();
    for length in huge {
        frames.push([&[1], &number(length)[..]].concat()); // key
        frames.push([&[1, 1, b'a'], &number(length)[..]].concat()); // uid
        frames.push([&[1, 1, b'a', 0, 0, 1, 0, 0, 0], &number(length)[..]].concat()); // payload
        frames.push([&[4, 1], &number(length)[..]].concat()); // attachment
    }
    frames.push([&[1; 64 << 10][..], &COMMIT].concat());
    frames.push(COMMIT.repeat(64 << 10));
    frames.push([&[7][..], &number(u64::MAX)].concat()); // overflowing time
    frames
}

#[test]
fn opens_malicious_files_within_the_memory_limit() {
    let Some(folder) = subprocess::task() else {
        let folder = Folder::new();
        save(&open(&folder).0, 0);
        let task = folder.path().to_str().unwrap();
        let mut limited = subprocess::command(
            "ulimit -v 1500000;",
            "memory_limit::opens_malicious_files_within_the_memory_limit",
            task,
        );
        let output = limited.stderr(Stdio::piped()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        return;
    };
    let path = std::path::Path::new(&folder).join("state");
    let original = std::fs::read(&path).unwrap();
    let check = |file: &[u8]| {
        std::fs::write(&path, file).unwrap();
        let opened =
            kube_informer_saved::SavedState::open(&folder, &crate::model::header(), crate::model::options());
        let restored = opened.unwrap().1;
        assert!(restored.objects().len() < 40);
    };
    for frame in malicious_frames() {
        let mut parts = FileParts::of(&original);
        parts.bodies.push(frame);
        check(&parts.to_file());
    }
    for length in [u32::MAX, 1 << 31, 66 << 20, 1 << 20] {
        check(&[&original[..], &length.to_le_bytes(), &[0; 100]].concat());
    }
}
