//! Saved states from untrusted files.

use kube_informer_saved::{Header, Options, Restored, SavedState};
use std::{cell::OnceCell, fs, path::PathBuf, time::Duration};
use twox_hash::XxHash3_64;

/// A directory of this process, and the header of a new file.
struct Folder {
    path: PathBuf,
    preamble: Vec<u8>,
}

thread_local! {
    static FOLDER: OnceCell<Folder> = const { OnceCell::new() };
}

/// The input is the contents of a file.
pub(crate) fn files(data: &[u8]) {
    with_folder(|folder| {
        if let Some(first) = folder.restore(data) {
            // Opening truncates unreadable parts, so that later results are the same.
            let (saved, again) = folder.open().expect("it was opened before");
            drop(saved);
            assert_eq!(state(&again), state(&first));
            assert!(again.truncated().is_none(), "the rest is gone");
        }
    });
}

/// The input is the contents of one frame, in a file with valid checksums.
pub(crate) fn records(data: &[u8]) {
    with_folder(|folder| {
        let preamble = &folder.preamble;
        let header = u32::from_le_bytes(number(&preamble[12..16])) as usize;
        let seed = u64::from_le_bytes(number(&preamble[16 + header..24 + header]));
        let seed = seed ^ (preamble.len() as u64).rotate_left(24) ^ data.len() as u64;
        let length = u32::try_from(data.len()).expect("input is small");
        let hash = XxHash3_64::oneshot_with_seed(seed, data);
        let file = [preamble, &length.to_le_bytes()[..], &hash.to_le_bytes(), data].concat();
        let restored = folder.restore(&file).expect("the header is right");
        for object in restored.objects() {
            let _ = object.payload.bytes();
        }
    });
}

fn number<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("it has this length")
}

fn with_folder(work: impl FnOnce(&Folder)) {
    FOLDER.with(|folder| work(folder.get_or_init(Folder::new)));
}

fn state(restored: &Restored) -> Vec<String> {
    let object = |object: &kube_informer_saved::Object| {
        let bytes = object.payload.bytes();
        format!("{} {} {} {:?}", object.key, object.uid, object.version, bytes)
    };
    let mut state: Vec<_> = restored.objects().iter().map(object).collect();
    state.sort_unstable();
    state.push(format!("{:?}", restored.version()));
    state
}

impl Folder {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("fuzz-saved-{}", std::process::id()));
        let mut folder = Self { path, preamble: Vec::new() };
        drop(folder.open().expect("a new folder can be opened"));
        folder.preamble = fs::read(folder.file()).expect("there is a file");
        folder
    }

    fn file(&self) -> PathBuf {
        self.path.join("state")
    }

    fn open(&self) -> Option<(SavedState, Restored)> {
        let options = Options::default().flush_interval(Duration::from_secs(3600));
        SavedState::open(&self.path, &Header::new("", "v1", "pods").cluster("5f1e"), options).ok()
    }

    /// Restores a file with these bytes; `None` if it is rejected.
    fn restore(&self, file: &[u8]) -> Option<Restored> {
        fs::write(self.file(), file).expect("the folder is there");
        self.open().map(|(_, restored)| restored)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Remaining files in the temporary directory are harmless.
        let _ = fs::remove_dir_all(&self.path);
    }
}
