//! Histories from untrusted files.

use jiff::Timestamp;
use kube_history::{Event, Filter, History, Kind, List, Recorder, RecorderOptions};
use kube_informer_wire::{Format, Key, Raw, ResourceVersion};
use serde_json::Value;
use std::{cell::OnceCell, fs, path::PathBuf, time::Duration};
use twox_hash::XxHash3_64;

/// A folder of this process, with the preamble of its segment.
struct Folder {
    path: PathBuf,
    preamble: Vec<u8>,
    /// A segment with an object, and the part of its index without objects.
    recorded: Vec<u8>,
    head: Vec<u8>,
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
        let seed = folder.seed() ^ (PREAMBLE as u64).rotate_left(24);
        let length = u32::try_from(data.len()).expect("input is small").to_le_bytes();
        let head = XxHash3_64::oneshot_with_seed(seed, &length).to_le_bytes();
        let body = XxHash3_64::oneshot_with_seed(seed, data).to_le_bytes();
        folder.write(&[&folder.preamble, &length[..], &head[..4], &body, data].concat());
        check(folder);
    });
}

/// The input is a part of the index file, with valid checksums: first everything but the objects, then an object.
pub(crate) fn indexes(data: &[u8]) {
    with_folder(|folder| {
        for (head, objects) in [(data, &[][..]), (&folder.head[..], &[data][..])] {
            folder.write(&folder.recorded);
            fs::write(folder.path.join(INDEX), folder.index(head, objects)).expect("the folder is there");
            read_all(folder);
            // The recorder does not use the index, but scans the segment.
            let now = Timestamp::from_second(2_000_000_000).expect("in range");
            let recorder = Recorder::open(&folder.path, RecorderOptions::default(), now);
            recorder.expect("the segment is intact").flush(now).expect("the folder can be written");
        }
    });
}

fn with_folder(work: impl FnOnce(&Folder)) {
    FOLDER.with(|folder| work(folder.get_or_init(Folder::new)));
}

/// Reads everything in all ways. Errors are allowed, panics are not.
fn read_all(folder: &Folder) {
    if let Ok(history) = History::open(&folder.path) {
        // With the objects that are needed only, then with all.
        if let Ok(pods) = history.kind("pods") {
            let _ = history.object(pods, Key::new(Some("b"), "a").expect("a valid key")).versions();
        }
        read(&history);
    }
}

/// Reads everything, and continues to record.
fn check(folder: &Folder) {
    read_all(folder);
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
        let later = Timestamp::from_second(1_800_000_100).expect("in range");
        // The second flush starts a segment, which stores the index of the first.
        let options = RecorderOptions::default().segment_age(Duration::from_secs(10));
        let mut recorder = Recorder::open(&path, options, now).expect("a new folder");
        let kind = recorder.add_kind(Kind::new("", "v1", "Pod", "pods"), now).expect("a valid kind");
        let pod = r#"{"metadata":{"name":"a","namespace":"b","uid":"c","resourceVersion":"7"}}"#;
        let objects = [Raw::new(Format::Json, pod.into())];
        let list = List { kind, namespace: None, version: Some(ResourceVersion::number(7)), objects };
        recorder.list(list, now).expect("a valid object");
        recorder.flush(later).expect("the folder can be written");
        drop(recorder);
        let recorded = fs::read(path.join(SEGMENT)).expect("there is a segment");
        let index = fs::read(path.join(INDEX)).expect("there is an index");
        let length = u64::from_le_bytes(index[8..16].try_into().expect("it has 8 bytes"));
        let end = INDEX_PREFIX + usize::try_from(length).expect("it is small");
        let head = index[INDEX_PREFIX..end].to_vec();
        Self { path, preamble: recorded[..PREAMBLE].to_vec(), recorded, head }
    }

    fn seed(&self) -> u64 {
        u64::from_le_bytes(self.preamble[SEED..SEED + 8].try_into().expect("it has 8 bytes"))
    }

    /// Returns an index file with these parts and valid checksums.
    fn index(&self, head: &[u8], objects: &[&[u8]]) -> Vec<u8> {
        let checksum = |seed: u64, position: u64, bytes: &[u8]| {
            XxHash3_64::oneshot_with_seed(seed ^ position.rotate_left(24), bytes)
        };
        let mut prefix = b"KHISTIX3".to_vec();
        prefix.extend((head.len() as u64).to_le_bytes());
        prefix.extend((objects.len() as u64).to_le_bytes());
        let mut first = head.to_vec();
        let mut second = Vec::new();
        let start = INDEX_PREFIX + head.len() + 16 * objects.len();
        for object in objects {
            let position = (start + second.len()) as u64;
            let hash = XxHash3_64::oneshot_with_seed(self.seed() ^ 1, b"b/a");
            first.extend(hash.to_le_bytes());
            first.extend(position.to_le_bytes());
            second.extend(u32::try_from(object.len()).expect("input is small").to_le_bytes());
            second.extend(checksum(self.seed(), position, object).to_le_bytes());
            second.extend(*object);
        }
        let of_prefix = checksum(self.seed(), 0, &prefix);
        prefix.extend(checksum(of_prefix, INDEX_PREFIX as u64, &first).to_le_bytes());
        [prefix, first, second].concat()
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
const INDEX: &str = "000000000001.index";
/// The size of the start of an index file.
const INDEX_PREFIX: usize = 32;

impl Drop for Folder {
    fn drop(&mut self) {
        // Remaining files in the temporary directory are harmless.
        let _ = fs::remove_dir_all(&self.path);
    }
}
