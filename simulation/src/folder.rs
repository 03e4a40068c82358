//! A folder that a cache is saved to, and what may happen to it.

use crate::act::{Damage, Spot};
use kube_informer::informer::Save;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

/// A folder, gone when this is.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    names_cluster: bool,
    /// Told apart by what is asked for: what is saved under another number is of something else.
    number: u64,
    /// What has happened to it since it was last read.
    pub(crate) damage: Damage,
    /// A state of this version at least is saved there.
    pub(crate) version: u64,
}

/// What a state is saved in, and what a new one is written to first.
const STATE: &str = "state";
const NEXT: &str = "state.next";

impl Folder {
    /// One that does not exist yet; in memory, if there is such a place.
    pub(crate) fn new(names_cluster: bool) -> Self {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let made = MADE.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("kube-informer-simulation-{}-{made}", std::process::id()));
        Self { path, names_cluster, number: 0, damage: Damage::None, version: 0 }
    }

    /// How a cache is saved here.
    pub(crate) fn save(&self) -> Save {
        let save = Save::in_folder(&self.path).transform(format!("v{}", self.number));
        if self.names_cluster { save.cluster("simulated") } else { save }
    }

    /// As a process leaves it that is killed now.
    pub(crate) fn killed(&self) -> Self {
        let mut copy = Self::new(self.names_cluster);
        (copy.number, copy.version) = (self.number, self.version);
        copy_below(&self.path, &copy.path);
        copy
    }

    /// Does it some harm.
    pub(crate) fn harm(&mut self, damage: Damage) {
        self.damage = damage;
        match damage {
            Damage::None => {}
            Damage::OfAnother => self.number += 1,
            Damage::Torn(spot) => self.rewrite(spot, |content, at| content.truncate(at)),
            Damage::Flipped(spot) => self.rewrite(spot, |content, at| {
                if let Some(byte) = content.get_mut(at) {
                    *byte ^= 0x10;
                }
            }),
            Damage::Unfinished(spot) => {
                for (file, content) in self.states() {
                    let part = &content[..spot.within(content.len())];
                    fs::write(file.with_file_name(NEXT), part).expect("there is room for a file");
                }
            }
        }
    }

    /// Begins anew, as one does who is told that what is there is of no use.
    pub(crate) fn clear(&self) {
        let _ = fs::remove_dir_all(&self.path);
    }

    fn rewrite(&self, spot: Spot, change: impl FnOnce(&mut Vec<u8>, usize)) {
        let mut states = self.states();
        if states.is_empty() {
            return;
        }
        let (file, content) = &mut states.remove(spot.file as usize % states.len().max(1));
        let at = spot.within(content.len());
        change(content, at);
        fs::write(file, content).expect("there is room for a file");
    }

    /// The files that states are saved in, and what is in them.
    fn states(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let below = fs::read_dir(&self.path).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut files: Vec<_> = below.map(|folder| folder.join(STATE)).collect();
        files.push(self.path.join(STATE));
        files.sort_unstable();
        files.into_iter().filter_map(|file| fs::read(&file).ok().map(|content| (file, content))).collect()
    }
}

impl Spot {
    /// Where that is in so many bytes.
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
    fs::create_dir(to).expect("there is room for a folder");
    for entry in entries.flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy_below(&from, &to);
        } else {
            fs::copy(from, to).expect("there is room for a file");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harm_is_done_to_a_copy_and_where_it_is_to_be() {
        let folder = Folder::new(false);
        fs::create_dir_all(folder.path.join("a")).unwrap();
        fs::write(folder.path.join("a").join(STATE), [0; 10]).unwrap();
        let read = |folder: &Folder| folder.states().remove(0).1;
        let mut torn = folder.killed();
        torn.harm(Damage::Torn(Spot { file: 3, back: 2 }));
        assert_eq!(read(&torn), [0; 7]);
        let mut flipped = folder.killed();
        flipped.harm(Damage::Flipped(Spot { file: 0, back: 10 }));
        assert_eq!(read(&flipped), [0, 0, 0, 0, 0, 0, 0, 0, 0, 16]);
        assert_eq!(read(&folder), [0; 10]);
        let path = folder.path.clone();
        drop(folder);
        assert!(!path.exists());
    }
}
