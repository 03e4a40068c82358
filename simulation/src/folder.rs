//! The folder of a saved cache, and damage to it.

use crate::action::{Damage, FilePosition};
use kube_informer::informer::Save;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

/// A folder that is deleted when this is dropped.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    names_cluster: bool,
    /// Part of the identity of the saved cache: another number is another resource.
    number: u64,
    /// The damage since the folder was last read.
    pub(crate) damage: Damage,
    /// The minimum version of the saved state.
    pub(crate) version: u64,
}

/// The names of the file of a state, and of a new file until it is complete.
const STATE: &str = "state";
const NEXT: &str = "state.next";

impl Folder {
    /// Returns a path that does not exist yet, in memory if `/dev/shm` exists.
    pub(crate) fn new(names_cluster: bool) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let made = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("kube-informer-simulation-{}-{made}", std::process::id()));
        Self { path, names_cluster, number: 0, damage: Damage::None, version: 0 }
    }

    /// Returns the options that save a cache here.
    pub(crate) fn save(&self) -> Save {
        let save = Save::in_folder(&self.path).transform(format!("v{}", self.number));
        if self.names_cluster { save.cluster("simulated") } else { save }
    }

    /// Returns a copy, as a process that is killed now leaves it.
    pub(crate) fn killed(&self) -> Self {
        let mut copy = Self::new(self.names_cluster);
        (copy.number, copy.version) = (self.number, self.version);
        copy_below(&self.path, &copy.path);
        copy
    }

    /// Damages the files.
    pub(crate) fn damage_files(&mut self, damage: Damage) {
        self.damage = damage;
        match damage {
            Damage::None => {}
            Damage::OtherResource => self.number += 1,
            Damage::Truncated(position) => self.rewrite(position, |content, at| content.truncate(at)),
            Damage::Flipped(position) => self.rewrite(position, |content, at| {
                if let Some(byte) = content.get_mut(at) {
                    *byte ^= 0x10;
                }
            }),
            Damage::Unfinished(position) => {
                for (file, content) in self.states() {
                    let part = &content[..position.within(content.len())];
                    fs::write(file.with_file_name(NEXT), part).expect("the file can be written");
                }
            }
        }
    }

    /// Deletes the folder.
    pub(crate) fn clear(&self) {
        let _ = fs::remove_dir_all(&self.path);
    }

    fn rewrite(&self, position: FilePosition, change: impl FnOnce(&mut Vec<u8>, usize)) {
        let mut states = self.states();
        if states.is_empty() {
            return;
        }
        let (file, content) = &mut states.remove(position.file as usize % states.len().max(1));
        let at = position.within(content.len());
        change(content, at);
        fs::write(file, content).expect("the file can be written");
    }

    /// Returns the files of states and their contents.
    fn states(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let below = fs::read_dir(&self.path).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut files: Vec<_> = below.map(|folder| folder.join(STATE)).collect();
        files.push(self.path.join(STATE));
        files.sort_unstable();
        files.into_iter().filter_map(|file| fs::read(&file).ok().map(|content| (file, content))).collect()
    }
}

impl FilePosition {
    /// Returns the position in a file of this length.
    fn within(self, length: usize) -> usize {
        length.saturating_sub(1 + self.back as usize % length.max(1))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        self.clear();
    }
}

fn copy_below(from: &Path, to: &Path) {
    let Ok(entries) = fs::read_dir(from) else { return };
    fs::create_dir(to).expect("the folder can be created");
    for entry in entries.flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy_below(&from, &to);
        } else {
            fs::copy(from, to).expect("the file can be written");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_damaged_at_the_position() {
        let folder = Folder::new(false);
        fs::create_dir_all(folder.path.join("a")).unwrap();
        fs::write(folder.path.join("a").join(STATE), [0; 10]).unwrap();
        let read = |folder: &Folder| folder.states().remove(0).1;
        let mut shortened = folder.killed();
        shortened.damage_files(Damage::Truncated(FilePosition { file: 3, back: 2 }));
        assert_eq!(read(&shortened), [0; 7]);
        let mut flipped = folder.killed();
        flipped.damage_files(Damage::Flipped(FilePosition { file: 0, back: 10 }));
        assert_eq!(read(&flipped), [0, 0, 0, 0, 0, 0, 0, 0, 0, 16]);
        assert_eq!(read(&folder), [0; 10]);
        let path = folder.path.clone();
        drop(folder);
        assert!(!path.exists());
    }
}
