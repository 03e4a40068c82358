//! The folder of the last recording of each context, so that commands find it without `--dir`.

use crate::cli_error::{Class, CliError};
use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

/// Returns the file with the folders: `$XDG_STATE_HOME/informer/recordings.json`, by default in `~/.local/state`.
fn file() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let state = state.or_else(|| Some(std::env::home_dir()?.join(".local").join("state")))?;
    Some(state.join("informer").join("recordings.json"))
}

fn read(file: &Path) -> BTreeMap<String, PathBuf> {
    let text = fs::read(file).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// Remembers the folder of a context.
pub(crate) fn remember(context: &str, folder: &Path) -> io::Result<()> {
    let Some(file) = file() else { return Ok(()) };
    let mut folders = read(&file);
    folders.insert(context.to_owned(), std::path::absolute(folder)?);
    if let Some(parent) = file.parent() {
        fs::create_dir_all(parent)?;
    }
    let next = file.with_extension(format!("{}.tmp", std::process::id()));
    fs::write(&next, serde_json::to_vec_pretty(&folders)?)?;
    fs::rename(next, file)
}

/// Returns the folder of the last recording of a context.
pub(crate) fn find(context: &str) -> Result<PathBuf, CliError> {
    let folders = file().map(|file| read(&file)).unwrap_or_default();
    folders.get(context).cloned().ok_or_else(|| {
        let failure = CliError::new(Class::Usage, format!("no recording of {context} is known"));
        failure.hint("set --dir, or start one with `informer record --dir DIR`")
    })
}
