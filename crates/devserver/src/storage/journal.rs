//! A log of all changes in a directory, from which a server continues after it was killed.

use crate::corpus::Checksum;
use crate::storage::record::{Part, Record};
use kube_informer_folder::{FolderError, PrivateFolder};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

/// The file with the changes: one per line, after a checksum.
const LOG: &str = "objects.log";
/// A new log, which replaces the old one when it is complete.
const NEW_LOG: &str = "objects.log.new";
/// The size in bytes that a log may have in addition to four times its initial size before it is replaced.
const SLACK: u64 = 16 << 20;

/// Reports why the objects in a directory cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// The directory cannot be opened, or another server uses it.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A change before the last one is damaged.
    #[error("the file {LOG} is damaged at byte {offset}; remove the directory, or restore it from a backup")]
    Damaged {
        /// The position of the damaged change.
        offset: u64,
    },
    /// A file cannot be read or written.
    #[error("cannot read or write the file {LOG}")]
    Io(#[from] io::Error),
}

/// The log of a running server.
#[derive(Debug)]
pub(crate) struct Journal {
    folder: PrivateFolder,
    file: File,
    size: u64,
    /// The size of the log when it was last replaced.
    initial_size: u64,
    /// The reason why the last write failed. It is logged once, and the next change replaces the log.
    error: Option<String>,
}

/// A change in a log.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SavedChange {
    pub(crate) group: String,
    pub(crate) plural: String,
    pub(crate) key: String,
    /// The version. In the first line of a log, which has no object, it is the version of the server.
    pub(crate) version: u64,
    /// The object; `None` if it was deleted.
    pub(crate) object: Option<Value>,
}

/// An object of a resource as it is written to a log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) group: &'a str,
    pub(crate) plural: &'a str,
    pub(crate) record: &'a Record,
}

impl Journal {
    /// Opens the log in a directory, which is created if it does not exist, and returns its changes.
    ///
    /// If the last change is incomplete, the server ended before it was acknowledged to a client. It is removed.
    pub(crate) fn open(directory: &Path) -> Result<(Self, Vec<SavedChange>), DataError> {
        let folder = PrivateFolder::open(directory, |name| [LOG, NEW_LOG].contains(&name))?;
        let mut file = match folder.open_file(LOG) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => folder.create(LOG)?,
            opened => opened?,
        };
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        let (changes, size) = read(&text)?;
        file.set_len(size)?;
        file.seek(SeekFrom::Start(size))?;
        Ok((Self { folder, file, size, initial_size: size, error: None }, changes))
    }

    /// Records a new state of an object.
    pub(crate) fn put(&mut self, entry: Entry<'_>) {
        self.append(&put_line(entry));
    }

    /// Records the deletion of an object, under the version of its last state.
    pub(crate) fn remove(&mut self, entry: Entry<'_>) {
        let Entry { group, plural, record } = entry;
        let change = json!({ "group": group, "plural": plural, "key": record.key().as_str(), "version": record.version() });
        self.append(&line(&change.to_string()));
    }

    /// Returns true if the log must be replaced, because it is too large or a change is missing.
    pub(crate) fn is_due(&self) -> bool {
        self.error.is_some() || self.size > self.initial_size.saturating_mul(4).saturating_add(SLACK)
    }

    /// Replaces the log by one that contains only these objects.
    pub(crate) fn replace<'a>(&mut self, version: u64, entries: impl Iterator<Item = Entry<'a>>) {
        let replaced = self.write_new(version, entries);
        self.report(replaced);
    }

    fn write_new<'a>(&mut self, version: u64, entries: impl Iterator<Item = Entry<'a>>) -> io::Result<()> {
        let mut out = BufWriter::new(self.folder.create(NEW_LOG)?);
        out.write_all(&line(&json!({ "version": version }).to_string()))?;
        for entry in entries {
            out.write_all(&put_line(entry))?;
        }
        let mut file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        let size = file.stream_position()?;
        self.folder.rename(&file, NEW_LOG, LOG)?;
        (self.file, self.size, self.initial_size) = (file, size, size);
        Ok(())
    }

    fn append(&mut self, line: &[u8]) {
        let written = self.file.write_all(line);
        self.size += line.len() as u64;
        self.report(written);
    }

    /// Returns the reason why the last change could not be written.
    pub(crate) fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    fn report(&mut self, result: io::Result<()>) {
        let was_failing = self.error.is_some();
        self.error = result.err().map(|error| error.to_string());
        if let Some(error) = &self.error
            && !was_failing
        {
            tracing::error!(directory = %self.folder.path().display(), error, "cannot save objects");
        }
    }
}

fn put_line(entry: Entry<'_>) -> Vec<u8> {
    let Entry { group, plural, record } = entry;
    let (group, plural) = (Value::from(group), Value::from(plural));
    let (key, version) = (Value::from(record.key().as_str()), record.version());
    let object = record.json("{", Part::Whole);
    line(&format!(
        r#"{{"group":{group},"plural":{plural},"key":{key},"version":{version},"object":{object}}}"#
    ))
}

/// Returns a line: the checksum of a change, and the change. Its JSON contains no line break.
fn line(json: &str) -> Vec<u8> {
    format!("{} {json}\n", checksum(json.as_bytes())).into_bytes()
}

/// Returns the checksum as 16 hexadecimal digits.
fn checksum(bytes: &[u8]) -> String {
    let mut checksum = Checksum::new();
    checksum.add(bytes);
    checksum.to_string()
}

/// Returns the changes of a log, and the size of its complete part.
fn read(text: &[u8]) -> Result<(Vec<SavedChange>, u64), DataError> {
    let mut changes = Vec::new();
    let mut offset = 0;
    while let Some(length) = text[offset..].iter().position(|byte| *byte == b'\n') {
        let end = offset + length + 1;
        match read_line(&text[offset..end - 1]) {
            Some(change) => changes.push(change),
            None if end == text.len() => break,
            None => return Err(DataError::Damaged { offset: offset as u64 }),
        }
        offset = end;
    }
    Ok((changes, offset as u64))
}

fn read_line(line: &[u8]) -> Option<SavedChange> {
    let (sum, json) = line.split_at_checked(17)?;
    if checksum(json).as_bytes() != &sum[..16] {
        return None;
    }
    let mut change: Value = serde_json::from_slice(json).ok()?;
    let object = change.get_mut("object").map(Value::take);
    let text = |name: &str| change[name].as_str().unwrap_or_default().to_owned();
    let (group, plural, key) = (text("group"), text("plural"), text("key"));
    Some(SavedChange { group, plural, key, version: change["version"].as_u64()?, object })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(count: u64) -> Vec<u8> {
        (0..count).flat_map(|version| line(&json!({ "key": "a", "version": version }).to_string())).collect()
    }

    #[test]
    fn an_incomplete_last_change_is_dropped_wherever_it_ends() {
        let (whole, complete) = (log(3), log(2).len());
        for end in complete..whole.len() {
            let (changes, size) = read(&whole[..end]).unwrap();
            assert_eq!((changes.len(), size), (2, complete as u64), "cut at {end}");
        }
        assert_eq!(read(&whole).unwrap().0.len(), 3);
    }

    #[test]
    fn a_damaged_change_before_the_last_is_an_error() {
        let mut text = log(3);
        text[20] ^= 1;
        assert!(matches!(read(&text), Err(DataError::Damaged { offset: 0 })));
    }
}
