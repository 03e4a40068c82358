//! Histories from untrusted files.

use jiff::Timestamp;
use kube_history::{Event, Filter, History, Kind, Recorder, RecorderOptions};
use serde_json::Value;
use std::{cell::OnceCell, fs, path::PathBuf};
use twox_hash::XxHash3_64;

/// A folder of this process, and the preamble of its segment.
struct Folder {
    path: PathBuf,
    preamble: Vec<u8>,
}

thread_local! {
    static FOLDER: OnceCell<Folder> = const { OnceCell::new() };
}

/// The position of the seed in the preamble, and the size of the preamble.
const SEED: usize = 20;
const PREAMBLE: usize = 44;

/// The input is the contents of a segment. Reading it never panics, and a recorder can continue after it.
pub(crate) fn files(data: &[u8]) {
    with_folder(|folder| {
        folder.write(data);
        check(folder);
    });
}

/// The input is the body of one frame, in a segment with valid checksums.
pub(crate) fn records(data: &[u8]) {
    with_folder(|folder| {
        let seed = u64::from_le_bytes(folder.preamble[SEED..SEED + 8].try_into().expect("it has 8 bytes"));
        let seed = seed ^ (PREAMBLE as u64).rotate_left(24);
        let length = u32::try_from(data.len()).expect("input is small").to_le_bytes();
        let head = XxHash3_64::oneshot_with_seed(seed, &length).to_le_bytes();
        let body = XxHash3_64::oneshot_with_seed(seed, data).to_le_bytes();
        folder.write(&[&folder.preamble, &length[..], &head[..4], &body, data].concat());
        check(folder);
    });
}

fn with_folder(work: impl FnOnce(&Folder)) {
    FOLDER.with(|folder| work(folder.get_or_init(Folder::new)));
}

/// Reads everything in all ways. Errors are allowed, panics are not.
fn check(folder: &Folder) {
    if let Ok(history) = History::open(&folder.path) {
        read(&history);
    }
    let now = Timestamp::from_second(2_000_000_000).expect("in range");
    if let Ok(mut recorder) = Recorder::open(&folder.path, RecorderOptions::default(), now) {
        let _ = recorder.add_kind(Kind::new("", "v1", "Pod", "pods"), now);
        recorder.flush(now).expect("the folder can be written");
        drop(recorder);
        let history = History::open(&folder.path).expect("a recorder has written to it");
        history.kind("pods").expect("the recorder has added it");
    }
}

fn read(history: &History) {
    let (Ok(kinds), Ok(span), Ok(_)) = (history.kinds(), history.span(), history.gaps()) else { return };
    let _ = history.clock_steps();
    if let Ok(recorded) = history.changes(Timestamp::MIN..Timestamp::MAX, Filter::new()) {
        for change in recorded {
            let Ok(change) = change else { continue };
            assert_ne!(change.event(), Event::Checkpoint, "a checkpoint is not a change");
            let _ = (change.decode::<Value>(), change.previous());
        }
    }
    for (kind, _) in kinds {
        for moment in [span.start, span.end, Timestamp::MAX] {
            let Ok(snapshot) = history.at(moment) else { continue };
            for key in snapshot.keys(kind) {
                // A key of the snapshot has a version, unless its record is damaged.
                let _ = snapshot.get(kind, key).map(|found| found.map(|version| version.decode::<Value>()));
            }
            let _ = snapshot.version(kind);
        }
        for key in history.keys(kind).unwrap_or_default() {
            let _ = history.object(kind, key).versions();
        }
    }
}

impl Folder {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("fuzz-history-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        let now = Timestamp::from_second(1_800_000_000).expect("in range");
        let recorder = Recorder::open(&path, RecorderOptions::default(), now).expect("a new folder");
        drop(recorder);
        let mut preamble = fs::read(path.join(SEGMENT)).expect("there is a segment");
        preamble.truncate(PREAMBLE);
        Self { path, preamble }
    }

    /// Makes these bytes the only segment.
    fn write(&self, bytes: &[u8]) {
        for entry in fs::read_dir(&self.path).expect("the folder is there").flatten() {
            fs::remove_file(entry.path()).expect("nobody else uses it");
        }
        fs::write(self.path.join(SEGMENT), bytes).expect("the folder is there");
    }
}

const SEGMENT: &str = "000000000001.segment";

impl Drop for Folder {
    fn drop(&mut self) {
        // Remaining files in the temporary directory are harmless.
        let _ = fs::remove_dir_all(&self.path);
    }
}
