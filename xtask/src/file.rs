//! Files that are whole at every moment.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Writes a file beside the one that is wanted, and puts it in its place: whoever is cut off leaves the old one or the new one.
pub(crate) fn put(file: &Path, text: &str) -> Result<()> {
    let mut name = file.file_name().map_or_else(OsString::new, OsString::from);
    name.push(".part");
    let part = file.with_file_name(name);
    let written = fs::write(&part, text).and_then(|()| fs::rename(&part, file));
    written.with_context(|| format!("cannot write {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_anew_and_leaves_nothing_beside_it() {
        let folder = std::env::temp_dir().join(format!("xtask-file-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("figures.json");
        for text in ["one", "two"] {
            put(&file, text).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_cannot_be_written_is_named() {
        let error = put(Path::new("/nowhere/figures.json"), "").unwrap_err();
        assert_eq!(error.to_string(), "cannot write /nowhere/figures.json");
    }
}
