//! Reads the repository from disk.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::tidy::tree::SourceFile;

/// Directories with generated files.
const SKIPPED: [&str; 4] = [".git", "target", "node_modules", "proptest-regressions"];

/// The extensions of files whose text is read.
const READ: [&str; 4] = ["rs", "toml", "md", "go"];

/// Reads every file below the root, in the order of paths.
pub(crate) fn read(root: &Path) -> Result<Vec<SourceFile>> {
    let mut files = Vec::new();
    read_directory(root, "", &mut files)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// Reads one file, or every file below a directory.
pub(crate) fn read_path(path: &Path) -> Result<Vec<SourceFile>> {
    let name = path.display().to_string();
    if path.is_file() {
        return Ok(vec![SourceFile { text: read_text(path)?, path: name }]);
    }
    let mut files = Vec::new();
    read_directory(path, &format!("{}/", name.trim_end_matches('/')), &mut files)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn read_directory(directory: &Path, prefix: &str, files: &mut Vec<SourceFile>) -> Result<()> {
    let entries = fs::read_dir(directory).with_context(|| format!("cannot list {}", directory.display()))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot list {}", directory.display()))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        if entry.file_type()?.is_dir() {
            if !SKIPPED.contains(&name.as_str()) {
                read_directory(&entry.path(), &format!("{path}/"), files)?;
            }
        } else {
            files.push(SourceFile { text: read_text(&entry.path())?, path });
        }
    }
    Ok(())
}

fn read_text(path: &Path) -> Result<String> {
    let is_read = path.extension().is_some_and(|ending| READ.iter().any(|read| ending == *read));
    if !is_read {
        return Ok(String::new());
    }
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}
