//! Which program saved a state, and what it kept of objects.

use kube_informer_wire::chance;
use std::{
    fmt,
    fs::File,
    hash::Hasher,
    io::{self, Read},
    sync::OnceLock,
    thread,
};
use twox_hash::XxHash3_64;

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

/// Begins to find out which program this is, which takes a moment, beside what the caller does meanwhile.
pub(super) fn find_out() {
    if !chance::is_fixed() {
        // Where there is no thread for it, whoever asks first finds out.
        _ = thread::Builder::new().name("program".to_owned()).spawn(program);
    }
}

/// The file that runs, by its bytes: the same program in another container, or copied, is the same. It is read once.
fn program() -> Option<String> {
    static PROGRAM: OnceLock<Option<String>> = OnceLock::new();
    // The first is what runs even if another file has taken its place since.
    let open = || File::open("/proc/self/exe").or_else(|_| File::open(std::env::current_exe()?));
    PROGRAM.get_or_init(|| open().and_then(fingerprint).ok()).clone()
}

/// Length and checksum of all there is to read.
fn fingerprint(mut file: impl Read) -> io::Result<String> {
    let (mut hash, mut length, mut buffer) = (XxHash3_64::new(), 0, vec![0; 256 << 10]);
    loop {
        let count = match file.read(&mut buffer) {
            Ok(0) => return Ok(format!("{length} {:016x}", hash.finish())),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hash.write(&buffer[..count]);
        length += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_the_same_wherever_it_lies_and_another_if_a_byte_differs() {
        let mut bytes: Vec<u8> = (0..1_000_000_u32).map(|number| (number % 251) as u8).collect();
        let first = fingerprint(&*bytes).unwrap();
        assert!(first.starts_with("1000000 "), "{first}");
        // However it is read.
        let (one, other) = bytes.split_at(777);
        assert_eq!(fingerprint(one.chain(other)).unwrap(), first);
        bytes[999_999] ^= 1;
        assert_ne!(fingerprint(&*bytes).unwrap(), first);
        bytes[999_999] ^= 1;
        assert_ne!(fingerprint(&bytes[1..]).unwrap(), first);
    }

    #[test]
    fn the_program_that_runs_is_found() {
        let text = fingerprint(File::open(std::env::current_exe().unwrap()).unwrap()).unwrap();
        assert_eq!(program(), Some(text));
    }
}
