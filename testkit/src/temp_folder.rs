//! A folder of one test.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

/// A path for a folder, which is removed with its contents when this is dropped. The test creates the folder.
#[derive(Debug)]
pub struct TempFolder(PathBuf);

impl TempFolder {
    /// Returns a path that no other test uses, below the folder for temporary files.
    #[must_use]
    pub fn new(name: &str) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("{name}-{}-{number}", std::process::id()));
        // An earlier process may have had the same id, and may have been killed.
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }

    /// Returns the path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the files with an extension in the order of their names.
    #[must_use]
    pub fn files(&self, extension: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut files: Vec<_> =
            entries.filter(|path| path.extension().is_some_and(|found| found == extension)).collect();
        files.sort();
        files
    }
}

impl AsRef<Path> for TempFolder {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        // The test may have removed it.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_differ_and_are_removed() {
        let folders = [TempFolder::new("testkit"), TempFolder::new("testkit")];
        assert_ne!(folders[0].path(), folders[1].path());
        let path = folders[0].path().to_owned();
        fs::create_dir(&path).expect("it does not exist");
        for name in ["b.log", "a.log", "a.txt"] {
            fs::write(path.join(name), "").expect("the folder exists");
        }
        assert_eq!(folders[0].files("log"), [path.join("a.log"), path.join("b.log")]);
        drop(folders);
        assert!(!path.exists());
    }
}
