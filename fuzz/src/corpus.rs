//! The inputs in the repository.

use std::{fs, io, path::PathBuf};

/// Returns the inputs of a target, in the order of their names.
pub(crate) fn of(target: &str) -> io::Result<Vec<Vec<u8>>> {
    let directory = directory().join(target);
    let mut paths: Vec<_> = fs::read_dir(&directory)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", directory.display())))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<_>>()?;
    paths.sort_unstable();
    paths.iter().map(fs::read).collect()
}

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::TARGETS;

    #[test]
    fn every_target_has_a_corpus_and_every_corpus_a_target() {
        let mut directories: Vec<_> =
            fs::read_dir(directory()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        let mut names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
        directories.sort_unstable();
        names.sort_unstable();
        assert_eq!(directories, names);
    }

    #[test]
    fn the_corpus_passes_and_is_small() {
        let mut size = 0;
        for target in TARGETS {
            for input in of(target.name).unwrap() {
                size += input.len();
                (target.check)(&input);
            }
        }
        assert!(size < 1 << 20, "{size} bytes");
    }
}
