//! Which program saved a state, and what it kept of objects.

use kube_informer_wire::chance;
use std::fmt;

/// What the bytes of a file are to be read as, and who was certain that they can be.
///
/// A read of the cache does not fail, so every object was decoded once when it came. What another program let in may not be what this
/// one can decode, and is tried first; of what this very program let in, that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Form {
    /// The type, and what of objects was left out.
    kept: String,
    /// The file that runs; nothing where it cannot be told.
    program: Option<String>,
}

impl Form {
    /// The form of objects of type `K` in this program.
    pub(super) fn of<K>(without_managed_fields: bool) -> Self {
        let managed = if without_managed_fields { "without managed fields" } else { "whole" };
        let program = if chance::is_fixed() { Some(simulated()) } else { program() };
        Self { kept: format!("{} {managed}", std::any::type_name::<K>()), program }
    }

    pub(super) fn read(text: &[u8]) -> Option<Self> {
        let mut lines = std::str::from_utf8(text).ok()?.lines();
        Some(Self { kept: lines.next()?.to_owned(), program: lines.next().map(str::to_owned) })
    }

    /// Whether bytes of this form are what `other` is of.
    pub(super) fn is_alike(&self, other: &Self) -> bool {
        self.kept == other.kept
    }

    /// Whether the other was written by this very program.
    pub(super) fn is_same_program(&self, other: &Self) -> bool {
        self.program.is_some() && self.program == other.program
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.kept)?;
        self.program.as_ref().map_or(Ok(()), |program| writeln!(f, "{program}"))
    }
}

/// A program by chance, so that what one does follows from that alone.
fn simulated() -> String {
    if chance::strikes(4) { "another".to_owned() } else { "the same".to_owned() }
}

/// The file that runs, by what no other file has in common with it: when it was last touched cannot be set.
#[cfg(unix)]
fn program() -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let path = std::env::current_exe().ok()?;
    let file = std::fs::metadata(path).ok()?;
    Some(format!(
        "{} {} {} {}.{} {}.{}",
        file.dev(),
        file.ino(),
        file.len(),
        file.mtime(),
        file.mtime_nsec(),
        file.ctime(),
        file.ctime_nsec()
    ))
}

#[cfg(not(unix))]
fn program() -> Option<String> {
    None
}
